"""Check the row ids that the log assigns to files."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.features import row_tracking
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.bucketing import find_keys_of_buckets
from deltaspec.validation.buckets import Buckets, PutRows, RowsByTag, StageOutput
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.row_id_history_checks import (
    build_suspension_history,
    check_row_id_history,
    check_row_id_history_of_paths,
    collect_marks_of_log,
)
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.files.row_id_history import (
    build_row_id_conflict_rows,
    find_conflict_candidates,
    find_overlaps,
    new_row_ids,
    row_id_commits,
    row_id_conflicts,
    row_id_states,
    select_assigned_files,
)
from deltaspec.views.files.row_id_marks import move_to_mark, row_id_marks
from deltaspec.views.files.row_ids import (
    build_row_id_ranges,
    compute_last_row_id,
    find_removed_files_above_mark,
    row_id_columns,
    row_id_files,
    row_id_ranges,
    row_id_rewrites,
)
from deltaspec.views.table.enablement import EnablementHistory

WITH_ROW_IDS = "with row ids"
"""Tag of adds of a table that supports row ids, by path."""
_BY_RANGE = "by range of row ids"
_RANGE_COLUMNS = (
    "source",
    "file",
    "version",
    "line",
    "kind",
    "path",
    "path_key",
    "num_records",
    "base_row_id",
    "default_row_commit_version",
    "until",
)
_MAX_SAMPLED = 64
"""Number of base row ids of a bucket from which the ranges are chosen."""

_ROW_ID_VIEWS = (
    row_id_files,
    row_id_rewrites,
    row_id_ranges,
    row_id_columns,
    row_id_commits,
    row_id_states,
    row_id_marks,
    new_row_ids,
    row_id_conflicts,
)
_HIGH_WATER_MARK_RULES = ("RID002", "RID003", "RID009")
"""Rules that need the high-water mark."""


def check_row_ids_of_paths(
    facts: LogFacts, findings: Findings, intervals: pl.DataFrame, put: PutRows, aggregates: Aggregates
) -> None:
    """Check the row ids of some paths, and pass on what `check_row_ids` needs.

    Args:
        facts: of the log.
        findings: receives what is found.
        intervals: adds and removes of these paths, from `build_intervals`.
        put: receives the adds.
        aggregates: of these paths.
    """
    state = facts.state
    is_known = state.protocol_known and state.metadata_known and facts.replay_blocked_reason is None
    suspended = build_suspension_history(facts)
    if not is_known or not any(supported for _, supported, _ in suspended):
        return
    check_row_id_history_of_paths(facts, findings, intervals, aggregates)
    adds = intervals.filter(pl.col("kind") == "add").select(_RANGE_COLUMNS)
    put(WITH_ROW_IDS, adds)
    bases = adds["base_row_id"].drop_nulls()
    aggregates.sampled_row_ids = bases.gather_every(len(bases) // _MAX_SAMPLED + 1).to_list()
    mark, _ = state.high_water_mark
    if mark is not None and _assigns_row_ids(facts):
        live = find_live_files(intervals, facts.plan.version)
        _, last_mark, _ = collect_marks_of_log(facts, suspended)
        removed = find_removed_files_above_mark(intervals, live, mark, suspended)
        findings.evaluate(row_id_ranges, move_to_mark(removed, last_mark))


def check_row_ids(facts: LogFacts, findings: Findings, buckets: Buckets, aggregates: Aggregates) -> None:
    """Check the row ids in the log, if a version of the validated history supports row tracking.

    Files whose ids are compared are put together by ranges of base row ids. The highest id before each range decides
    about the files at its border.

    Args:
        facts: of the log.
        findings: receives what is found.
        buckets: with the rows of all paths.
        aggregates: of all paths.
    """
    state, revision = facts.state, facts.options.revision
    if not state.protocol_known or not state.metadata_known:
        if state.supports(row_tracking.get_feature_name(revision)) is not False:
            reason, file = state.lost_cause or ("the protocol and the metadata are not known", None)
            findings.mark_undecided(_ROW_ID_VIEWS, reason, file)
        return
    check_row_id_history(facts, findings, aggregates)
    if facts.replay_blocked_reason is not None:
        return  # the checks of the history report it
    if _assigns_row_ids(facts) and state.high_water_mark[1] is None:
        for code in _HIGH_WATER_MARK_RULES:
            findings.mark_rule_undecided(code, "an action that may contain the high-water mark cannot be decoded")
    tag, ranges = WITH_ROW_IDS, RowIdRanges()
    if buckets.count > 1:
        tag, ranges = _BY_RANGE, RowIdRanges(choose_borders(aggregates.sampled_row_ids, buckets.count))
        split = buckets.run_stage(_SplitByRange(ranges), facts, findings, (WITH_ROW_IDS,))
        ranges.set_highest(split.highest_row_ids)
    conflicts = buckets.run_stage(_CheckRanges(tag, ranges), facts, findings, (tag,)).row_id_conflicts
    if conflicts.candidates:
        conflicts.merge(
            buckets.run_stage(_FindOverlaps(tag, conflicts.candidates), facts, findings, (tag,)).row_id_conflicts
        )
        rows = build_row_id_conflict_rows(conflicts, build_suspension_history(facts), facts.plan.version)
        findings.evaluate_rows(row_id_conflicts, rows)
    buckets.drop((WITH_ROW_IDS, _BY_RANGE))


def _assigns_row_ids(facts: LogFacts) -> bool:
    """Return whether the validated version assigns row ids."""
    state = facts.state
    if state.protocol is None or state.metadata is None:
        return False
    return row_tracking.assigns_row_ids(state.protocol, state.metadata, facts.options.revision)


def choose_borders(sampled: list[int], count: int) -> list[int]:
    """Return at most `count - 1` row ids that divide some sampled ones into ranges of about the same size."""
    ordered = sorted(set(sampled))
    step = max(1, len(ordered) // count)
    return ordered[step::step][: count - 1]


class RowIdRanges(msgspec.Struct):
    """Ranges of base row ids: one for all ids, or one for each bucket."""

    borders: list[int] = msgspec.field(default_factory=list)
    """Ascending; each is the first id of a range."""
    highest_before: dict[int | None, list[int | None]] = msgspec.field(default_factory=dict)
    """Highest row id of all files before each range, by period of support; None: of live files."""

    def find_numbers(self, rows: pl.DataFrame) -> pl.Series:
        """Return the number of the range of each row. Files without ids are in the last one."""
        numbers = pl.Series(self.borders, dtype=pl.Int64).search_sorted(rows["base_row_id"], side="right")
        return pl.select(pl.when(rows["base_row_id"].is_null()).then(len(self.borders)).otherwise(numbers)).to_series()

    def set_highest(self, highest: dict[tuple[int | None, int], int]) -> None:
        """Set `highest_before` from the highest row ids by period and range."""
        for period in {period for period, _ in highest}:
            before: list[int | None] = [None]
            for number in range(len(self.borders)):
                known = [each for each in (before[-1], highest.get((period, number))) if each is not None]
                before.append(max(known, default=None))
            self.highest_before[period] = before

    def get_highest_before(self, number: int) -> dict[int | None, int]:
        """Return the highest row ids before a range by period, as far as there are any."""
        found = {period: before[number] for period, before in self.highest_before.items()}
        return {period: highest for period, highest in found.items() if highest is not None}


class _SplitByRange(msgspec.Struct, frozen=True):
    """The stage that puts files into the bucket of their range."""

    ranges: RowIdRanges

    def __call__(self, facts: LogFacts, _: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
        if WITH_ROW_IDS not in rows:
            return Aggregates()
        files = rows[WITH_ROW_IDS]
        numbers = self.ranges.find_numbers(files)
        keys = find_keys_of_buckets(facts.bucket_count)
        output.put(_BY_RANGE, files, keys.gather(numbers))
        numbered = files.with_columns(_range=numbers)
        live = find_live_files(numbered, facts.plan.version).filter(
            (pl.col("base_row_id") >= 0) & (pl.col("num_records") > 0)
        )
        groups = pl.concat(
            [
                live.select("_range", period=pl.lit(None, pl.Int64), last_row_id=compute_last_row_id()),
                select_assigned_files(numbered, build_suspension_history(facts)).select(
                    "_range", pl.col("period").cast(pl.Int64), "last_row_id"
                ),
            ]
        )
        highest = groups.group_by("period", "_range").agg(pl.col("last_row_id").max())
        return Aggregates(highest_row_ids={(period, number): last for period, number, last in highest.iter_rows()})


class _CheckRanges(msgspec.Struct, frozen=True):
    """The stage that checks the files of ranges."""

    tag: str
    ranges: RowIdRanges

    def __call__(self, facts: LogFacts, findings: Findings, rows: RowsByTag, _: StageOutput) -> Aggregates:
        found = Aggregates()
        if self.tag not in rows:
            return found
        files = rows[self.tag].with_columns(_range=self.ranges.find_numbers(rows[self.tag]))
        suspended = build_suspension_history(facts)
        for part in files.partition_by("_range") if self.ranges.borders else [files]:
            highest = self.ranges.get_highest_before(part["_range"][0]) if len(part) else {}
            if _assigns_row_ids(facts):
                self._check_live_files(facts, findings, part, suspended, highest.pop(None, None))
            if findings.has_rules_for(row_id_conflicts):
                periods = {period: last for period, last in highest.items() if period is not None}
                found.row_id_conflicts.merge(find_conflict_candidates(select_assigned_files(part, suspended), periods))
        return found

    def _check_live_files(
        self,
        facts: LogFacts,
        findings: Findings,
        files: pl.DataFrame,
        suspended: EnablementHistory,
        highest_before: int | None,
    ) -> None:
        mark, has_high_water_mark = facts.state.high_water_mark
        live = find_live_files(files, facts.plan.version)
        _, last_mark, _ = collect_marks_of_log(facts, suspended)
        ranges = build_row_id_ranges(live, mark, has_high_water_mark=has_high_water_mark, highest_before=highest_before)
        findings.evaluate(row_id_ranges, move_to_mark(ranges, last_mark))


class _FindOverlaps(msgspec.Struct, frozen=True):
    """The stage that finds the files with the same ids as candidates."""

    tag: str
    candidates: list[dict[str, Any]]

    def __call__(self, facts: LogFacts, _: Findings, rows: RowsByTag, __: StageOutput) -> Aggregates:
        if self.tag not in rows:
            return Aggregates()
        assigned = select_assigned_files(rows[self.tag], build_suspension_history(facts))
        return Aggregates(row_id_conflicts=find_overlaps(assigned, self.candidates))
