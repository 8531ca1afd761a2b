"""Looks at what a vacuum and a cleanup took away, where a clock is given by which it was too early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.model.actions import CommitInfo, DeletionVectorDescriptor
from deltaspec.model.configuration import FILE_RETENTION, LOG_RETENTION
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.model.file_names import commit_name
from deltaspec.model.log_cleanup import cutoff, shortest_log_retention_ms
from deltaspec.model.retention import shortest_file_retention_ms
from deltaspec.model.segment import SegmentError, cleaned_up_to, complete_checkpoints, readable_versions
from deltaspec.views.file_replay import live_at
from deltaspec.views.retention import log_beginnings, removed_files
from deltaspec.wire.data_access import leads_out, normal
from deltaspec.wire.log_lines import read_lines
from deltaspec.wire.storage import LOG, StorageError
from deltaspec.wire.vector_files import vector_key

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun
    from deltaspec.validate.embedded import EmbeddedRun

_MOST_BYTES = 64 << 20
"""Longest commit that is read for its time."""
_AT_ONCE = 10_000


def values_in_force(run: EmbeddedRun | DataRun, name: str) -> list[str | None]:
    """Values that a property had in the judged history, None for none: of its first metadata and all after."""
    changes = [row for row in run.state.rows["configuration"] if row["property"] == name]
    if not changes:
        return [None]
    begins = [row["version"] for row in run.state.rows["metadata"][:1]]
    first = [] if [changes[0]["version"]] == begins else [None]
    return [*first, *(row["value"] for row in changes)]


def look_at_removed_files(run: DataRun) -> None:
    """Look whether the files of tombstones that have not expired are there."""
    if not run.findings.wants(removed_files):
        return
    if not run.is_latest:
        run.findings.doubt((removed_files,), "later versions may let files go")
        return
    if not run.state.metadata_known:
        run.findings.doubt((removed_files,), "a metaData action could not be decoded")
        return
    retention_ms = shortest_file_retention_ms(values_in_force(run, FILE_RETENTION))
    if retention_ms is None or run.clock_ms is None:
        return
    kept_since = run.clock_ms - retention_ms
    young = live_at(run.spanned, run.version, "remove").filter(pl.col("deletion_timestamp") >= kept_since)
    if run.listing_fault is not None and len(young):
        run.findings.doubt((removed_files,), f"the table cannot be listed wholly: {run.listing_fault}")
        return
    there = set(run.listed["path_key"]) if len(young) else set()
    for part in young.iter_slices(_AT_ONCE):
        rows = [_removed(run, row, kept_since, there) for row in part.iter_rows(named=True)]
        run.findings.look_at_rows(removed_files, rows)


def _removed(run: DataRun, row: dict[str, Any], kept_since: int, there: set[str]) -> dict[str, Any]:
    vector = _vector_file(run, row)
    return {
        **{name: row[name] for name in ("version", "file", "line", "deletion_timestamp")},
        "path": row["path"] if row["path"] is not None else row["path_key"],
        "kept_since": kept_since,
        "exists": _is_there(row["path_key"], there),
        "vector_file": vector,
        "vector_exists": None if vector is None else _is_there(vector, there),
    }


def _is_there(key: str, there: set[str]) -> bool | None:
    """Files outside of the table are others' to keep."""
    return None if leads_out(key) else normal(key) in there


def _vector_file(run: DataRun, row: dict[str, Any]) -> str | None:
    if row["dv_storage_type"] not in ("u", "p"):
        return None
    descriptor = DeletionVectorDescriptor(row["dv_storage_type"], row["dv_path_or_inline"] or "", 0, 0)
    try:
        return vector_key(descriptor, run.access.store.root)
    except DeletionVectorError:
        return None


def look_at_log_beginning(run: EmbeddedRun) -> None:
    """Look whether a log that was cleaned up begins too late, where the history judged reaches back that far."""
    names = run.plan.entries
    begins = None if run.plan.missing else cleaned_up_to(names)
    if begins is None or run.clock_ms is None or not run.findings.wants(log_beginnings):
        return
    try:
        first, _ = readable_versions(names)
    except SegmentError:
        return
    base = run.plan.base
    if base is None or base.version != min(each.version for each in complete_checkpoints(names)):
        run.findings.doubt((log_beginnings,), "the judged history begins later than the log; --history all goes back")
        return
    retention_ms = _log_retention(run)
    run.findings.look_at_rows(
        log_beginnings,
        [
            {
                "version": first,
                "file": f"{LOG}/{commit_name(first)}",
                "committed_at": _committed_at(run, first),
                "shortest_retention_ms": retention_ms,
                "cutoff": None if retention_ms is None else cutoff(run.clock_ms, retention_ms),
            }
        ],
    )


def _log_retention(run: EmbeddedRun) -> int | None:
    """The shortest that was in force; None where it was not set throughout, or history may have been cut off sooner."""
    dropped = any(row["dropped_features"] for row in run.state.rows["protocols"])
    values = values_in_force(run, LOG_RETENTION)
    if dropped or None in values or not run.state.metadata_known:
        return None
    return shortest_log_retention_ms(values)


def _committed_at(run: EmbeddedRun, version: int) -> int | None:
    if commit_name(version) not in run.plan.entries:
        return None
    file = f"{LOG}/{commit_name(version)}"
    try:
        log = read_lines(run.store.read(file, _MOST_BYTES), run.revision)
    except StorageError as fault:
        run.findings.doubt((log_beginnings,), str(fault), file)
        return None
    info = next((each for _, each in log.actions if isinstance(each, CommitInfo)), None)
    found = None if info is None else info.in_commit_timestamp or info.timestamp
    return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**63 else None
