"""Views over row tracking: row ids that the log gives to files, hidden columns, and row ids that files hold."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from deltaspec.model.actions import MetaData
from deltaspec.model.revisions import Revision
from deltaspec.model.rows import row_tracking
from deltaspec.model.schema.data_types import Struct
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.table.enablement import EnablementHistory, find_supported_since

MAX_ID = 2**63 - 1

row_id_ranges = View(
    name="row_id_ranges",
    grain="live file of the judged snapshot of a table that supports row ids and has not suspended them; file that had "
    "none when a version before enabled them; and file, gone since, that had ids above the mark",
    key=(),
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "last_row_id": Column(
            pl.Int64, "default id of the last row; null without baseRowId or rows, or where numRecords does not tell"
        ),
        "previous_last_row_id": Column(
            pl.Int64, "highest default id of the files before, in the order of baseRowId; null for the first"
        ),
        "high_water_mark": Column(
            pl.Int64, "the mark that the domain delta.rowTracking holds; before r3 the action rowIdHighWaterMark"
        ),
        "has_high_water_mark": Column(pl.Boolean, "the domain is live; before r3: there is the action"),
        "ids_required": Column(
            pl.Boolean,
            "row ids are enabled, or were supported and not suspended at the commit that wrote the add; that does not "
            "count since r2 for an add committed again that had no ids before: it keeps what the last of its path has",
        ),
    },
)

row_id_columns = View(
    name="row_id_columns",
    grain="property that names a hidden column, at each version of a table that supports row ids where the metadata or "
    "the protocol changed",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the metaData action in force"),
        "file": Column(pl.String, "log file it stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "column": Column(pl.String, "name of the hidden column; null where the property is not set"),
        "property": Column(pl.String, "name of the property"),
        "enabled": Column(pl.Boolean, "row ids are enabled at that version"),
        "conflicts_with": Column(pl.String, "column of the table, or other property, that has the same name"),
    },
)

row_id_files = View(
    name="row_id_files",
    grain="live data file of a table that supports row ids, with the row ids that its rows have; what is materialized "
    "counts where they are enabled",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "high_water_mark": Column(pl.Int64, "the mark that the domain delta.rowTracking holds"),
        "table_version": Column(pl.Int64, "the judged version"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "materialized_column_fault": Column(
            pl.String, "which hidden column has values that are no integers; nothing else is known then"
        ),
        "rows_are_inserted": Column(
            pl.Boolean, "its rows were inserted: the commit that added the path took no row from another file"
        ),
        "duplicate_fresh_ids": Column(pl.Int64, "valid rows whose fresh id a row of a file before has as well"),
        "first_duplicate_fresh_id": Column(pl.Int64, "the first such id"),
        "materialized_ids": Column(pl.Int64, "valid rows with a materialized id other than their default one"),
        "materialized_default_ids": Column(pl.Int64, "valid rows with a materialized id that is their default one"),
        "highest_row_id": Column(pl.Int64, "the highest of those; null without any"),
        "highest_row_commit_version": Column(
            pl.Int64, "highest materialized row commit version of a valid row; null without any"
        ),
        "earlier_row_commit_versions": Column(
            pl.Int64, "valid rows with a materialized row commit version before defaultRowCommitVersion"
        ),
        "duplicate_ids": Column(
            pl.Int64, "materialized ids that are an id of another valid row as well, of this file or of one before"
        ),
        "first_duplicate_id": Column(pl.Int64, "the first of them"),
    },
)

row_id_rewrites = View(
    name="row_id_rewrites",
    grain="judged commit that moves rows to other files, or calls itself an update and leaves their number, on a table "
    "with row ids enabled",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "its log file"),
        "lost_ids": Column(pl.Int64, "stable row ids of rows in the files removed that no row of those added has"),
        "new_ids": Column(pl.Int64, "stable row ids of rows in the files added that no row of those removed has"),
        "commit_versions_preserved": Column(
            pl.Boolean,
            "every row keeps the version that last wrote it; null where ids are not the same, or rows are updated",
        ),
        "rows_preserved": Column(
            pl.Boolean, "what the commit says of that, as in `row_id_commits`; null where it says nothing"
        ),
    },
)


def paths_without_ids(live: pl.DataFrame, intervals: pl.DataFrame, *, whole: bool) -> list[str]:
    """Paths of files that a commit adds without row ids, and that may never have had any.

    The last add before tells, or else a remove. Where nothing is known of a path it is new, or it may have been
    removed too long ago for a checkpoint to say so.

    Args:
        live: as `file_replay.find_live_files` gives them.
        spanned: adds and removes as `file_replay.spans` gives them.
        whole: all versions before are judged.
    """
    has_none = pl.all_horizontal(pl.col("base_row_id", "default_row_commit_version").is_null())
    bare = live.filter(has_none & (pl.col("source") == "commit")).select("path_key", _version=pl.col("version"))
    earlier = intervals.join(bare, on="path_key").filter(pl.col("version") < pl.col("_version"))
    told = earlier.sort(pl.col("kind") == "add", "version", "file", "line").unique(
        "path_key", keep="last", maintain_order=True
    )
    unknown = bare.join(told, on="path_key", how="anti")["path_key"].to_list()
    return told.filter(has_none)["path_key"].to_list() + ([] if whole else unknown)


def build_row_id_ranges(
    live: pl.DataFrame,
    mark: int | None,
    *,
    has_high_water_mark: bool | None,
    enabled: bool,
    since: EnablementHistory,
    paths_without_ids: Sequence[str] = (),
) -> pl.DataFrame:
    """Live files as the view `row_id_ranges`, in the order of their base ids.

    Args:
        live: as `file_replay.find_live_files` gives them.
        mark: the high-water mark, where it is kept and can be read.
        has_high_water_mark: whether it is kept; None where that is not known.
        enabled: row tracking is enabled at the judged version.
        since: from which version on row tracking was supported, and from which on suspended.
        paths_without_ids: as the function of that name gives them.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = pl.when(base > MAX_ID - rows).then(pl.lit(MAX_ID)).otherwise(base + rows - 1)
    at_commit: pl.Expr = pl.lit(False)
    for version, supported, suspended in since:
        assigned = pl.lit(supported and not suspended)
        at_commit = pl.when(pl.col("version") >= version).then(assigned).otherwise(at_commit)
    at_commit = at_commit & ~pl.col("path_key").is_in(list(paths_without_ids))
    return (
        live.sort("base_row_id", "path_key", "version", "file", "line", nulls_last=True)
        .with_columns(
            path=pl.coalesce("path", "path_key"),
            last_row_id=pl.when((base >= 0) & (rows > 0)).then(last),
            high_water_mark=pl.lit(mark, pl.Int64),
            has_high_water_mark=pl.lit(has_high_water_mark, pl.Boolean),
            ids_required=pl.lit(enabled) | ((pl.col("source") == "commit") & at_commit),
        )
        .with_columns(previous_last_row_id=pl.col("last_row_id").cum_max().forward_fill().shift(1))
        .select(list(row_id_ranges.columns))
    )


def find_files_without_ids(intervals: pl.DataFrame, version: int, judged: int) -> pl.DataFrame:
    """Files as rows of `row_id_ranges` that lack ids at the version which enables them, and are gone when judged.

    Args:
        spanned: as `file_replay.spans` gives them.
        version: the one that enables row ids.
        judged: the judged one; of its files `build_row_id_ranges` speaks.
    """
    lacks = pl.any_horizontal(pl.col("base_row_id", "default_row_commit_version").is_null())
    gone = pl.col("until").is_not_null() & (pl.col("until") <= judged)
    rows = find_live_files(intervals.filter(lacks & gone), version)
    unknown = {
        name: pl.lit(None, row_id_ranges.columns[name].dtype)
        for name in ("last_row_id", "previous_last_row_id", "high_water_mark", "has_high_water_mark")
    }
    return rows.with_columns(path=pl.coalesce("path", "path_key"), ids_required=pl.lit(True), **unknown).select(
        list(row_id_ranges.columns)
    )


def find_removed_files_above_mark(
    intervals: pl.DataFrame, live: pl.DataFrame, mark: int, since: EnablementHistory
) -> pl.DataFrame:
    """Files as rows of `row_id_ranges` that are gone when judged, and had ids above the mark: it fell.

    Args:
        spanned: as `file_replay.spans` gives them.
        live: the live files, as `file_replay.find_live_files` gives them.
        mark: the high-water mark.
        since: from which version on row tracking was supported: if it was dropped before, ids began anew.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = pl.when(base > MAX_ID - rows).then(pl.lit(MAX_ID)).otherwise(base + rows - 1)
    gone = intervals.filter((pl.col("kind") == "add") & (base >= 0) & (rows > 0) & (last > mark))
    gone = gone.filter(pl.col("version") >= find_supported_since(since))
    gone = gone.join(live.select("path_key"), on="path_key", how="anti")
    unknown = {
        name: pl.lit(None, row_id_ranges.columns[name].dtype) for name in ("previous_last_row_id", "ids_required")
    }
    return (
        gone.sort("version", "file", "line")
        .unique("path_key", keep="last", maintain_order=True)
        .with_columns(
            path=pl.coalesce("path", "path_key"),
            last_row_id=last,
            high_water_mark=pl.lit(mark, pl.Int64),
            has_high_water_mark=pl.lit(True),
            **unknown,
        )
        .select(list(row_id_ranges.columns))
    )


def column_rows(
    place: dict[str, Any],
    metadata: MetaData,
    schema: Struct | None,
    mapping: str | None,
    *,
    enabled: bool,
    revision: Revision = Revision.CURRENT,
) -> list[dict[str, Any]]:
    """The hidden columns as rows of the view `row_id_columns`.

    Args:
        place: version, file and line of the metadata.
        metadata: of a table that supports row ids.
        schema: of the table; None where it is not known.
        mapping: mode of column mapping; None where it is off.
        enabled: row ids are enabled.
        revision: the text that names the properties.
    """
    names = {name: metadata.configuration.get(name) for name in row_tracking.get_column_properties(revision)}
    rows = []
    for name, column in names.items():
        others = [other for other in names if other != name and column is not None and names[other] == column]
        unknown = column is None or schema is None
        taken = None if unknown else row_tracking.find_conflicting_column(column or "", schema or Struct(()), mapping)
        taken = taken or next(iter(others), None)
        rows.append({**place, "property": name, "column": column, "enabled": enabled, "conflicts_with": taken})
    return rows
