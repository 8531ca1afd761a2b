"""Check whether vacuum or log cleanup deleted files too early, if a clock is given."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files import paths
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.property_names import FILE_RETENTION
from deltaspec.validation.log.log_start_checks import collect_property_values
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.files.file_retention import find_shortest_file_retention_ms
from deltaspec.views.files.retention import removed_files
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.storage.data_access import is_non_canonical_key, is_outside_table, normalize_key
from deltaspec.wire.storage.interface import FileGone, StorageError
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

REPAIR = "FSCK"
"""Operation of commits that remove files which no longer exist."""
_AT_ONCE = 10_000


def check_removed_files(data: DataBucket) -> None:
    """Check that the files of unexpired tombstones exist."""
    if not data.findings.has_rules_for(removed_files) or data.facts.since is not None:
        return
    if not data.facts.state.metadata_known:
        data.findings.mark_undecided((removed_files,), "a metaData action could not be decoded")
        return
    retention_ms = find_shortest_file_retention_ms(collect_property_values(data.facts.state, FILE_RETENTION))
    if retention_ms is None or data.facts.options.clock_ms is None:
        return
    retention_cutoff = max(data.facts.options.clock_ms - retention_ms, -(2**63))
    lost = [version for version, operation in data.facts.operations.items() if operation == REPAIR]
    young = find_live_files(data.intervals, data.facts.plan.version, "remove").filter(
        (pl.col("deletion_timestamp") >= retention_cutoff) & ~pl.col("version").is_in(lost)
    )
    if data.facts.listing_error is not None and len(young):
        data.findings.mark_undecided(
            (removed_files,), f"the table cannot be listed completely: {data.facts.listing_error}"
        )
        return
    for part in _iter_rows(
        data,
        young.with_columns(path=pl.coalesce("path", "path_key"), retention_cutoff=pl.lit(retention_cutoff, pl.Int64)),
    ):
        part = _confirm_missing(data, part)
        gone = part.filter(~pl.col("exists") | ~pl.col("vector_exists"))
        if len(gone):
            data.later_commits.refresh()
        if len(gone) and not data.later_commits.is_latest:
            for path in gone["path"]:
                data.findings.mark_undecided((removed_files,), "does not exist; a later version may allow that", path)
            part = part.filter(pl.col("exists").fill_null(True) & pl.col("vector_exists").fill_null(True))
        data.findings.evaluate(removed_files, part)


def _confirm_missing(data: DataBucket, part: pl.DataFrame) -> pl.DataFrame:
    """Check again the files that are missing."""
    missing = part.filter(~pl.col("exists"))["path"].unique(maintain_order=True).to_list()
    if not missing or not data.second_look.is_enabled:
        return part
    with ThreadPoolExecutor(MAX_CONCURRENT_READS if data.access.store.is_remote else 1) as pool:
        found = dict(zip(missing, pool.map(lambda path: _confirm_file(data, path), missing), strict=True))
    for path, exists in found.items():
        if isinstance(exists, StorageError):
            data.findings.mark_undecided((removed_files,), str(exists), path)
    now = {path: None if isinstance(exists, StorageError) else exists for path, exists in found.items() if exists}
    kept = pl.col("path").replace_strict(now, default=pl.col("exists"), return_dtype=pl.Boolean)
    return part.with_columns(exists=kept) if now else part


def _confirm_file(data: DataBucket, path: str) -> bool | StorageError:
    """Return whether a file that the listing does not have exists."""
    key = paths.path_key(path, data.access.store.root)

    def look() -> bool | StorageError:
        try:
            data.access.size(key)
        except FileGone:
            return False
        except StorageError as fault:
            return fault
        return True

    return data.second_look.confirm(
        path, False, look, is_sound=bool, describe=lambda exists: "exists" if exists else "missing"
    )


def _iter_rows(data: DataBucket, young: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield rows of `removed_files`. Non-canonical paths and stored vectors are looked up one by one."""
    odd = is_non_canonical_key("path_key") | pl.col("dv_storage_type").is_in(["u", "p"]).fill_null(False)
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
    return normalize_key(key) in there or (data.facts.bucket_count > 1 and data.file_exists(key))


def _vector_file(data: DataBucket, row: dict[str, Any]) -> str | None:
    if row["dv_storage_type"] not in ("u", "p"):
        return None
    descriptor = DeletionVectorDescriptor(row["dv_storage_type"], row["dv_path_or_inline"] or "", 0, 0)
    try:
        return find_vector_key(descriptor, data.access.store.root)
    except DeletionVectorError:
        return None
