"""What the reference does with tables that a catalog manages. Source: Catalog-managed Tables (current)."""

import os
import uuid
from contextlib import suppress
from pathlib import Path

from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.written_files import write_new_file
from deltaspec.candidates.serve import EngineError
from deltaspec.model.commit.catalog_managed import (
    Maintenance,
    is_catalog_managed,
    may_compact,
    may_maintain,
    may_publish,
)
from deltaspec.model.decisions import Refused
from deltaspec.protocol.features.catalog_managed import FEATURE, list_published_versions
from deltaspec.protocol.log.file_names import STAGED_COMMITS, commit_name, staged_commit_name
from deltaspec.wire.storage.interface import LOG_DIRECTORY

MAINTENANCE: dict[str, Maintenance] = {
    "vacuum": "vacuum",
    "cleanup-log": "cleanup",
    "optimize": "layout",
    "purge": "layout",
}
"""Kinds of operations that a catalog has to permit."""


def check_catalog(log: LogReader, state: LoadedTable, phase: str = "snapshot") -> None:
    """Raise `EngineError` if a catalog manages the table, and the request does not say what it knows."""
    if log.catalog is None and is_catalog_managed(state.protocol):
        text = "the table is catalog-managed: its commits come from its catalog, not from its path"
        raise EngineError("unsupported", text, phase=phase, features=[FEATURE])


def check_maintenance(log: LogReader, kind: str) -> None:
    """Raise `EngineError` if the catalog has to permit an operation; requests never say that it does."""
    if log.catalog is not None and kind in MAINTENANCE:
        decision = may_maintain(MAINTENANCE[kind])
        if isinstance(decision, Refused):
            raise EngineError("unsupported", f"the catalog does not permit {kind}", phase="commit", features=[FEATURE])


def create_file(path: Path, data: bytes) -> None:
    """Create a file with its complete content, in a directory that is created if needed.

    Raises:
        FileExistsError: there is such a file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4()}.tmp")
    try:
        write_new_file(temporary, data)
        os.link(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def stage_commit(table: Path, version: int, data: bytes) -> str:
    """Write a staged commit and return its name in the directory of staged commits."""
    name = staged_commit_name(version, str(uuid.uuid4()))
    create_file(table / LOG_DIRECTORY / name, data)
    return name.removeprefix(STAGED_COMMITS)


def list_names(table: Path) -> list[str]:
    """List the names of the files in the log directory."""
    return [path.name for path in (table / LOG_DIRECTORY).iterdir()]


def find_newest_published(table: Path, log: LogReader) -> int | None:
    """Return the newest published version that the catalog has ratified; None without a catalog.

    Raises:
        EngineError: no version is published.
    """
    if log.catalog is None:
        return None
    latest = log.catalog.latest_version
    published = [version for version in list_published_versions(list_names(table)) if version <= latest]
    if not published:
        raise EngineError("unsupported", "no version is published", phase="commit", features=[FEATURE])
    return published[-1]


def check_compaction(table: Path, log: LogReader, start: int, end: int) -> None:
    """Raise `EngineError` if a catalog manages the table, and a version of the range is not published."""
    if log.catalog is not None:
        decision = may_compact(start, end, list_names(table))
        if isinstance(decision, Refused):
            raise EngineError("unsupported", decision.reason, phase="commit", features=[FEATURE])


def publish_commits(table: Path, log: LogReader) -> None:
    """Publish what the catalog has ratified, in the order of versions; another writer may have published a part.

    Raises:
        EngineError: the request has no catalog, or an earlier version is not published.
    """
    if log.catalog is None:
        raise EngineError("invalid-request", "only the commits of a catalog are published", phase="commit")
    for version in sorted(log.catalog.sources):
        decision = may_publish(version, list_names(table))
        if isinstance(decision, Refused):
            raise EngineError("corrupt", decision.reason, phase="commit")
        path = f"{LOG_DIRECTORY}/{commit_name(version)}"
        with suppress(FileExistsError):
            create_file(table / path, log.store.read(path, log.store.size(path)))
