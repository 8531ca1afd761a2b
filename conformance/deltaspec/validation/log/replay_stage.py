"""The stage of the log: what the file actions of a share say, each path beside its other actions and beside claims."""

from __future__ import annotations

import polars as pl

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import Run
from deltaspec.validation.buckets import Buckets, BucketWriter, RowsByTag
from deltaspec.validation.data.row_id_checks import check_row_id_ranges, may_have_row_ids
from deltaspec.validation.log.added_vector_checks import check_added_vectors
from deltaspec.validation.log.adds_without_stats_checks import check_adds_without_stats
from deltaspec.validation.log.row_id_history_checks import build_suspension_history, find_table_replacements
from deltaspec.validation.log.type_change_checks import older_files
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.file_history_rows import build_commit_file_history
from deltaspec.views.files.file_replay import (
    DATA_REPLAY_COLUMNS,
    REPLAY_COLUMNS,
    build_empty_replay_frame,
    build_intervals,
    find_live_files,
)
from deltaspec.views.files.rearrangements import (
    build_rearrangement_rows,
    filter_rearrangement_candidates,
    rearrangements,
)
from deltaspec.views.files.snapshot import build_snapshot_rows, snapshot_files
from deltaspec.views.log.checkpoint_parts import split_paths

REPLAY_ROWS, CDC_ROWS, ADDS_WITHOUT_STATS_ROWS, VECTORS, DERIVED_ROWS = (
    "chain",
    "cdcs",
    "bare adds",
    "vectors",
    "claim ",
)
"""Tags of the rows that reading the log gives: adds and removes, cdc actions, adds whose statistics leave out what is
asked, descriptors that data levels look into, and, with its name behind it, each claim's file actions."""
INTERVAL_ROWS, REARRANGED, WITH_ROW_IDS = "spanned", "rearranged", "with row ids"
"""Tags of what the stage hands on: adds and removes with the versions they are in force."""


def replay_and_check(run: Run, buckets: Buckets) -> Aggregates:
    """Replay the file actions of every share and look at them, and then at what shares have to be put together for."""
    aggregates = buckets.run_stage(check_paths, run, (REPLAY_ROWS, CDC_ROWS, ADDS_WITHOUT_STATS_ROWS, DERIVED_ROWS))
    buckets.drop((REPLAY_ROWS, ADDS_WITHOUT_STATS_ROWS, DERIVED_ROWS))
    if run.replay_blocked_reason is not None:
        run.findings.mark_undecided((rearrangements,), run.replay_blocked_reason)
    elif aggregates.rearranging and run.findings.has_rules_for(rearrangements):
        buckets.run_stage(_look_at_rearrangements, run, (REARRANGED,), in_one_bucket=True)
    buckets.run_stage(_look_at_row_ids, run, (WITH_ROW_IDS,), in_one_bucket=True)
    buckets.drop((REARRANGED, WITH_ROW_IDS))
    return aggregates


def check_paths(run: Run, frames: RowsByTag, deal: BucketWriter) -> Aggregates:
    """Replay a share of the log. A `Stage`."""
    empty = build_empty_replay_frame(REPLAY_COLUMNS if run.level == "log" else DATA_REPLAY_COLUMNS)
    chain, cdcs = frames.pop(REPLAY_ROWS, empty), frames.get(CDC_ROWS, empty)
    aggregates = Aggregates()
    if run.state.unknown_reader_features == [] and run.findings.has_rules_for(file_history):
        history = build_commit_file_history(chain, cdcs, build_suspension_history(run), find_table_replacements(run))
        run.findings.evaluate(file_history, history)
    check_added_vectors(run, chain)
    check_adds_without_stats(run, chain, frames.get(ADDS_WITHOUT_STATS_ROWS))
    intervals = build_intervals(chain, run.revision)
    for derived_file in run.derived_files:
        derived_file.compare_bucket(run, intervals, frames.get(derived_file.tag, empty), aggregates)
    for tag, parts in run.multipart.items():
        aggregates.split_paths[tag] += split_paths(chain if tag == REPLAY_ROWS else frames.get(tag, empty), parts)
    if run.findings.has_rules_for(snapshot_files):
        live = find_live_files(intervals, run.plan.version)
        run.findings.evaluate(snapshot_files, build_snapshot_rows(live, run.plan.version))
    aggregates.older_files = older_files(run, intervals)
    aggregates.add_commits(intervals)
    _hand_on(run, intervals, aggregates, deal)
    return aggregates


def _hand_on(run: Run, intervals: pl.DataFrame, aggregates: Aggregates, deal: BucketWriter) -> None:
    """What later stages look at, as far as the table and the level ask for it."""
    is_only = run.bucket_count == 1
    if (
        run.replay_blocked_reason is None
        and run.findings.has_rules_for(rearrangements)
        and (aggregates.rearranging or not is_only)
    ):
        deal(REARRANGED, intervals if is_only else _narrow(filter_rearrangement_candidates(intervals)))
    if may_have_row_ids(run):
        deal(WITH_ROW_IDS, intervals if is_only else _narrow(intervals))
    if run.level != "log" and run.replay_blocked_reason is None:
        deal(INTERVAL_ROWS, intervals)


def _narrow(intervals: pl.DataFrame) -> pl.DataFrame:
    """The rows without their longest texts, of which no stage that puts shares together has a use."""
    return intervals.select(*REPLAY_COLUMNS, "until").with_columns(
        pl.lit(None, REPLAY_COLUMNS[name]).alias(name) for name in ("stats", "partition_text")
    )


def _look_at_rearrangements(run: Run, frames: RowsByTag, _: BucketWriter) -> Aggregates:
    if REARRANGED in frames:
        run.findings.evaluate(rearrangements, build_rearrangement_rows(frames[REARRANGED]))
    return Aggregates()


def _look_at_row_ids(run: Run, frames: RowsByTag, _: BucketWriter) -> Aggregates:
    empty = build_empty_replay_frame(REPLAY_COLUMNS).with_columns(until=pl.lit(None, pl.Int64))
    check_row_id_ranges(run, frames.get(WITH_ROW_IDS, empty))
    return Aggregates()
