"""View over high-water marks of row ids that a later commit replaced. The last mark is compared in `row_id_ranges`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.actions import DomainMetadata, RowIdHighWaterMark, WireStruct
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.revisions import Revision
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View
from deltaspec.views.files.row_ids import compute_last_row_id
from deltaspec.views.table.enablement import EnablementHistory

row_id_marks = View(
    name="row_id_marks",
    grain="high-water mark, or absence of one, that a later commit replaced, with a file that has ids above it; one "
    "row at the first version in which mark and file are in the table",
    key=(),
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "version": Column(pl.Int64, "version that states the mark, or that adds the file, whichever is later"),
        "last_row_id": Column(pl.Int64, "default row id of the last row of the file"),
        "high_water_mark": Column(pl.Int64, "the mark; null if there is none"),
        "replaced_in": Column(pl.Int64, "version that states the next mark, or drops the feature", shown=True),
    },
)


_FILE_ORDER = ("version", "last_row_id", "path_key")


class StatedMark(msgspec.Struct, frozen=True):
    """A high-water mark that applies from a version on."""

    version: int
    mark: int | None
    """None if the table has no mark."""
    file: str | None
    """Log file that states it; None if it states none."""


def collect_marks(
    actions: Iterable[tuple[int, str, WireStruct]], since: EnablementHistory, revision: Revision
) -> tuple[list[tuple[StatedMark, int, int]], StatedMark, bool]:
    """Return the marks that were replaced while row ids were supported, and the last one.

    Args:
        actions: version, log file and table action in ascending order.
        since: versions at which support of row ids changed.
        revision: protocol revision, which defines where the mark is.

    Returns:
        Each mark with the version that replaces it and the first version of the uninterrupted support; the mark that
        no version replaces; and whether all marks can be read.
    """
    stated: dict[int, StatedMark] = {}
    is_readable = True
    for version, file, action in actions:
        if revision.since(Revision.R3):  # [Changed in r3] from a separate action to a domain
            if not isinstance(action, DomainMetadata) or action.domain != row_tracking.DOMAIN:
                continue
            mark = None if action.removed else row_tracking.parse_high_water_mark(action.configuration)
            is_readable &= action.removed or mark is not None
            stated[version] = StatedMark(version, mark, file)
        elif isinstance(action, RowIdHighWaterMark):
            stated[version] = StatedMark(version, action.high_water_mark, file)
    supported = {version: is_supported for version, is_supported, _ in since}
    found: list[tuple[StatedMark, int, int]] = []
    current, start = StatedMark(0, None, None), None
    for version in sorted({*stated, *supported}):
        is_supported = supported.get(version, start is not None)
        if start is not None and (version in stated or not is_supported):
            found.append((current, version, start))
        current = stated.get(version, current)
        start = None if not is_supported else version if start is None else start
        if start == version and version not in stated:
            current = StatedMark(version, current.mark, None)
    return found, current, is_readable


def move_to_mark(rows: pl.DataFrame, last: StatedMark) -> pl.DataFrame:
    """Return rows of `row_id_ranges` so that the high-water mark is judged at the version that makes it too low.

    If a commit lowered or removed the mark after a file was added, a further row at that commit compares the two.
    """
    if last.file is None:
        return rows
    is_wrong = (pl.col("last_row_id") > pl.col("high_water_mark")) | ~pl.col("has_high_water_mark")
    is_later = ((pl.col("version") < last.version) & is_wrong).fill_null(False)
    unknown = {"previous_last_row_id": None, "line": None}
    moved = rows.filter(is_later).with_columns(
        version=pl.lit(last.version, pl.Int64),
        file=pl.lit(last.file),
        **{name: pl.lit(value, rows.schema[name]) for name, value in unknown.items()},
    )
    without_mark = {name: pl.when(~is_later).then(pl.col(name)) for name in ("high_water_mark", "has_high_water_mark")}
    return pl.concat([rows.with_columns(**without_mark), moved])


def find_files_above_marks(
    intervals: pl.DataFrame, marks: Sequence[tuple[StatedMark, int, int]]
) -> dict[int, dict[str, Any]]:
    """Return the first file that has ids above each mark, by index of the mark; none for most marks.

    Args:
        intervals: adds and removes of some paths, from `build_intervals`.
        marks: result of `collect_marks`.
    """
    base, rows = pl.col("base_row_id"), pl.col("num_records")
    last = compute_last_row_id()
    adds = intervals.filter((pl.col("kind") == "add") & (base >= 0) & (rows > 0)).with_columns(last_row_id=last)
    adds = adds.select("version", "last_row_id", "path_key", "path", "file", "line").sort(*_FILE_ORDER)
    by_start: dict[int, list[int]] = defaultdict(list)
    for index, (_, _, start) in enumerate(marks):
        by_start[start].append(index)
    found = {}
    for start, indexes in by_start.items():
        end = marks[indexes[-1]][1]
        first, last_one = (adds["version"].search_sorted(version, side="left") for version in (start, end))
        assigned = adds.slice(first, last_one - first)
        lowest = pl.Series([-1 if (mark := marks[index][0].mark) is None else mark for index in indexes])
        positions = assigned["last_row_id"].cum_max().search_sorted(lowest, side="right")
        for index, position in zip(indexes, positions.to_list(), strict=True):
            if position < len(assigned):
                found[index] = assigned.row(position, named=True)
    return found


def merge_files_above_marks(
    one: dict[int, dict[str, Any]], two: dict[int, dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Return the first files of both results of `find_files_above_marks`."""
    return {
        index: min(
            (files[index] for files in (one, two) if index in files),
            key=lambda file: [file[name] for name in _FILE_ORDER],
        )
        for index in one.keys() | two.keys()
    }


def build_row_id_mark_rows(
    files: Mapping[int, dict[str, Any]], marks: Sequence[tuple[StatedMark, int, int]]
) -> list[dict[str, Any]]:
    """Return the rows of `row_id_marks`.

    Args:
        files: from `find_files_above_marks`, merged over all paths.
        marks: result of `collect_marks`.
    """
    found = []
    for index, file in sorted(files.items()):
        mark, replaced_in, _ = marks[index]
        if file["version"] >= replaced_in:
            continue
        is_stated_later = mark.version > file["version"] and mark.file is not None
        found.append(
            {
                "version": max(mark.version, file["version"]),
                "file": mark.file if is_stated_later else file["file"],
                "line": None if is_stated_later else file["line"],
                "path": file["path"] or file["path_key"],
                "last_row_id": file["last_row_id"],
                "high_water_mark": mark.mark,
                "replaced_in": replaced_in,
            }
        )
    return found
