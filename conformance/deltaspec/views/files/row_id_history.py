"""Views over row ids along the judged history: what commits say of them, and which files are given which."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import polars as pl

from deltaspec.model.actions import CommitInfo, RowIdHighWaterMark, WireStruct
from deltaspec.model.revisions import Revision
from deltaspec.model.rows import row_tracking
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View
from deltaspec.views.files.file_replay import has_shared_path
from deltaspec.views.files.row_ids import MAX_ID
from deltaspec.views.table.enablement import EnablementHistory, find_supported_since

RIVALS_LOOKED_AT = 200
"""Files with suspicious ids that are compared with all others; more of them would say the same."""

row_id_commits = View(
    name="row_id_commits",
    grain="judged commit after which the table supports row ids",
    key=("version",),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "its log file"),
        "enabled": Column(pl.Boolean, "row ids are enabled after it"),
        "file_actions": Column(pl.Int64, "its adds and removes"),
        "new_files": Column(
            pl.Int64, "paths that it adds and no version before knew; null where not all of those are judged"
        ),
        "may_copy_rows": Column(
            pl.Boolean, "it adds a path that no judged version before knew, and takes rows from another file"
        ),
        "high_water_marks": Column(pl.Int64, "its rowIdHighWaterMark actions; null where one cannot be decoded"),
        "table_has_high_water_mark": Column(pl.Boolean, "the judged version has a high-water mark"),
        "has_commit_info": Column(pl.Boolean, "it has a commitInfo; null where one cannot be decoded"),
        "rows_preserved": Column(
            pl.Boolean,
            "whether it says that rows that it updates or copies keep their ids, by the tag delta.rowTracking.preserved"
            " of commitInfo, in r1 by preservedRowIds of the mark; null where it says nothing",
        ),
    },
)

row_id_states = View(
    name="row_id_states",
    grain="version of the judged history in which support, enablement or suspension of row tracking may have changed",
    key=("version",),
    columns={
        "version": Column(pl.Int64, "the version"),
        "file": Column(pl.String, "log file that changed it"),
        "enabled": Column(pl.Boolean, "row tracking is supported and enabled"),
        "suspended": Column(pl.Boolean, "row tracking is supported and suspended"),
    },
)

new_row_ids = View(
    name="new_row_ids",
    grain="add of a commit to a table that supports row ids, whose path no judged version before knew",
    key=(),
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "suspended": Column(pl.Boolean, "row tracking is suspended after the commit"),
        "history_is_complete": Column(pl.Boolean, "all versions before are judged: the path is new to the table"),
    },
)

row_id_conflicts = View(
    name="row_id_conflicts",
    grain="add of a commit to a table that assigns row ids, with default ids that another path has or had",
    key=(),
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "last_row_id": Column(pl.Int64, "default id of the last row"),
        "other_path": Column(pl.String, "the path that was given them before, or by the same commit", shown=True),
        "other_is_live": Column(pl.Boolean, "there is a version in which that file and this one are live"),
        "both_are_live": Column(pl.Boolean, "both are live in the judged version"),
    },
)


@dataclass(frozen=True)
class StatedRowIds:
    """What one commit says of row ids; None where what says it cannot be decoded."""

    marks: int | None = None
    has_commit_info: bool | None = None
    rows_preserved: bool | None = None

    @classmethod
    def of(
        cls, actions: Iterable[tuple[int, WireStruct]], undecoded: set[str | None], revision: Revision
    ) -> "StatedRowIds":
        """Of the actions of a commit, with the kinds of those that could not be decoded (None: of whatever kind)."""
        if undecoded & {"commitInfo", "rowIdHighWaterMark", None}:
            return cls()
        told = [each for _, each in actions if isinstance(each, CommitInfo | RowIdHighWaterMark)]
        marks = sum(isinstance(each, RowIdHighWaterMark) for each in told)
        return cls(marks, len(told) > marks, row_tracking.read_preservation_statement(told, revision))


def in_force(since: EnablementHistory, *, supported: bool | None = None, true: bool | None = None) -> pl.Expr:
    """Whether, at the `version` of a row, the feature is supported or not and the property true or not, as asked."""
    found: pl.Expr = pl.lit(False)
    for version, is_supported, is_true in since:
        holds = supported in (None, is_supported) and true in (None, is_true)
        found = pl.when(pl.col("version") >= version).then(pl.lit(holds)).otherwise(found)
    return found


def flag_new_paths(intervals: pl.DataFrame) -> pl.DataFrame:
    """Adds and removes of commits, with `is_new`: no judged version before knew the path.

    Args:
        spanned: as `file_replay.spans` gives them, those of a base checkpoint among them.
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
    claims: Mapping[int, StatedRowIds],
    files: Mapping[int, str],
    *,
    enabled: EnablementHistory,
    has_high_water_mark: bool | None,
    whole: bool,
) -> pl.DataFrame:
    """Judged commits as the view `row_id_commits`.

    Args:
        changed: file actions of commits, as `flag_new_paths` gives them.
        claims: what each commit says.
        files: log file of each.
        enabled: since when row ids are supported, and enabled.
        has_high_water_mark: the judged version has a high-water mark; None where that is not known.
        whole: the judged history begins with version 0.
    """
    takes = (pl.col("kind") == "remove") | ~pl.col("is_new")
    counts = changed.group_by("version").agg(
        file_actions=pl.len().cast(pl.Int64),
        new_files=pl.col("is_new").sum().cast(pl.Int64),
        may_copy_rows=pl.col("is_new").any() & takes.any(),
    )
    frame = pl.DataFrame(
        {
            "version": list(claims),
            "file": [files[version] for version in claims],
            "high_water_marks": [each.marks for each in claims.values()],
            "has_commit_info": [each.has_commit_info for each in claims.values()],
            "rows_preserved": [each.rows_preserved for each in claims.values()],
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
        frame.filter(in_force(enabled, supported=True))
        .with_columns(
            enabled=in_force(enabled, supported=True, true=True),
            table_has_high_water_mark=pl.lit(has_high_water_mark, pl.Boolean),
            new_files=pl.col("new_files") if whole else pl.lit(None, pl.Int64),
        )
        .select(list(row_id_commits.columns))
    )


def build_new_row_id_rows(changed: pl.DataFrame, suspended: EnablementHistory, *, whole: bool) -> pl.DataFrame:
    """Return the rows of `new_row_ids`, one per add of a new path.

    Args:
        changed: file actions of commits, from `flag_new_paths`.
        suspended: versions at which support or suspension of row tracking changed.
        whole: whether the validated history starts at version 0.
    """
    rows = changed.filter(pl.col("is_new")).filter(in_force(suspended, supported=True))
    return rows.with_columns(
        path=pl.coalesce("path", "path_key"),
        suspended=in_force(suspended, supported=True, true=True),
        history_is_complete=pl.lit(whole),
    ).select(list(new_row_ids.columns))


def build_row_id_conflict_rows(
    intervals: pl.DataFrame, suspended: EnablementHistory, version: int
) -> list[dict[str, Any]]:
    """Files that are given ids of other files, as rows of the view `row_id_conflicts`.

    A path that is added again with its ids is one file. What a text reserves may be given later, below the mark; what
    a file once had may not, unless the feature was dropped since: then ids begin anew.

    Args:
        spanned: as `file_replay.spans` gives them.
        suspended: since when row ids are assigned: supported, and not suspended.
        version: the judged one.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = pl.when(base > MAX_ID - rows).then(pl.lit(MAX_ID)).otherwise(base + rows - 1)
    asked = (
        (pl.col("kind") == "add") & (base >= 0) & (rows > 0) & (pl.col("version") >= find_supported_since(suspended))
    )
    given = intervals.filter(asked).with_columns(last_row_id=last)
    if given.is_empty():
        return []
    several = has_shared_path(given)
    once = [pl.col(name).first() for name in ("version", "source", "file", "line", "path")]
    many = (
        given.filter(several).sort("version", "file", "line").group_by("path_key", "base_row_id", maintain_order=True)
    )
    names = ["path_key", "base_row_id", "version", "source", "file", "line", "path", "last_row_id"]
    first = many.agg(*once, last_row_id=pl.col("last_row_id").max())
    files = pl.concat([given.filter(~several).select(names), first.select(names)])
    files = files.sort("base_row_id", "version", "path_key").with_columns(
        previous_last_row_id=pl.col("last_row_id").cum_max().shift(1)
    )
    pairs = []
    for candidate in files.filter(base <= pl.col("previous_last_row_id")).head(RIVALS_LOOKED_AT).iter_rows(named=True):
        overlaps = (base <= candidate["last_row_id"]) & (pl.col("last_row_id") >= candidate["base_row_id"])
        others = files.filter(overlaps & (pl.col("path_key") != candidate["path_key"])).head(RIVALS_LOOKED_AT)
        pairs += [(candidate, other) for other in others.iter_rows(named=True)]
    if not pairs:
        return []
    lives = _lives(given, {each["path_key"] for pair in pairs for each in pair})
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for one, two in pairs:
        row = _rivals(one, two, lives, version)
        if row is not None:
            seen = found.setdefault((row["path"], row["version"]), row)
            seen["other_is_live"] |= row["other_is_live"]
            seen["both_are_live"] |= row["both_are_live"]
    frame = row_id_conflicts.frame(list(found.values()))
    return frame.filter(in_force(suspended, supported=True, true=False)).to_dicts()


_Lives = dict[tuple[str, int], list[tuple[int, float]]]


def _lives(given: pl.DataFrame, paths: set[str]) -> _Lives:
    """From which version to which the paths, each with a base row id, are live; the last is not one of them."""
    found: _Lives = {}
    rows = given.filter(pl.col("path_key").is_in(list(paths))).select("path_key", "base_row_id", "version", "until")
    for path, base, version, until in rows.iter_rows():
        found.setdefault((path, base), []).append((version, inf if until is None else until))
    return found


def _rivals(one: dict[str, Any], two: dict[str, Any], lives: _Lives, version: int) -> dict[str, Any] | None:
    """The newer of two files with the same ids beside the older; None where a checkpoint has both."""
    older, newer = sorted((one, two), key=lambda each: (each["version"], each["source"] == "commit", each["path_key"]))
    if newer["source"] != "commit":
        return None
    ours, theirs = (lives[each["path_key"], each["base_row_id"]] for each in (newer, older))
    return {
        **{name: newer[name] for name in ("version", "file", "line", "base_row_id", "last_row_id")},
        "path": newer["path"] or newer["path_key"],
        "other_path": older["path"] or older["path_key"],
        "other_is_live": any(a < d and c < b for a, b in ours for c, d in theirs),
        "both_are_live": all(any(a <= version < b for a, b in each) for each in (ours, theirs)),
    }
