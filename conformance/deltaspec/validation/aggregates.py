"""Totals that stages compute per bucket and add up. The order of the buckets does not matter."""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import add
from typing import Any

import msgspec
import polars as pl

from deltaspec.report.report_types import Hints, Inventory
from deltaspec.views.files.outdated_files import OutdatedFiles
from deltaspec.views.files.row_id_history import Conflicts
from deltaspec.views.files.row_id_marks import merge_files_above_marks
from deltaspec.views.log.derived_file_rows import LiveFileTotals

_MAX_LISTED = 20
"""Number of unreferenced files that an inventory lists, and of groups of files that hints list."""

_MAX_SAMPLED = 64

TableActionKey = tuple[str, str | None]
"""Kind of a table action, and its appId or domain."""


class PathSample(msgspec.Struct):
    """Some paths of live files, from which the listing of the table is split into parts."""

    files: int = 0
    """Number of files."""
    paths: list[str] = msgspec.field(default_factory=list)
    """Names in a listing, up to `_MAX_SAMPLED` of each bucket."""

    @classmethod
    def of(cls, paths: pl.Series) -> PathSample:
        """Choose paths at equal distances."""
        return cls(len(paths), paths.gather_every(len(paths) // _MAX_SAMPLED + 1).to_list())


class Aggregates(msgspec.Struct):
    """Totals of some buckets of one table."""

    live: dict[int, LiveFileTotals] = msgspec.field(default_factory=dict)
    """Totals of live files at the versions of checksums."""
    all_files_faults: dict[int, tuple[int, str, str]] = msgspec.field(default_factory=dict)
    """First difference between `allFiles` of a checksum and the live files: rank, path, description."""
    adds_with_known_stats: dict[str, Counter[str]] = msgspec.field(default_factory=lambda: defaultdict(Counter))
    """Number of adds per checkpoint file that have statistics in replay, by the tag of the checkpoint's rows."""
    split_paths: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of paths whose actions are in several parts of a checkpoint, by the same tag."""
    older_files: list[int] = msgspec.field(default_factory=list)
    """For each type change, the number of live files written while the column had the earlier type."""
    undated_type_changes: set[int] = msgspec.field(default_factory=set)
    """Versions of illegal type changes that files of the first checkpoint may contradict."""
    outdated_files: OutdatedFiles = msgspec.field(default_factory=dict)
    """Live files that a later state contradicts."""
    kinds: dict[int, set[str]] = msgspec.field(default_factory=lambda: defaultdict(set))
    """Kinds of the file actions of each commit."""
    rearranging: set[int] = msgspec.field(default_factory=set)
    """Versions of commits with a file action whose dataChange is false."""
    rearranged_rows: pl.DataFrame | None = None
    """Sums of `sum_rearranged_rows`; None if they are not needed, as the next one."""
    commit_actions: pl.DataFrame | None = None
    """Counts of `count_commit_actions`."""
    files_above_marks: dict[int, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Result of `find_files_above_marks`."""
    sampled_row_ids: list[int] = msgspec.field(default_factory=list)
    """Some base row ids of files."""
    highest_row_ids: dict[tuple[int | None, int], int] = msgspec.field(default_factory=dict)
    """Highest default row id by period of support and number of the range of ids; None: of live files."""
    row_id_conflicts: Conflicts = msgspec.field(default_factory=Conflicts)
    moving: set[int] = msgspec.field(default_factory=set)
    """Versions of actions that may move rows: removes, and those without dataChange or of a checkpoint."""
    value_blocks: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of blocks of consecutive numbers with values, by what is compared."""
    live_paths: PathSample = msgspec.field(default_factory=PathSample)
    listing_error: str | None = None
    """Why a part of the table could not be listed: the first reason in sort order."""
    needs_second_listing: bool = False
    """A bucket has more missing files than are confirmed one by one, and a second listing must confirm them."""
    inventory: Inventory | None = None
    skipped_files: int = 0
    """Number of live files that are not checked because an earlier report has checked them."""
    hints: Hints | None = None
    """Files with the same content; None if they were not looked for."""
    wrong_base_files: int = 0
    """Number of files whose state in the base contradicts earlier commits."""
    wrong_base_actions: set[TableActionKey] = msgspec.field(default_factory=set)
    """Table actions of the base that contradict earlier commits, found after all buckets."""
    stop_reason: str | None = None
    """Why an executor skipped buckets; None if it skipped none."""

    def merge(self, other: Aggregates) -> None:
        """Add the totals of other buckets."""
        for version, live in other.live.items():
            self.live[version] = self.live[version] + live if version in self.live else live
        for version, fault in other.all_files_faults.items():
            self.all_files_faults[version] = min(fault, self.all_files_faults.get(version, fault))
        for tag, counts in other.adds_with_known_stats.items():
            self.adds_with_known_stats[tag].update(counts)
        self.split_paths.update(other.split_paths)
        if self.older_files and other.older_files:
            self.older_files = list(map(add, self.older_files, other.older_files))
        else:
            self.older_files = self.older_files or other.older_files
        self.undated_type_changes |= other.undated_type_changes
        for change, (number, path, subject) in other.outdated_files.items():
            first = self.outdated_files.get(change, (0, path, subject))
            self.outdated_files[change] = (first[0] + number, *min(first[1:], (path, subject)))
        for each, kinds in other.kinds.items():
            self.kinds[each] |= kinds
        self.rearranging |= other.rearranging
        self.rearranged_rows = _add_totals(self.rearranged_rows, other.rearranged_rows)
        self.commit_actions = _add_totals(self.commit_actions, other.commit_actions)
        self.files_above_marks = merge_files_above_marks(self.files_above_marks, other.files_above_marks)
        self.moving |= other.moving
        self.value_blocks.update(other.value_blocks)
        self.sampled_row_ids += other.sampled_row_ids
        for key, highest in other.highest_row_ids.items():
            self.highest_row_ids[key] = max(highest, self.highest_row_ids.get(key, highest))
        self.row_id_conflicts.merge(other.row_id_conflicts)
        self.live_paths.files += other.live_paths.files
        self.live_paths.paths += other.live_paths.paths
        self.listing_error = min(filter(None, (self.listing_error, other.listing_error)), default=None)
        self.needs_second_listing |= other.needs_second_listing
        self.wrong_base_files += other.wrong_base_files
        self.skipped_files += other.skipped_files
        self.stop_reason = self.stop_reason or other.stop_reason
        if other.hints is not None:
            self.hints = other.hints if self.hints is None else merge_hints(self.hints, other.hints)
        if other.inventory is not None:
            self.inventory = (
                other.inventory if self.inventory is None else add_inventories(self.inventory, other.inventory)
            )

    def add_commits(self, intervals: pl.DataFrame) -> None:
        """Record which commits add, remove or rearrange files, from the adds and removes of a bucket."""
        written = intervals.filter(pl.col("source") == "commit")
        for version, kinds in written.group_by("version").agg(pl.col("kind").unique()).iter_rows():
            self.kinds[version] |= set(kinds)
        self.rearranging |= set(written.filter(~pl.col("data_change"))["version"].unique())
        moves = (pl.col("kind") == "remove") | ~pl.col("data_change").fill_null(False) | (pl.col("source") != "commit")
        self.moving |= set(intervals.filter(moves)["version"].unique())

    def list_reusing_versions(self) -> list[int]:
        """Return the versions that remove files or add known paths again, if `commit_actions` is known."""
        counts = self.commit_actions
        return [] if counts is None else counts.filter(pl.col("reused_files") > 0)["version"].to_list()

    @property
    def rewriting(self) -> list[int]:
        """Versions of the commits that both add and remove."""
        return sorted(version for version, kinds in self.kinds.items() if len(kinds) == 2)


def _add_totals(one: pl.DataFrame | None, two: pl.DataFrame | None) -> pl.DataFrame | None:
    """Add up the numbers of two frames with a row for each version."""
    if one is None or two is None or two.is_empty():
        return two if one is None else one
    numbers = [name for name in one.columns if name not in ("version", "file")]
    names = [pl.col("file").first()] if "file" in one.columns else []
    rows = pl.concat([one, two]).group_by("version").agg(*names, pl.col(numbers).sum())
    return rows.select(one.columns)


def merge_hints(one: Hints, two: Hints) -> Hints:
    """Return the hints of both, with the first groups."""
    return Hints(
        same_content=sorted([*one.same_content, *two.same_content], key=lambda each: each.paths)[:_MAX_LISTED],
        groups=one.groups + two.groups,
        files=one.files + two.files,
        compared=one.compared + two.compared,
        not_compared=one.not_compared + two.not_compared,
        reason=min(filter(None, (one.reason, two.reason)), default=None),
    )


def add_inventories(one: Inventory, two: Inventory) -> Inventory:
    """Return the sum of two inventories."""
    numbers = {
        name: getattr(one, name) + getattr(two, name)
        for name in one.__struct_fields__
        if name not in ("unreferenced", "is_complete")
    }
    named = sorted([*one.unreferenced, *two.unreferenced])[:_MAX_LISTED]
    return Inventory(**numbers, unreferenced=named, is_complete=one.is_complete and two.is_complete)
