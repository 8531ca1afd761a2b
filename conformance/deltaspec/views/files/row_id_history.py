"""Views over row ids along the validated history: statements of commits, and assignments to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, TypeVar

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

_T = TypeVar("_T")
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
    ) -> StatedRowIds:
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


def count_commit_actions(changed: pl.DataFrame) -> pl.DataFrame:
    """Count the file actions of each commit.

    Args:
        changed: from `flag_new_paths`. The actions of a path must be together, but not all actions of a commit: counts
            of several frames can be added.

    Returns:
        `version` with `file_actions`, `new_files`, and `reused_files`, which are removes and adds of known paths.
    """
    reuses_rows = (pl.col("kind") == "remove") | ~pl.col("is_new")
    return changed.group_by("version").agg(
        file_actions=pl.len().cast(pl.Int64),
        new_files=pl.col("is_new").sum().cast(pl.Int64),
        reused_files=reuses_rows.sum().cast(pl.Int64),
    )


def build_row_id_commit_rows(
    counts: pl.DataFrame,
    statements: Mapping[int, StatedRowIds],
    files: Mapping[int, str],
    *,
    enabled: EnablementHistory,
    has_high_water_mark: bool | None,
    history_is_complete: bool,
) -> pl.DataFrame:
    """Return the rows of `row_id_commits`.

    Args:
        counts: of `count_commit_actions`, added up over all paths.
        statements: version to the statements of its commit.
        files: version to its log file.
        enabled: versions at which support or enablement of row tracking changed.
        has_high_water_mark: whether the validated version has a high-water mark; None if unknown.
        history_is_complete: whether the validated history starts at version 0.
    """
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
    frame = frame.join(counts, on="version", how="left", maintain_order="left")
    frame = frame.with_columns(pl.col("file_actions", "new_files", "reused_files").fill_null(0))
    return (
        frame.filter(has_state(enabled, supported=True))
        .with_columns(
            enabled=has_state(enabled, supported=True, true=True),
            may_copy_rows=(pl.col("new_files") > 0) & (pl.col("reused_files") > 0),
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


_LiveRanges = dict[tuple[str, int], list[tuple[int, float]]]


class Conflicts(msgspec.Struct):
    """Files with overlapping default row ids, found in ranges of row ids. The result does not depend on the ranges."""

    candidates: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """Per period of support, the first files that begin with ids of a preceding file, at most `MAX_COMPARED_FILES`."""
    overlaps: list[tuple[int, dict[str, Any]]] = msgspec.field(default_factory=list)
    """Indexes of candidates, and the first other files with the same ids."""
    live_ranges: _LiveRanges = msgspec.field(default_factory=dict)

    def merge(self, other: Conflicts) -> None:
        """Add what was found in other ranges."""
        self.candidates = _select_first([*self.candidates, *other.candidates], lambda file: file["period"], _order)
        self.overlaps = _select_first(
            [*self.overlaps, *other.overlaps], lambda each: each[0], lambda each: (each[0], *_order(each[1]))
        )
        self.live_ranges |= other.live_ranges


def _order(file: dict[str, Any]) -> tuple[Any, ...]:
    return file["period"], file["base_row_id"], file["version"], file["path_key"]


def _select_first(items: list[_T], group: Callable[[_T], int], order: Callable[[_T], Any]) -> list[_T]:
    """Sort items, and return the first `MAX_COMPARED_FILES` of each group."""
    counts: Counter[int] = Counter()
    found = []
    for item in sorted(items, key=order):
        counts[group(item)] += 1
        if counts[group(item)] <= MAX_COMPARED_FILES:
            found.append(item)
    return found


def select_assigned_files(intervals: pl.DataFrame, suspended: EnablementHistory) -> pl.DataFrame:
    """Return the adds to which a table that supports row tracking assigned ids, with `last_row_id` and `period`.

    Args:
        intervals: adds and removes from `file_replay.build_intervals`.
        suspended: versions at which support or suspension of row tracking changed.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    is_assigned = (pl.col("kind") == "add") & (base >= 0) & (rows > 0) & has_state(suspended, supported=True)
    assigned = intervals.filter(is_assigned).with_columns(last_row_id=compute_last_row_id())
    return assigned.with_columns(period=number_supported_periods(assigned["version"], suspended))


def _unite_adds(assigned: pl.DataFrame) -> pl.DataFrame:
    """Return one row per file: a path that is added again with the same ids is one file."""
    several = has_shared_path(assigned)
    first_values = [pl.col(name).first() for name in ("version", "source", "file", "line", "path")]
    many = (
        assigned.filter(several)
        .sort("version", "file", "line")
        .group_by("period", "path_key", "base_row_id", maintain_order=True)
    )
    names = ["period", "path_key", "base_row_id", "version", "source", "file", "line", "path", "last_row_id"]
    first = many.agg(*first_values, last_row_id=pl.col("last_row_id").max())
    files = pl.concat([assigned.filter(~several).select(names), first.select(names)])
    return files.sort("period", "base_row_id", "version", "path_key")


def find_conflict_candidates(assigned: pl.DataFrame, highest_before: Mapping[int, int]) -> Conflicts:
    """Return the files that begin with the ids of a preceding file.

    Args:
        assigned: files of a range of row ids, from `select_assigned_files`.
        highest_before: highest row id of the ranges before, by period.
    """
    files = _unite_adds(assigned)
    periods, highest = list(highest_before), list(highest_before.values())
    before = pl.col("period").replace_strict(periods, highest, default=None, return_dtype=pl.Int64)
    previous = pl.col("last_row_id").cum_max().shift(1).over("period")
    found = files.filter(pl.col("base_row_id") <= pl.max_horizontal(previous, before))
    first = found.group_by("period", maintain_order=True).head(MAX_COMPARED_FILES)
    return Conflicts(candidates=first.select(files.columns).to_dicts())


def find_overlaps(assigned: pl.DataFrame, candidates: list[dict[str, Any]]) -> Conflicts:
    """Return the files of a range of row ids that have ids of the candidates, from `select_assigned_files`."""
    files = _unite_adds(assigned)
    found = Conflicts()
    for index, candidate in enumerate(candidates):
        overlaps = (
            (pl.col("period") == candidate["period"])
            & (pl.col("base_row_id") <= candidate["last_row_id"])
            & (pl.col("last_row_id") >= candidate["base_row_id"])
            & (pl.col("path_key") != candidate["path_key"])
        )
        found.overlaps += [(index, other) for other in files.filter(overlaps).head(MAX_COMPARED_FILES).to_dicts()]
    paths = {each["path_key"] for each in (*candidates, *(other for _, other in found.overlaps))}
    found.live_ranges = _find_live_ranges(assigned, paths)
    return found


def build_row_id_conflict_rows(
    conflicts: Conflicts, suspended: EnablementHistory, version: int
) -> list[dict[str, Any]]:
    """Return the rows of `row_id_conflicts`: files that are assigned ids of other files.

    A path that is added again with the same ids is one file. Ids that a file once had must not be assigned again,
    unless the feature was dropped since; reserved ids below the high-water mark may be assigned later.

    Args:
        conflicts: candidates, and the files that overlap them in any range of row ids.
        suspended: versions at which support or suspension of row tracking changed.
        version: the validated version.
    """
    supported, is_suspended = get_enablement_at(suspended, version)
    judged_version = version if supported and not is_suspended else None
    found: dict[tuple[int, str, int], dict[str, Any]] = {}
    for index, other in conflicts.overlaps:
        candidate = conflicts.candidates[index]
        row = build_conflict(candidate, other, conflicts.live_ranges, judged_version)
        seen = found.setdefault((candidate["period"], row["path"], row["version"]), row)
        seen["other_is_live"] |= row["other_is_live"]
        seen["both_are_live"] |= row["both_are_live"]
    rows = row_id_conflicts.frame(list(found.values()))
    return rows.filter(has_state(suspended, supported=True, true=False)).to_dicts()


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
