"""What lies in the table's directories, and what of it the log refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from deltaspec.model.actions import DeletionVectorDescriptor
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.report.values import Inventory
from deltaspec.wire.data_access import ODD_KEY, normal
from deltaspec.wire.vector_files import vector_key

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun

_NAMED = 20
_HIDDEN = r"(^|/)[_.][^/=]*(/|$)"
"""A segment that begins with an underscore or a dot; a folder `_day=1` of a partition column is none."""


def take_inventory(run: DataRun) -> Inventory:
    """Count the listed files by what refers to them. Source: chapter File Types."""
    live = _keys(run, run.files.rows)
    named = pl.concat([_keys(run, run.spanned), _keys(run, run.changes.rows)]).unique()
    key = pl.col("path_key")
    kind = (
        pl.when("_live")
        .then(pl.lit("live"))
        .when("_named")
        .then(pl.lit("referenced"))
        .when(key.str.contains(_HIDDEN))
        .then(pl.lit("hidden"))
        .otherwise(pl.lit("unreferenced"))
    )
    files = (
        run.listed.join(live.with_columns(_live=pl.lit(True)), on="path_key", how="left")
        .join(named.with_columns(_named=pl.lit(True)), on="path_key", how="left")
        .with_columns(kind=kind)
    )
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


def _keys(run: DataRun, rows: pl.DataFrame) -> pl.DataFrame:
    """The files that actions name, their deletion-vector files among them, as a listing names them."""
    keys = rows["path_key"]
    odd = keys.str.contains(ODD_KEY).fill_null(False)
    others = [normal(key) for key in keys.filter(odd)] + _vector_keys(run, rows)
    return pl.DataFrame({"path_key": pl.concat([keys.filter(~odd), pl.Series(others, dtype=pl.String)])}).unique()


def _vector_keys(run: DataRun, rows: pl.DataFrame) -> list[str]:
    found = []
    stored = rows.filter(pl.col("dv_storage_type").is_in(["u", "p"]))
    for kind, text in stored.select("dv_storage_type", "dv_path_or_inline").unique().iter_rows():
        descriptor = DeletionVectorDescriptor(
            storage_type=kind, path_or_inline_dv=text or "", size_in_bytes=0, cardinality=0
        )
        try:
            found.append(normal(vector_key(descriptor, run.access.store.root)))
        except DeletionVectorError:
            continue
    return found
