"""Views over row tracking: row ids that the log assigns, materialized columns, and row ids stored in files."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from deltaspec.protocol.actions import MetaData
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, STATE_COLUMNS, Column, View
from deltaspec.views.table.enablement import EnablementHistory, find_supported_since, has_state

MAX_ID = 2**63 - 1

row_id_ranges = View(
    name="row_id_ranges",
    grain="live file of the validated version, if row ids are supported and not suspended; also a file without ids "
    "that a version of the validated history required, at that version, and a removed file with ids above the "
    "high-water mark",
    key=(),
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "last_row_id": Column(
            pl.Int64, "default row id of the last row; null without baseRowId or numRecords, or for a file without rows"
        ),
        "ids_exceed_long": Column(
            pl.Boolean, "whether the default row id of the last row has more than 64 bits; last_row_id is then 2^63 - 1"
        ),
        "previous_last_row_id": Column(
            pl.Int64, "highest default row id of the preceding files in the order of baseRowId; null for the first file"
        ),
        "high_water_mark": Column(
            pl.Int64, "high-water mark of the domain delta.rowTracking; before r3 of the action rowIdHighWaterMark"
        ),
        "has_high_water_mark": Column(pl.Boolean, "whether the table has a high-water mark; null if unknown"),
        "ids_required": Column(
            pl.Boolean,
            "true if it must have row ids: they are enabled while it is live, or were supported and not suspended "
            "at its commit; since r2 not for an add that is committed again and had no ids before; null otherwise",
        ),
    },
)

row_id_columns = View(
    name="row_id_columns",
    grain="property that names a materialized row-tracking column of a table that supports row ids, and since r2 each "
    "column that it named before and whose name a table column has; at each version in which the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "column": Column(pl.String, "name of the materialized column; null if the property is not set"),
        "property": Column(pl.String, "name of the property"),
        "enabled": Column(pl.Boolean, "whether row ids are enabled at that version"),
        "conflicts_with": Column(pl.String, "table column or other property with the same column name"),
    },
)

row_id_files = View(
    name="row_id_files",
    grain="live data file of a table that supports row ids, with the ids of its rows; materialized ids count if "
    "row ids "
    "are enabled",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "high_water_mark": Column(pl.Int64, "high-water mark of the domain delta.rowTracking"),
        "table_version": Column(pl.Int64, "the validated version"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "materialized_column_fault": Column(
            pl.String, "materialized column whose values are not integers; the other columns are then null"
        ),
        "rows_are_inserted": Column(
            pl.Boolean, "whether its rows were inserted: the commit that added the path copied no rows from other files"
        ),
        "duplicate_default_ids": Column(
            pl.Int64, "number of valid rows whose default row id also belongs to a row of a preceding file"
        ),
        "first_duplicate_default_id": Column(pl.Int64, "first duplicate default row id"),
        "materialized_ids": Column(
            pl.Int64, "number of valid rows whose materialized row id differs from the default one"
        ),
        "materialized_default_ids": Column(
            pl.Int64, "number of valid rows whose materialized row id equals the default one"
        ),
        "highest_row_id": Column(
            pl.Int64, "highest materialized row id that differs from the default one; null if there is none"
        ),
        "highest_row_commit_version": Column(
            pl.Int64, "highest materialized row commit version of a valid row; null if there is none"
        ),
        "earlier_row_commit_versions": Column(
            pl.Int64, "number of valid rows whose materialized row commit version is below defaultRowCommitVersion"
        ),
        "duplicate_ids": Column(
            pl.Int64, "number of materialized row ids that another valid row also has, in this file or a preceding one"
        ),
        "first_duplicate_id": Column(pl.Int64, "first duplicate materialized row id"),
    },
)

row_id_rewrites = View(
    name="row_id_rewrites",
    grain="commit of the validated history that moves rows to other files, or is an update that keeps the row "
    "count, on "
    "a table with row ids enabled",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "lost_ids": Column(pl.Int64, "number of row ids in the removed files that no row of the added files has"),
        "new_ids": Column(pl.Int64, "number of row ids in the added files that no row of the removed files has"),
        "commit_versions_preserved": Column(
            pl.Boolean,
            "whether every row keeps its row commit version; null if the ids differ, or rows are updated",
        ),
        "rows_preserved": Column(
            pl.Boolean,
            "whether the commit states that rows keep their ids, as in `row_id_commits`; null if it states nothing",
        ),
    },
)


def find_adds_of_files_without_ids(
    adds: pl.DataFrame, intervals: pl.DataFrame, *, history_is_complete: bool
) -> pl.DataFrame:
    """Return `path_key` and `version` of adds without row ids in commits, of files that may never have had any.

    The last earlier add of the path decides, otherwise an earlier remove. A path without an earlier action is new; in
    an incomplete history it may also have been removed before the first checkpoint.

    Args:
        adds: rows of `intervals`.
        intervals: adds and removes, from `file_replay.build_intervals`.
        history_is_complete: whether all earlier versions are validated.
    """
    key = ["path_key", "_version"]
    has_none = pl.all_horizontal(pl.col("base_row_id", "default_row_commit_version").is_null())
    adds_without_ids = adds.filter(has_none & (pl.col("source") == "commit")).select(
        "path_key", _version=pl.col("version")
    )
    earlier = intervals.join(adds_without_ids, on="path_key").filter(pl.col("version") < pl.col("_version"))
    last_actions = earlier.sort(pl.col("kind") == "add", "version", "file", "line").unique(
        key, keep="last", maintain_order=True
    )
    found = last_actions.filter(has_none).select(key)
    if not history_is_complete:
        found = pl.concat([found, adds_without_ids.join(last_actions, on=key, how="anti")])
    return found.rename({"_version": "version"})


def compute_last_row_id() -> pl.Expr:
    """Build the default row id of the last row of a file with rows, at most 2^63 - 1."""
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    return pl.when(base > MAX_ID - rows).then(pl.lit(MAX_ID)).otherwise(base + rows - 1)


def _exceeds_long() -> pl.Expr:
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    return (base >= 0) & (rows > 0) & (base - 1 > MAX_ID - rows)


def build_row_id_ranges(
    live: pl.DataFrame, mark: int | None, *, has_high_water_mark: bool | None, highest_before: int | None = None
) -> pl.DataFrame:
    """Return the live files as rows of `row_id_ranges`, ordered by base row id.

    Args:
        live: live files, from `file_replay.find_live_files`: all of them, or the files of a range of base row ids.
        mark: the high-water mark; None if there is none, or it cannot be read.
        has_high_water_mark: whether there is a high-water mark; None if unknown.
        highest_before: highest default row id of the live files of all ranges before; None if there are none.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = compute_last_row_id()
    previous = pl.col("last_row_id").cum_max().forward_fill().shift(1)
    return (
        live.sort("base_row_id", "path_key", "version", "file", "line", nulls_last=True)
        .with_columns(
            path=pl.coalesce("path", "path_key"),
            last_row_id=pl.when((base >= 0) & (rows > 0)).then(last),
            ids_exceed_long=_exceeds_long(),
            high_water_mark=pl.lit(mark, pl.Int64),
            has_high_water_mark=pl.lit(has_high_water_mark, pl.Boolean),
            ids_required=pl.lit(None, pl.Boolean),
        )
        .with_columns(previous_last_row_id=pl.max_horizontal(previous, pl.lit(highest_before, pl.Int64)))
        .select(list(row_id_ranges.columns))
    )


def find_files_without_required_ids(
    intervals: pl.DataFrame,
    enabled: EnablementHistory,
    suspended: EnablementHistory,
    enabling_commits: Mapping[int, str],
    revision: Revision,
    *,
    history_is_complete: bool,
) -> pl.DataFrame:
    """Return the files without row ids that some version required, as rows of `row_id_ranges`.

    A file needs ids if its commit assigns them, or if row ids are enabled in a version in which it is live; whatever
    later versions support.

    Args:
        intervals: adds and removes, from `file_replay.build_intervals`.
        enabled: versions at which support or enablement of row tracking changed.
        suspended: versions at which support or suspension of row tracking changed.
        enabling_commits: versions that enable row ids, ascending, to the log files of their commits.
        revision: protocol revision.
        history_is_complete: whether all earlier versions are validated.
    """
    # [Changed in r2] commit versions are new
    names = ("base_row_id",) if revision is Revision.R1 else ("base_row_id", "default_row_commit_version")
    has_no_ids = pl.any_horizontal(pl.col(*names).is_null())
    rows = intervals.filter((pl.col("kind") == "add") & has_no_ids).sort("version", "file", "line")
    # [Changed in r2] a file that is committed again keeps its row ids, and stays without ids if it had none
    exempt = find_adds_of_files_without_ids(rows, intervals, history_is_complete=history_is_complete)
    exempt = exempt.clear() if revision is Revision.R1 else exempt
    rows = rows.join(exempt.with_columns(_exempt=True), on=["path_key", "version"], how="left", maintain_order="left")
    assigns = has_state(suspended, supported=True, true=False)
    is_assigned = (pl.col("source") == "commit") & assigns & pl.col("_exempt").is_null()
    required_at_once = is_assigned | has_state(enabled, supported=True, true=True)
    next_enabling = pl.Series(list(enabling_commits), dtype=pl.Int64).search_sorted(rows["version"], side="left")
    commits = pl.DataFrame(
        {"_enabled": [*enabling_commits, None], "_commit": [*enabling_commits.values(), None]},
        schema={"_enabled": pl.Int64, "_commit": pl.String},
    )
    rows = rows.hstack(commits[next_enabling]).with_columns(_at_once=required_at_once)
    is_live_when_enabled = pl.col("until").is_null() | (pl.col("_enabled") < pl.col("until"))
    rows = rows.filter(pl.col("_at_once") | (pl.col("_enabled").is_not_null() & is_live_when_enabled))
    unknown = {
        name: pl.lit(None, row_id_ranges.columns[name].dtype)
        for name in ("last_row_id", "ids_exceed_long", "previous_last_row_id", "high_water_mark", "has_high_water_mark")
    }
    at_once = pl.col("_at_once")
    return rows.with_columns(
        version=pl.when(at_once).then("version").otherwise("_enabled"),
        file=pl.when(at_once).then("file").otherwise("_commit"),
        line=pl.when(at_once).then("line"),
        path=pl.coalesce("path", "path_key"),
        ids_required=pl.lit(True),
        **unknown,
    ).select(list(row_id_ranges.columns))


def find_removed_files_above_mark(
    intervals: pl.DataFrame, live: pl.DataFrame, mark: int, since: EnablementHistory
) -> pl.DataFrame:
    """Return removed files that had row ids above the high-water mark, as rows of `row_id_ranges`.

    Such a file shows that the mark was moved back.

    Args:
        intervals: adds and removes, from `file_replay.build_intervals`.
        live: the live files, from `file_replay.find_live_files`.
        mark: the high-water mark.
        since: versions at which support of row tracking changed; row ids restart if the feature is dropped.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = compute_last_row_id()
    is_removed = intervals.filter(
        (pl.col("kind") == "add") & (base >= 0) & (rows > 0) & ((last > mark) | _exceeds_long())
    )
    is_removed = is_removed.filter(pl.col("version") >= find_supported_since(since))
    is_removed = is_removed.join(live.select("path_key"), on="path_key", how="anti")
    unknown = {
        name: pl.lit(None, row_id_ranges.columns[name].dtype) for name in ("previous_last_row_id", "ids_required")
    }
    return (
        is_removed.sort("version", "file", "line")
        .unique("path_key", keep="last", maintain_order=True)
        .with_columns(
            path=pl.coalesce("path", "path_key"),
            last_row_id=last,
            ids_exceed_long=_exceeds_long(),
            high_water_mark=pl.lit(mark, pl.Int64),
            has_high_water_mark=pl.lit(True),
            **unknown,
        )
        .select(list(row_id_ranges.columns))
    )


def build_former_column_rows(
    former: Mapping[str, str], metadata: MetaData, schema: Struct, mapping: str | None
) -> list[dict[str, Any]]:
    """Return the rows of `row_id_columns` for former materialized columns whose names are taken, without location.

    Args:
        former: materialized columns of earlier versions of the table, with the property of each.
        metadata: metadata of the table.
        schema: schema of the table.
        mapping: column mapping mode; None if off.
    """
    rows = []
    for column in former.keys() - metadata.configuration.values():
        conflict = row_tracking.find_conflicting_column(column, schema, mapping)
        if conflict is not None:
            rows.append({"property": former[column], "column": column, "enabled": False, "conflicts_with": conflict})
    return rows


def column_rows(
    metadata: MetaData,
    schema: Struct | None,
    mapping: str | None,
    *,
    enabled: bool,
    revision: Revision = Revision.CURRENT,
) -> list[dict[str, Any]]:
    """Return the rows of `row_id_columns` without location, one per property.

    Args:
        metadata: metadata of a table that supports row ids.
        schema: schema of the table; None if unknown.
        mapping: column mapping mode; None if off.
        enabled: whether row ids are enabled.
        revision: protocol revision, which defines the property names.
    """
    names = {name: metadata.configuration.get(name) for name in row_tracking.get_column_properties(revision)}
    rows = []
    for name, column in names.items():
        conflict = row_tracking.find_conflict(name, metadata.configuration, schema, mapping, revision)
        rows.append({"property": name, "column": column, "enabled": enabled, "conflicts_with": conflict})
    return rows
