"""What lies in the table's directories, and what of it the log refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from deltaspec.model.actions import DeletionVectorDescriptor
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.report.values import Inventory
from deltaspec.wire.data_access import normal
from deltaspec.wire.vector_files import vector_key

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun

_NAMED = 20
_HIDDEN = r"(^|/)[_.][^/=]*(/|$)"
"""A segment that begins with an underscore or a dot; a folder `_day=1` of a partition column is none."""


def take_inventory(run: DataRun) -> Inventory:
    """Count the listed files by what refers to them. Source: chapter File Types."""
    live = _keys(run.files.rows) | _vector_keys(run, run.files.rows)
    named = _keys(run.spanned) | _vector_keys(run, run.spanned) | _keys(run.changes.rows)
    key = pl.col("path_key")
    kind = (
        pl.when(key.is_in(list(live)))
        .then(pl.lit("live"))
        .when(key.is_in(list(named)))
        .then(pl.lit("referenced"))
        .when(key.str.contains(_HIDDEN))
        .then(pl.lit("hidden"))
        .otherwise(pl.lit("unreferenced"))
    )
    files = run.listed.with_columns(kind=kind)
    sums = {
        row["kind"]: (row["files"], row["bytes"])
        for row in files.group_by("kind").agg(files=pl.len(), bytes=pl.col("actual_size").sum()).iter_rows(named=True)
    }
    first = files.filter(pl.col("kind") == "unreferenced")["path_key"].sort().head(_NAMED)
    return Inventory(
        files=len(files),
        bytes=int(files["actual_size"].sum()),
        live_files=sums.get("live", (0, 0))[0],
        live_bytes=sums.get("live", (0, 0))[1],
        referenced_files=sums.get("referenced", (0, 0))[0],
        referenced_bytes=sums.get("referenced", (0, 0))[1],
        unreferenced_files=sums.get("unreferenced", (0, 0))[0],
        unreferenced_bytes=sums.get("unreferenced", (0, 0))[1],
        hidden_files=sums.get("hidden", (0, 0))[0],
        hidden_bytes=sums.get("hidden", (0, 0))[1],
        unreferenced=first.to_list(),
        is_whole=run.listing_fault is None,
    )


def _keys(rows: pl.DataFrame) -> set[str]:
    return {normal(key) for key in rows["path_key"].unique()}


def _vector_keys(run: DataRun, rows: pl.DataFrame) -> set[str]:
    found = set()
    stored = rows.filter(pl.col("dv_storage_type").is_in(["u", "p"]))
    for kind, text in stored.select("dv_storage_type", "dv_path_or_inline").unique().iter_rows():
        descriptor = DeletionVectorDescriptor(
            storage_type=kind, path_or_inline_dv=text or "", offset=None, size_in_bytes=0, cardinality=0
        )
        try:
            found.add(normal(vector_key(descriptor, run.access.store.root)))
        except DeletionVectorError:
            continue
    return found
