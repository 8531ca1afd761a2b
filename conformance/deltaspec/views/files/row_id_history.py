"""Views over row ids along the validated history: statements of commits, and assignments to files."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.actions import CommitInfo, RowIdHighWaterMark, WireStruct
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.revisions import Revision
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View
from deltaspec.views.files.file_replay import has_shared_path
from deltaspec.views.files.row_ids import compute_last_row_id
from deltaspec.views.table.enablement import (
    EnablementHistory,
    get_enablement_at,
    has_state,
    number_supported_periods,
)

MAX_COMPARED_FILES = 200
"""Maximum number of files with overlapping ids that are compared with all other files."""

row_id_commits = View(
    name="row_id_commits",
    grain="commit of the validated history after which the table supports row ids",
    key=("version",),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "enabled": Column(pl.Boolean, "whether row ids are enabled after the commit"),
        "file_actions": Column(pl.Int64, "number of adds and removes in the commit"),
        "new_files": Column(
            pl.Int64, "number of added paths that no earlier version has; null if the validated history is incomplete"
        ),
        "may_copy_rows": Column(
            pl.Boolean, "whether the commit adds a new path and also removes a file or adds a known path again"
        ),
        "high_water_marks": Column(
            pl.Int64, "number of rowIdHighWaterMark actions in the commit; null if one cannot be decoded"
        ),
        "table_has_high_water_mark": Column(pl.Boolean, "whether the validated version has a high-water mark"),
        "has_commit_info": Column(pl.Boolean, "whether the commit has a commitInfo; null if one cannot be decoded"),
        "rows_preserved": Column(
            pl.Boolean,
            "whether the commit states that updated or copied rows keep their ids: tag delta.rowTracking.preserved of "
            "commitInfo, in r1 preservedRowIds of the high-water mark; null if it states nothing",
        ),
    },
)

row_id_states = View(
    name="row_id_states",
    grain="version of the validated history in which enablement or suspension of row tracking changed, and the first",
    key=("version",),
    columns={
        "version": Column(pl.Int64, "table version"),
        "file": Column(pl.String, "log file of the change, relative to the table root"),
        "enabled": Column(pl.Boolean, "whether row tracking is supported and enabled"),
        "suspended": Column(pl.Boolean, "whether row tracking is supported and suspended"),
    },
)

new_row_ids = View(
    name="new_row_ids",
    grain="add of a commit to a table that supports row ids, whose path no earlier version of the validated "
    "history has",
    key=(),
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "suspended": Column(pl.Boolean, "whether row tracking is suspended after the commit"),
        "history_is_complete": Column(
            pl.Boolean, "whether all earlier versions are validated, so that the path is new to the table"
        ),
    },
)

row_id_conflicts = View(
    name="row_id_conflicts",
    grain="add to a table that assigns row ids, whose default row ids overlap the ids of another path",
    key=(),
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "last_row_id": Column(pl.Int64, "default row id of the last row"),
        "other_path": Column(
            pl.String, "path that has the same ids from an earlier commit or the same one", shown=True
        ),
        "other_is_live": Column(pl.Boolean, "whether some version has both files live"),
        "both_are_live": Column(
            pl.Boolean, "whether both files are live in the validated version, and it assigns row ids"
        ),
    },
)


_STATEMENTS = (CommitInfo, RowIdHighWaterMark)
_UNDECIDED_BY = {"commitInfo", "rowIdHighWaterMark", None}


class StatedRowIds(msgspec.Struct, frozen=True):
    """Statements of one commit about row ids; None if the action cannot be decoded."""

    high_water_marks: int | None = None
    has_commit_info: bool | None = None
    rows_preserved: bool | None = None

    @classmethod
    def from_actions(
        cls, actions: Iterable[tuple[int, WireStruct]], undecoded: frozenset[str | None], revision: Revision
    ) -> "StatedRowIds":
        """Read the statements of a commit; `undecoded` are the kinds of undecoded actions (None: unknown kind)."""
        if not undecoded.isdisjoint(_UNDECIDED_BY):
            return cls()
        statements = [each for _, each in actions if isinstance(each, _STATEMENTS)]
        marks = sum(isinstance(each, RowIdHighWaterMark) for each in statements)
        return cls(marks, len(statements) > marks, row_tracking.read_preservation_statement(statements, revision))


def flag_new_paths(intervals: pl.DataFrame) -> pl.DataFrame:
    """Return the adds and removes of commits with `is_new`: an add whose path no earlier validated version has.

    Args:
        intervals: adds and removes from `file_replay.build_intervals`, including a base checkpoint.
    """
    in_commit = pl.col("source") == "commit"
    several = has_shared_path(intervals)
    single = intervals.filter(~several).filter(in_commit).with_columns(is_new=pl.col("kind") == "add")
    many = intervals.filter(several).with_columns(_first=pl.col("version").min().over("path_key"))
    has_base = (~in_commit).any().over("path_key")
    is_new = (pl.col("kind") == "add") & (pl.col("version") == pl.col("_first"))
    many = many.with_columns(is_new=is_new & ~has_base).filter(in_commit).drop("_first")
    return pl.concat([single, many.select(single.columns)])


def build_row_id_commit_rows(
    changed: pl.DataFrame,
    statements: Mapping[int, StatedRowIds],
    files: Mapping[int, str],
    *,
    enabled: EnablementHistory,
    has_high_water_mark: bool | None,
    history_is_complete: bool,
) -> pl.DataFrame:
    """Return the rows of `row_id_commits`.

    Args:
        changed: file actions of commits, from `flag_new_paths`.
        statements: version to the statements of its commit.
        files: version to its log file.
        enabled: versions at which support or enablement of row tracking changed.
        has_high_water_mark: whether the validated version has a high-water mark; None if unknown.
        history_is_complete: whether the validated history starts at version 0.
    """
    reuses_rows = (pl.col("kind") == "remove") | ~pl.col("is_new")
    counts = changed.group_by("version").agg(
        file_actions=pl.len().cast(pl.Int64),
        new_files=pl.col("is_new").sum().cast(pl.Int64),
        may_copy_rows=pl.col("is_new").any() & reuses_rows.any(),
    )
    frame = pl.DataFrame(
        {
            "version": list(statements),
            "file": [files[version] for version in statements],
            "high_water_marks": [each.high_water_marks for each in statements.values()],
            "has_commit_info": [each.has_commit_info for each in statements.values()],
            "rows_preserved": [each.rows_preserved for each in statements.values()],
        },
        schema={
            name: row_id_commits.columns[name].dtype
            for name in ("version", "file", "high_water_marks", "has_commit_info", "rows_preserved")
        },
    )
    frame = frame.join(counts, on="version", how="left", maintain_order="left").with_columns(
        pl.col("file_actions", "new_files").fill_null(0), pl.col("may_copy_rows").fill_null(False)
    )
    return (
        frame.filter(has_state(enabled, supported=True))
        .with_columns(
            enabled=has_state(enabled, supported=True, true=True),
            table_has_high_water_mark=pl.lit(has_high_water_mark, pl.Boolean),
            new_files=pl.col("new_files") if history_is_complete else pl.lit(None, pl.Int64),
        )
        .select(list(row_id_commits.columns))
    )


def build_new_row_id_rows(
    changed: pl.DataFrame, suspended: EnablementHistory, *, history_is_complete: bool
) -> pl.DataFrame:
    """Return the rows of `new_row_ids`, one per add of a new path.

    Args:
        changed: file actions of commits, from `flag_new_paths`.
        suspended: versions at which support or suspension of row tracking changed.
        history_is_complete: whether the validated history starts at version 0.
    """
    rows = changed.filter(pl.col("is_new")).filter(has_state(suspended, supported=True))
    return rows.with_columns(
        path=pl.coalesce("path", "path_key"),
        suspended=has_state(suspended, supported=True, true=True),
        history_is_complete=pl.lit(history_is_complete),
    ).select(list(new_row_ids.columns))


def build_row_id_conflict_rows(
    intervals: pl.DataFrame, suspended: EnablementHistory, version: int
) -> list[dict[str, Any]]:
    """Return the rows of `row_id_conflicts`: files that are assigned ids of other files.

    A path that is added again with the same ids is one file. Ids that a file once had must not be assigned again,
    unless the feature was dropped since; reserved ids below the high-water mark may be assigned later.

    Args:
        intervals: adds and removes from `file_replay.build_intervals`.
        suspended: versions at which support or suspension of row tracking changed.
        version: the validated version.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = compute_last_row_id()
    is_assigned = (pl.col("kind") == "add") & (base >= 0) & (rows > 0) & has_state(suspended, supported=True)
    assigned = intervals.filter(is_assigned).with_columns(last_row_id=last)
    supported, is_suspended = get_enablement_at(suspended, version)
    judged_version = version if supported and not is_suspended else None
    periods = assigned.with_columns(_period=number_supported_periods(assigned["version"], suspended))
    found = [
        row
        for period in periods.partition_by("_period", include_key=False)
        for row in _find_conflicts(period, judged_version)
    ]
    return row_id_conflicts.frame(found).filter(has_state(suspended, supported=True, true=False)).to_dicts()


def _find_conflicts(assigned: pl.DataFrame, judged_version: int | None) -> list[dict[str, Any]]:
    """Return the conflicts of files that were added while row tracking was supported without interruption.

    Args:
        assigned: adds with row ids, with `last_row_id`.
        judged_version: the validated version; None if it does not assign row ids, so that RID001 does not judge it.
    """
    base = pl.col("base_row_id")
    several = has_shared_path(assigned)
    first_values = [pl.col(name).first() for name in ("version", "source", "file", "line", "path")]
    many = (
        assigned.filter(several)
        .sort("version", "file", "line")
        .group_by("path_key", "base_row_id", maintain_order=True)
    )
    names = ["path_key", "base_row_id", "version", "source", "file", "line", "path", "last_row_id"]
    first = many.agg(*first_values, last_row_id=pl.col("last_row_id").max())
    files = pl.concat([assigned.filter(~several).select(names), first.select(names)])
    files = files.sort("base_row_id", "version", "path_key").with_columns(
        previous_last_row_id=pl.col("last_row_id").cum_max().shift(1)
    )
    pairs = []
    for candidate in (
        files.filter(base <= pl.col("previous_last_row_id")).head(MAX_COMPARED_FILES).iter_rows(named=True)
    ):
        overlaps = (base <= candidate["last_row_id"]) & (pl.col("last_row_id") >= candidate["base_row_id"])
        others = files.filter(overlaps & (pl.col("path_key") != candidate["path_key"])).head(MAX_COMPARED_FILES)
        pairs += [(candidate, other) for other in others.iter_rows(named=True)]
    if not pairs:
        return []
    live_ranges = _find_live_ranges(assigned, {each["path_key"] for pair in pairs for each in pair})
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for one, two in pairs:
        row = build_conflict(one, two, live_ranges, judged_version)
        seen = found.setdefault((row["path"], row["version"]), row)
        seen["other_is_live"] |= row["other_is_live"]
        seen["both_are_live"] |= row["both_are_live"]
    return list(found.values())


_LiveRanges = dict[tuple[str, int], list[tuple[int, float]]]


def _find_live_ranges(assigned: pl.DataFrame, paths: set[str]) -> _LiveRanges:
    """Return the half-open version ranges in which each path with its base row id is live."""
    found: _LiveRanges = {}
    rows = assigned.filter(pl.col("path_key").is_in(list(paths))).select("path_key", "base_row_id", "version", "until")
    for path, base, version, until in rows.iter_rows():
        found.setdefault((path, base), []).append((version, inf if until is None else until))
    return found


def build_conflict(
    one: dict[str, Any], two: dict[str, Any], live_ranges: _LiveRanges, judged_version: int | None
) -> dict[str, Any]:
    """Build the conflict row of two files with overlapping ids."""
    older, newer = sorted((one, two), key=lambda each: (each["version"], each["source"] == "commit", each["path_key"]))
    newer_ranges, older_ranges = (live_ranges[each["path_key"], each["base_row_id"]] for each in (newer, older))
    return {
        **{name: newer[name] for name in ("version", "file", "line", "base_row_id", "last_row_id")},
        "path": newer["path"] or newer["path_key"],
        "other_path": older["path"] or older["path_key"],
        "other_is_live": any(a < d and c < b for a, b in newer_ranges for c, d in older_ranges),
        "both_are_live": judged_version is not None
        and all(any(a <= judged_version < b for a, b in each) for each in (newer_ranges, older_ranges)),
    }
