"""Count the files in the directories of the table by whether the log refers to them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.report.report_types import Inventory
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.storage.data_access import find_non_canonical_keys, normalize_key

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

_NAMED = 20
_HIDDEN = r"(^|/)[_.][^/=]*(/|$)"
"""A path segment that begins with an underscore or a dot, except directories of partition columns such as `_day=1`."""


REFERENCES: dict[str, Any] = {"path_key": pl.String, "is_live": pl.Boolean}
"""Files that actions refer to, including deletion-vector files, by their name in a listing. Duplicates are possible."""


def collect_references(data: DataBucket) -> pl.DataFrame:
    """Return the files that actions of a bucket refer to, as rows of `REFERENCES`."""
    live = _keys(data, data.files.rows).with_columns(is_live=pl.lit(True))
    named = [_keys(data, rows).with_columns(is_live=pl.lit(False)) for rows in (data.intervals, data.changes.rows)]
    return pl.concat([live, *named])


def build_empty_references() -> pl.DataFrame:
    """Return an empty frame of `REFERENCES`."""
    return pl.DataFrame(schema=REFERENCES)


def build_inventory(
    listed: pl.DataFrame, named: pl.DataFrame, staged: Collection[str] = (), *, is_complete: bool
) -> Inventory:
    """Count listed files by what refers to them. Source: chapter File Types.

    Args:
        listed: `path_key` and `actual_size` of the files of a bucket.
        named: rows of `REFERENCES` for these files.
        staged: names of files in staged commits of unpublished versions.
        is_complete: every directory could be listed.
    """
    kind = (
        pl.when("is_live")
        .then(pl.lit("live"))
        .when(pl.col("is_live").is_not_null())
        .then(pl.lit("referenced"))
        .when(pl.col("path_key").str.contains(_HIDDEN))
        .then(pl.lit("hidden"))
        .when(pl.col("path_key").is_in(sorted(staged)))
        .then(pl.lit("staged"))
        .otherwise(pl.lit("unreferenced"))
    )
    once = named.group_by("path_key").agg(pl.col("is_live").any())
    files = listed.join(once, on="path_key", how="left").with_columns(kind=kind)
    totals = {
        row["kind"]: (row["files"], row["bytes"])
        for row in files.group_by("kind").agg(files=pl.len(), bytes=pl.col("actual_size").sum()).iter_rows(named=True)
    }
    first = files.filter(pl.col("kind") == "unreferenced")["path_key"].sort().head(_NAMED)
    return Inventory(
        files=len(files),
        bytes=int(files["actual_size"].sum()),
        live_files=totals.get("live", (0, 0))[0],
        live_bytes=totals.get("live", (0, 0))[1],
        referenced_files=totals.get("referenced", (0, 0))[0],
        referenced_bytes=totals.get("referenced", (0, 0))[1],
        staged_files=totals.get("staged", (0, 0))[0],
        staged_bytes=totals.get("staged", (0, 0))[1],
        unreferenced_files=totals.get("unreferenced", (0, 0))[0],
        unreferenced_bytes=totals.get("unreferenced", (0, 0))[1],
        hidden_files=totals.get("hidden", (0, 0))[0],
        hidden_bytes=totals.get("hidden", (0, 0))[1],
        unreferenced=first.to_list(),
        is_complete=is_complete,
    )


def _keys(data: DataBucket, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the files that actions refer to, including deletion-vector files, by their name in a listing."""
    keys = rows["path_key"]
    odd = find_non_canonical_keys(keys).fill_null(False)
    others = [normalize_key(key) for key in keys.filter(odd)] + _vector_keys(data, rows)
    found = pl.concat([keys.filter(~odd), pl.Series(others, dtype=pl.String)])
    return pl.DataFrame({"path_key": found.unique(maintain_order=True)})  # a repeated task returns the same rows


def _vector_keys(data: DataBucket, rows: pl.DataFrame) -> list[str]:
    found: list[str] = []
    if rows["dv_storage_type"].null_count() == len(rows):
        return found
    stored = rows.filter(pl.col("dv_storage_type").is_in(["u", "p"]))
    for kind, text in stored.select("dv_storage_type", "dv_path_or_inline").unique().iter_rows():
        descriptor = DeletionVectorDescriptor(
            storage_type=kind, path_or_inline_dv=text or "", size_in_bytes=0, cardinality=0
        )
        try:
            found.append(normalize_key(find_vector_key(descriptor, data.access.store.root)))
        except DeletionVectorError:
            continue
    return found
