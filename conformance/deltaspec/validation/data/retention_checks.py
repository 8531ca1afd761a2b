"""Check whether vacuum or log cleanup deleted files too early, if a clock is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.model.actions import CommitInfo, DeletionVectorDescriptor
from deltaspec.model.features.table_properties import FILE_RETENTION, LOG_RETENTION
from deltaspec.model.log.cleanup import find_shortest_log_retention_ms
from deltaspec.model.log.file_names import commit_name
from deltaspec.model.log.segment import (
    SegmentError,
    find_cleanup_version,
    find_complete_checkpoints,
    find_readable_versions,
)
from deltaspec.model.rows.deletion_vectors import DeletionVectorError
from deltaspec.model.rows.file_retention import find_shortest_file_retention_ms
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.files.retention import log_starts, removed_files
from deltaspec.views.table.state import TableState
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.data_access import NON_CANONICAL_KEY, is_outside_table, normalize_key
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

REPAIR = "FSCK"
"""Operation of commits that remove files which no longer exist."""
_MAX_BYTES = 64 << 20
"""Longest commit that is read for its time."""
_AT_ONCE = 10_000


def collect_property_values(state: TableState, name: str) -> list[str | None]:
    """Return the values of a property in the validated history, from the first metadata on; None if unset."""
    changes = [row for row in state.rows["configuration"] if row["property"] == name]
    if not changes:
        return [None]
    begins = [row["version"] for row in state.rows["metadata"][:1]]
    first = [] if [changes[0]["version"]] == begins else [None]
    return [*first, *(row["value"] for row in changes)]


def check_removed_files(data: DataBucket) -> None:
    """Check that the files of unexpired tombstones exist."""
    if not data.findings.has_rules_for(removed_files):
        return
    if not data.state.metadata_known:
        data.findings.mark_undecided((removed_files,), "a metaData action could not be decoded")
        return
    retention_ms = find_shortest_file_retention_ms(collect_property_values(data.state, FILE_RETENTION))
    if retention_ms is None or data.clock_ms is None:
        return
    retention_cutoff = max(data.clock_ms - retention_ms, -(2**63))
    lost = [version for version, operation in data.operations.items() if operation == REPAIR]
    young = find_live_files(data.intervals, data.version, "remove").filter(
        (pl.col("deletion_timestamp") >= retention_cutoff) & ~pl.col("version").is_in(lost)
    )
    if data.listing_error is not None and len(young):
        data.findings.mark_undecided((removed_files,), f"the table cannot be listed completely: {data.listing_error}")
        return
    for part in _iter_rows(
        data,
        young.with_columns(path=pl.coalesce("path", "path_key"), retention_cutoff=pl.lit(retention_cutoff, pl.Int64)),
    ):
        gone = part.filter(~pl.col("exists") | ~pl.col("vector_exists"))
        if len(gone):
            data.later_commits.refresh()
        if len(gone) and not data.later_commits.is_latest:
            for path in gone["path"]:
                data.findings.mark_undecided((removed_files,), "does not exist, which a later version may allow", path)
            part = part.filter(pl.col("exists").fill_null(True) & pl.col("vector_exists").fill_null(True))
        data.findings.evaluate(removed_files, part)


def _iter_rows(data: DataBucket, young: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield rows of `removed_files`. Non-canonical paths and stored vectors are looked up one by one."""
    odd = pl.col("path_key").str.contains(NON_CANONICAL_KEY) | pl.col("dv_storage_type").is_in(["u", "p"]).fill_null(
        False
    )
    found = data.listed.select("path_key").unique().with_columns(exists=True)
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
    there = set(data.listed["path_key"]) if len(others) else set()
    for part in others.iter_slices(_AT_ONCE):
        yield removed_files.frame([_removed(data, row, there) for row in part.iter_rows(named=True)])


def _removed(data: DataBucket, row: dict[str, Any], there: set[str]) -> dict[str, Any]:
    vector = _vector_file(data, row)
    return {
        **{name: row[name] for name in ("version", "file", "line", "path", "deletion_timestamp", "retention_cutoff")},
        "exists": _exists(data, row["path_key"], there),
        "vector_file": vector,
        "vector_exists": None if vector is None else _exists(data, vector, there),
    }


def _exists(data: DataBucket, key: str, there: set[str]) -> bool | None:
    """Return whether a file exists; None for files outside the table, which this table does not control."""
    if is_outside_table(key):
        return None
    return normalize_key(key) in there or (data.listing_is_partial and data.file_exists(key))


def _vector_file(data: DataBucket, row: dict[str, Any]) -> str | None:
    if row["dv_storage_type"] not in ("u", "p"):
        return None
    descriptor = DeletionVectorDescriptor(row["dv_storage_type"], row["dv_path_or_inline"] or "", 0, 0)
    try:
        return find_vector_key(descriptor, data.access.store.root)
    except DeletionVectorError:
        return None


def check_log_start(facts: LogFacts, findings: Findings) -> None:
    """Check whether a cleaned-up log begins too late, if the validated history goes back that far."""
    names, clock_ms = facts.plan.entries, facts.options.clock_ms
    cleaned_up = None if facts.plan.missing else find_cleanup_version(names)
    if cleaned_up is None or clock_ms is None or not findings.has_rules_for(log_starts):
        return
    try:
        first, _ = find_readable_versions(names)
    except SegmentError:
        return
    base = facts.plan.base
    if base is None or base.version != min(each.version for each in find_complete_checkpoints(names)):
        return
    retention_ms = _find_log_retention_ms(facts.state)
    row = {
        "version": first,
        "file": f"{LOG_DIRECTORY}/{commit_name(first)}",
        "committed_at": _find_commit_time_ms(facts, findings, first),
        "shortest_retention_ms": retention_ms,
        "retention_cutoff": None if retention_ms is None else clock_ms - retention_ms,
    }
    findings.evaluate_rows(log_starts, [row])


def _find_log_retention_ms(state: TableState) -> int | None:
    """Return the shortest log retention; None if it was not always set or a dropped feature may truncate history."""
    dropped = any(row["dropped_features"] for row in state.rows["protocols"])
    values = collect_property_values(state, LOG_RETENTION)
    if dropped or None in values or not state.metadata_known:
        return None
    return find_shortest_log_retention_ms(values)


def _find_commit_time_ms(facts: LogFacts, findings: Findings, version: int) -> int | None:
    if commit_name(version) not in facts.plan.entries:
        return None
    file = f"{LOG_DIRECTORY}/{commit_name(version)}"
    try:
        log = decode_lines(facts.store.read(file, _MAX_BYTES), facts.options.revision)
    except StorageError as fault:
        findings.mark_undecided((log_starts,), str(fault), file)
        return None
    info = next((each for _, each in log.actions if isinstance(each, CommitInfo)), None)
    if info is None or info.in_commit_timestamp is not None:
        return None if info is None else info.in_commit_timestamp
    stated = info.timestamp
    if not isinstance(stated, int) or isinstance(stated, bool):
        return None
    # the file time is the time of writing, unless the file was copied
    return min(facts.plan.entries[commit_name(version)].modified_ms, max(stated, 0))
