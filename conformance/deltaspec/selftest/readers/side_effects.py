"""Faults of readers that change the table."""

import os
import shutil
from pathlib import Path
from typing import Any

from deltaspec.candidates.reference.engine import Engine
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.storage.interface import LOG_DIRECTORY

ONE_VERSION = "table.snapshot-isolation"


@mutant(Engine.scan, ONE_VERSION, suites=("read",))
def cache_left_in_the_log(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Leaves a file with what it knows in the directory of the log."""
    answer = original(engine, table, **request)
    Path(table, LOG_DIRECTORY, ".reader_cache").write_text("{}")
    return answer


@mutant(Engine.snapshot, ONE_VERSION, suites=("snapshot",))
def directory_created(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Creates a directory for sidecars if there is none."""
    answer = original(engine, table, **request)
    Path(table, LOG_DIRECTORY, "_sidecars").mkdir(exist_ok=True)
    return answer


@mutant(Engine.scan, ONE_VERSION, suites=("read",))
def table_deleted_after_reading(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Deletes the table as if it were a temporary copy."""
    answer = original(engine, table, **request)
    shutil.rmtree(table)
    return answer


@mutant(Engine.scan, ONE_VERSION, suites=("read",))
def data_files_deleted_before_reading(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Deletes the data files before it reads them, and reports that they are missing."""
    for path in Path(table).rglob("*.parquet"):
        if LOG_DIRECTORY not in path.parts:
            path.unlink()
    return original(engine, table, **request)


@mutant(Engine.snapshot, ONE_VERSION, suites=("snapshot",))
def commit_touched(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Sets the modification time of the newest commit, which is its timestamp, to now."""
    answer = original(engine, table, **request)
    os.utime(Path(table, LOG_DIRECTORY, commit_name(answer["version"])))
    return answer


@mutant(Engine.scan, ONE_VERSION, suites=("read",))
def byte_changed_in_place(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Changes a byte of the newest commit and restores its size and time."""
    answer = original(engine, table, **request)
    path = max(Path(table, LOG_DIRECTORY).glob("*.json"))
    times, data = path.stat(), path.read_bytes()
    path.write_bytes(data.replace(b'"operation"', b'"0peration"'))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return answer
