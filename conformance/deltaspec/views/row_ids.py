"""Views over row tracking: row ids that the log gives to files, hidden columns, and row ids that files hold."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from deltaspec.model import row_tracking
from deltaspec.model.actions import MetaData
from deltaspec.model.data_types import Struct
from deltaspec.views.base import Column, View
from deltaspec.views.in_force import Since

MAX_ID = 2**63 - 1

_ADD = {
    "version": Column(pl.Int64, "version of the commit or checkpoint whose add is in force"),
    "file": Column(pl.String, "log file the add stands in"),
    "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
    "path": Column(pl.String, "path as written"),
}

row_id_ranges = View(
    name="row_id_ranges",
    grain="live file of the judged snapshot of a table that supports row tracking and has not suspended it",
    key=(),
    columns={
        **_ADD,
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "last_row_id": Column(
            pl.Int64, "default id of the last row; null without baseRowId or rows, or where numRecords does not tell"
        ),
        "previous_end": Column(
            pl.Int64, "highest default id of the files before, in the order of baseRowId; null for the first"
        ),
        "high_water_mark": Column(
            pl.Int64, "the mark that the domain delta.rowTracking holds; before r3 the action rowIdHighWaterMark"
        ),
        "has_mark": Column(pl.Boolean, "the domain is live; before r3: there is the action"),
        "ids_required": Column(
            pl.Boolean,
            "row tracking is enabled, or was supported and not suspended at the commit that wrote the add; that does "
            "not count for an add committed again that had no ids before: it keeps what the last add of its path has",
        ),
    },
)

row_id_columns = View(
    name="row_id_columns",
    grain="property that names a hidden column of materialized values, of a table with row tracking enabled",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the metaData action in force"),
        "file": Column(pl.String, "log file it stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "column": Column(pl.String, "name of the hidden column; null where the property is not set"),
        "property": Column(pl.String, "name of the property"),
        "taken_by": Column(pl.String, "column of the table, or other property, that has the same name"),
    },
)

row_id_files = View(
    name="row_id_files",
    grain="live data file of a table with row tracking enabled, with the row ids that it holds",
    key=(),
    level="rows",
    columns={
        **_ADD,
        "high_water_mark": Column(pl.Int64, "the mark that the domain delta.rowTracking holds"),
        "table_version": Column(pl.Int64, "the judged version"),
        "materialized_ids": Column(pl.Int64, "valid rows with a materialized id other than their default one"),
        "highest_row_id": Column(pl.Int64, "the highest of those; null without any"),
        "highest_row_commit_version": Column(
            pl.Int64, "highest materialized row commit version of a valid row; null without any"
        ),
        "repeated_ids": Column(
            pl.Int64, "materialized ids that are an id of another valid row as well, of this file or of one before"
        ),
        "repeated_id": Column(pl.Int64, "the first of them"),
    },
)

row_id_rewrites = View(
    name="row_id_rewrites",
    grain="judged commit that moves rows to other files, changing none, on a table with row tracking enabled",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "its log file"),
        "lost_ids": Column(pl.Int64, "stable row ids of rows in the files removed that no row of those added has"),
        "new_ids": Column(pl.Int64, "stable row ids of rows in the files added that no row of those removed has"),
        "commit_versions_kept": Column(
            pl.Boolean, "every row keeps the version that last wrote it; null where ids are not the same"
        ),
    },
)


def never_had_ids(live: pl.DataFrame, spanned: pl.DataFrame) -> list[str]:
    """Paths of live files without row ids whose last add before had none either.

    Args:
        live: as `file_replay.live_at` gives them.
        spanned: adds and removes as `file_replay.spans` gives them.
    """
    has_none = pl.all_horizontal(pl.col("base_row_id", "default_row_commit_version").is_null())
    bare = live.filter(has_none).select("path_key", _version=pl.col("version"))
    earlier = (
        spanned.filter(pl.col("kind") == "add").join(bare, on="path_key").filter(pl.col("version") < pl.col("_version"))
    )
    return (
        earlier.sort("version")
        .unique("path_key", keep="last", maintain_order=True)
        .filter(has_none)["path_key"]
        .to_list()
    )


def ranges_of(
    live: pl.DataFrame,
    mark: int | None,
    *,
    has_mark: bool | None,
    enabled: bool,
    since: Since,
    never_had_ids: Sequence[str] = (),
) -> pl.DataFrame:
    """Live files as the view `row_id_ranges`, in the order of their base ids.

    Args:
        live: as `file_replay.live_at` gives them.
        mark: the high-water mark, where it is kept and can be read.
        has_mark: whether it is kept; None where that is not known.
        enabled: row tracking is enabled at the judged version.
        since: from which version on row tracking was supported, and from which on suspended.
        never_had_ids: as the function of that name gives them.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = pl.when(base > MAX_ID - rows).then(pl.lit(MAX_ID)).otherwise(base + rows - 1)
    at_commit: pl.Expr = pl.lit(False)
    for version, supported, suspended in since:
        assigned = pl.lit(supported and not suspended)
        at_commit = pl.when(pl.col("version") >= version).then(assigned).otherwise(at_commit)
    at_commit = at_commit & ~pl.col("path_key").is_in(list(never_had_ids))
    return (
        live.sort("base_row_id", "path_key", nulls_last=True)
        .with_columns(
            path=pl.coalesce("path", "path_key"),
            last_row_id=pl.when((base >= 0) & (rows > 0)).then(last),
            high_water_mark=pl.lit(mark, pl.Int64),
            has_mark=pl.lit(has_mark, pl.Boolean),
            ids_required=pl.lit(enabled) | ((pl.col("source") == "commit") & at_commit),
        )
        .with_columns(previous_end=pl.col("last_row_id").cum_max().forward_fill().shift(1))
        .select(list(row_id_ranges.columns))
    )


def column_rows(place: dict[str, Any], metadata: MetaData, schema: Struct, mapping: str | None) -> list[dict[str, Any]]:
    """Both hidden columns as rows of the view `row_id_columns`.

    Args:
        place: version, file and line of the metadata.
        metadata: of a table with row tracking enabled.
        schema: of the table.
        mapping: mode of column mapping; None where it is off.
    """
    names = {name: metadata.configuration.get(name) for name in row_tracking.COLUMN_PROPERTIES}
    rows = []
    for name, column in names.items():
        taken = None if column is None else row_tracking.column_name_taken(column, schema, mapping)
        others = [other for other in names if other != name and column is not None and names[other] == column]
        rows.append({**place, "property": name, "column": column, "taken_by": taken or next(iter(others), None)})
    return rows
