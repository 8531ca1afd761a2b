"""Looks at what a vacuum and a cleanup took away, where a clock is given by which it was too early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.model.actions import CommitInfo, DeletionVectorDescriptor
from deltaspec.model.features.table_properties import FILE_RETENTION, LOG_RETENTION
from deltaspec.model.log.cleanup import find_shortest_log_retention_ms
from deltaspec.model.log.file_names import commit_name
from deltaspec.model.log.segment import SegmentError, cleaned_up_to, find_complete_checkpoints, find_readable_versions
from deltaspec.model.rows.deletion_vectors import DeletionVectorError
from deltaspec.model.rows.file_retention import find_shortest_file_retention_ms
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.files.retention import log_starts, removed_files
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.data_access import NON_CANONICAL_KEY, is_outside_table, normalize_key
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.base_run import Run
    from deltaspec.validation.data.data_run import DataRun

REPAIR = "FSCK"
"""Operation of commits that remove files which are gone already."""
_MOST_BYTES = 64 << 20
"""Longest commit that is read for its time."""
_AT_ONCE = 10_000


def collect_property_values(run: Run | DataRun, name: str) -> list[str | None]:
    """Values that a property had in the judged history, None for none: of its first metadata and all after."""
    changes = [row for row in run.state.rows["configuration"] if row["property"] == name]
    if not changes:
        return [None]
    begins = [row["version"] for row in run.state.rows["metadata"][:1]]
    first = [] if [changes[0]["version"]] == begins else [None]
    return [*first, *(row["value"] for row in changes)]


def check_removed_files(run: DataRun) -> None:
    """Look whether the files of tombstones that have not expired are there."""
    if not run.findings.has_rules_for(removed_files):
        return
    if not run.state.metadata_known:
        run.findings.mark_undecided((removed_files,), "a metaData action could not be decoded")
        return
    retention_ms = find_shortest_file_retention_ms(collect_property_values(run, FILE_RETENTION))
    if retention_ms is None or run.clock_ms is None:
        return
    retention_cutoff = max(run.clock_ms - retention_ms, -(2**63))
    lost = [version for version, operation in run.operations.items() if operation == REPAIR]
    young = find_live_files(run.intervals, run.version, "remove").filter(
        (pl.col("deletion_timestamp") >= retention_cutoff) & ~pl.col("version").is_in(lost)
    )
    if run.listing_error is not None and len(young):
        run.findings.mark_undecided((removed_files,), f"the table cannot be listed wholly: {run.listing_error}")
        return
    for part in _looked_for(
        run,
        young.with_columns(path=pl.coalesce("path", "path_key"), retention_cutoff=pl.lit(retention_cutoff, pl.Int64)),
    ):
        gone = part.filter(~pl.col("exists") | ~pl.col("vector_exists"))
        if len(gone):
            run.later_commits.refresh()
        if len(gone) and not run.later_commits.is_latest:
            for path in gone["path"]:
                run.findings.mark_undecided((removed_files,), "is gone, which a later version may allow", path)
            part = part.filter(pl.col("exists").fill_null(True) & pl.col("vector_exists").fill_null(True))
        run.findings.evaluate(removed_files, part)


def _looked_for(run: DataRun, young: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Rows of `removed_files`; one by one only where a path is not as a listing has it, or a vector is stored."""
    odd = pl.col("path_key").str.contains(NON_CANONICAL_KEY) | pl.col("dv_storage_type").is_in(["u", "p"]).fill_null(
        False
    )
    found = run.listed.select("path_key").unique().with_columns(exists=True)
    plain = (
        young.filter(~odd)
        .join(found, on="path_key", how="left")
        .with_columns(
            exists=pl.col("exists").fill_null(False),
            vector_file=pl.lit(None, pl.String),
            vector_exists=pl.lit(None, pl.Boolean),
        )
    )
    yield plain.select(list(removed_files.columns))
    others = young.filter(odd)
    there = set(run.listed["path_key"]) if len(others) else set()
    for part in others.iter_slices(_AT_ONCE):
        yield removed_files.frame([_removed(run, row, there) for row in part.iter_rows(named=True)])


def _removed(run: DataRun, row: dict[str, Any], there: set[str]) -> dict[str, Any]:
    vector = _vector_file(run, row)
    return {
        **{name: row[name] for name in ("version", "file", "line", "path", "deletion_timestamp", "retention_cutoff")},
        "exists": _is_there(run, row["path_key"], there),
        "vector_file": vector,
        "vector_exists": None if vector is None else _is_there(run, vector, there),
    }


def _is_there(run: DataRun, key: str, there: set[str]) -> bool | None:
    """Whether the listing names a file, or a look at it finds it; files outside of the table are others' to keep."""
    if is_outside_table(key):
        return None
    return normalize_key(key) in there or (run.listing_is_partial and run.file_exists(key))


def _vector_file(run: DataRun, row: dict[str, Any]) -> str | None:
    if row["dv_storage_type"] not in ("u", "p"):
        return None
    descriptor = DeletionVectorDescriptor(row["dv_storage_type"], row["dv_path_or_inline"] or "", 0, 0)
    try:
        return find_vector_key(descriptor, run.access.store.root)
    except DeletionVectorError:
        return None


def check_log_start(run: Run) -> None:
    """Look whether a log that was cleaned up begins too late, where the history judged reaches back that far."""
    names = run.plan.entries
    begins = None if run.plan.missing else cleaned_up_to(names)
    if begins is None or run.clock_ms is None or not run.findings.has_rules_for(log_starts):
        return
    try:
        first, _ = find_readable_versions(names)
    except SegmentError:
        return
    base = run.plan.base
    if base is None or base.version != min(each.version for each in find_complete_checkpoints(names)):
        return
    retention_ms = _log_retention(run)
    run.findings.evaluate_rows(
        log_starts,
        [
            {
                "version": first,
                "file": f"{LOG_DIRECTORY}/{commit_name(first)}",
                "committed_at": _committed_at(run, first),
                "shortest_retention_ms": retention_ms,
                "retention_cutoff": None if retention_ms is None else run.clock_ms - retention_ms,
            }
        ],
    )


def _log_retention(run: Run) -> int | None:
    """The shortest that was in force; None where it was not set throughout, or history may have been cut off sooner."""
    dropped = any(row["dropped_features"] for row in run.state.rows["protocols"])
    values = collect_property_values(run, LOG_RETENTION)
    if dropped or None in values or not run.state.metadata_known:
        return None
    return find_shortest_log_retention_ms(values)


def _committed_at(run: Run, version: int) -> int | None:
    if commit_name(version) not in run.plan.entries:
        return None
    file = f"{LOG_DIRECTORY}/{commit_name(version)}"
    try:
        log = decode_lines(run.store.read(file, _MOST_BYTES), run.revision)
    except StorageError as fault:
        run.findings.mark_undecided((log_starts,), str(fault), file)
        return None
    info = next((each for _, each in log.actions if isinstance(each, CommitInfo)), None)
    if info is None or info.in_commit_timestamp is not None:
        return None if info is None else info.in_commit_timestamp
    said = info.timestamp
    if not isinstance(said, int) or isinstance(said, bool):
        return None
    # the file tells when it was written, unless it was copied since
    return min(run.plan.entries[commit_name(version)].modified_ms, max(said, 0))
