"""Judge a table after a write: files, validation, rows, changes and state, read without the writer."""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import At, Changes, Scan, Snapshot, SnapshotAnswer
from deltaspec.candidates.reference.engine import Engine
from deltaspec.errors import DeltaspecError
from deltaspec.protocol.actions import DomainMetadata
from deltaspec.protocol.features.clustering import DOMAIN, read_clustering_columns
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    MultipartCheckpoint,
    UuidCheckpoint,
    parse_log_file_name,
)
from deltaspec.protocol.property_names import PHYSICAL_NAME
from deltaspec.report.report_types import Report
from deltaspec.report.text import escape_text
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.progress import ignore_progress
from deltaspec.validation.run import run_embedded

LOG = "_delta_log"
_REPLACEABLE = ("_last_checkpoint", "._last_checkpoint.crc")
"""Files that a writer may replace."""
_SHOWN = 3
CHANGE_TYPE = "_change_type"
_ADDED_COLUMNS = ("_commit_version", "_commit_timestamp")
_PLAIN_TYPES = {"update_preimage": "delete", "update_postimage": "insert"}


class FileChanges(msgspec.Struct, frozen=True):
    """Differences between two listings of a directory."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]


def get_clock_ms() -> int:
    """Return the time of this machine in milliseconds since the epoch; engines run on the same machine."""
    return time.time_ns() // 1_000_000


def compute_digests(directory: Path) -> dict[str, bytes]:
    """Return a digest of every file below a directory, by relative path."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            found[str(path.relative_to(directory))] = _compute_digest(path)
    return found


def _compute_digest(path: Path) -> bytes:
    """Return a digest of a file; for anything but a readable regular file, its kind."""
    if path.is_symlink() or not path.is_file():
        return b"no regular file"
    try:
        with open(path, "rb") as source:
            return hashlib.file_digest(source, "sha256").digest()
    except OSError as error:
        return f"unreadable: {error.strerror}".encode()


def compare_digests(before: dict[str, bytes], after: dict[str, bytes]) -> FileChanges:
    """Return the differences between two results of `compute_digests`."""
    common = before.keys() & after.keys()
    return FileChanges(
        tuple(sorted(path for path in common if before[path] != after[path] and Path(path).name not in _REPLACEABLE)),
        tuple(sorted(path for path in before.keys() - after.keys() if Path(path).name not in _REPLACEABLE)),
        tuple(sorted(after.keys() - before.keys())),
    )


def list_versions(table: Path) -> list[int]:
    """List the versions of the commits in the log directory, in order."""
    log = table / LOG
    names = [parse_log_file_name(each.name) for each in log.iterdir()] if log.is_dir() else []
    return sorted(each.version for each in names if isinstance(each, CommitName))


def find_newest_version(table: Path) -> int:
    """Return the newest version in the log; -1 if there is none."""
    return max(list_versions(table), default=-1)


def list_derived_versions(table: Path, kind: str) -> set[int]:
    """List the versions that have a checkpoint or a version checksum, by the kind of the operation that writes it."""
    wanted = ChecksumName if kind == "checksum" else (ClassicCheckpoint, MultipartCheckpoint, UuidCheckpoint)
    names = (parse_log_file_name(each.name) for each in (table / LOG).iterdir())
    return {each.version for each in names if isinstance(each, wanted)}


def validate_history(
    table: Path, ignored: Collection[str] = (), catalog_commits: Path | None = None, *, allow_outside: bool = False
) -> Report:
    """Validate a table with its history at level rows, without the rules with these codes.

    `catalog_commits` is a file with what the catalog of the table knows. `allow_outside` reads files of other tables,
    to which a clone refers.

    The clock is the clock of this machine, which also wrote the table. Without a clock, no tombstone is known to be
    unexpired.

    Raises:
        DeltaspecError: there is no table.
    """
    known = None if catalog_commits is None else str(catalog_commits)
    options = Options.create(level="rows", history="all", ignore=sorted(ignored), clock="now", catalog_commits=known,
                             allow_outside=allow_outside)  # fmt: skip
    return run_embedded(str(table), options, RunSettings(ignore_progress, None, False, None))


def describe_violations(report: Report) -> dict[str, str]:
    """Return the first violation of each rule in one line, by code."""
    violations: dict[str, str] = {}
    for each in report.findings:
        if each.severity == "violation":
            text = f"{each.rule} {each.name} at {each.location}: {escape_text(each.message)}"
            violations.setdefault(each.rule, text)
    return violations


def validate_table(table: Path, *, allow_outside: bool = False) -> tuple[dict[str, str], Counter[str]]:
    """Return the first violation of each rule, and the number of other findings by severity."""
    try:
        report = validate_history(table, allow_outside=allow_outside)
    except DeltaspecError as fault:
        return {"unreadable": f"the table cannot be validated: {fault}"}, Counter()
    violations = describe_violations(report)
    counts = Counter({f"{name}s": number for name, number in report.counts.items() if name != "violation" and number})
    return violations, counts


def list_clustering_columns(fields: Sequence[Mapping[str, Any]], configuration: str | None) -> list[str]:
    """Return the logical names of the columns by which new files are clustered.

    Args:
        fields: columns of the table as the schema string has them.
        configuration: configuration of the domain of clustering; None if there is none.
    """
    if configuration is None:
        return []
    names = {each["metadata"].get(PHYSICAL_NAME, each["name"]): each["name"] for each in fields}
    paths = read_clustering_columns(DomainMetadata(domain=DOMAIN, configuration=configuration, removed=False))
    return [".".join((names.get(path[0], path[0]), *path[1:])) for path in paths]


class TableReader:
    """Reads a table with the reference reader. Every method raises `Refused` if the table cannot be read."""

    def __init__(self, table: Path) -> None:
        self._table = str(table)
        self._reader = InProcess(Engine())

    def read_state(self, version: int | None = None) -> SnapshotAnswer:
        """Read the state of a version, the newest if it is None, with transactions and domains."""
        at = None if version is None else At(version)
        return self._reader.snapshot(Snapshot(self._table, at=at, want=("transactions", "domains", "files")))

    def read_rows(self, version: int, *, row_ids: bool) -> pa.Table:
        """Read the rows of a version."""
        return self._reader.scan(Scan(self._table, "", At(version), row_ids=row_ids)).table

    def read_changes(self, start: int, end: int) -> pa.Table:
        """Read the changes of versions as deleted and inserted rows, with an additional column `_change_type`."""
        table = self._reader.changes(Changes(self._table, "", start, end)).table
        return build_plain_changes(table.drop_columns([name for name in _ADDED_COLUMNS if name in table.column_names]))


def build_plain_changes(changes: pa.Table) -> pa.Table:
    """Return changes with updated rows as deleted and inserted ones."""
    kinds = changes.column(CHANGE_TYPE).to_pylist()
    plain = pa.array([_PLAIN_TYPES.get(each, each) for each in kinds], pa.string())
    return changes.set_column(changes.schema.get_field_index(CHANGE_TYPE), CHANGE_TYPE, plain)


def describe_files(paths: tuple[str, ...]) -> str:
    """Return the first paths, and how many more there are."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more
