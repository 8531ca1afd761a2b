"""The stage of the log: replay the file actions of a bucket, and compare them with derived files."""

from __future__ import annotations

from functools import cache

import polars as pl

from deltaspec.validation.aggregates import Aggregates, PathSample
from deltaspec.validation.buckets import Buckets, RowsByTag, StageOutput
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.added_vector_checks import check_added_vectors
from deltaspec.validation.log.adds_without_stats_checks import check_adds_without_stats
from deltaspec.validation.log.derived_file_comparison import compare_derived_file
from deltaspec.validation.log.derived_file_types import CompactionFileActions
from deltaspec.validation.log.earlier_commit_checks import check_earlier_files
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.null_column_checks import check_null_columns
from deltaspec.validation.log.outdated_file_checks import collect_outdated_files
from deltaspec.validation.log.row_id_history_checks import build_suspension_history, find_table_replacements
from deltaspec.validation.log.row_id_range_checks import check_row_ids, check_row_ids_of_paths
from deltaspec.validation.log.type_change_checks import find_files_before_type_changes
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.file_history_rows import build_commit_file_history, find_shared_paths
from deltaspec.views.files.file_replay import (
    DATA_REPLAY_COLUMNS,
    REPLAY_COLUMNS,
    build_empty_replay_frame,
    build_intervals,
    find_live_files,
    flag_paths_changed_after,
)
from deltaspec.views.files.idle_removes import build_idle_remove_rows, idle_removes
from deltaspec.views.files.rearrangements import (
    build_rearrangement_rows,
    rearrangements,
    sum_rearranged_rows,
)
from deltaspec.views.files.snapshot import build_snapshot_rows, snapshot_files
from deltaspec.views.log.checkpoint_parts import split_paths
from deltaspec.wire.storage.data_access import find_non_canonical_keys

REPLAY_ROWS = "adds and removes"
"""Tag of the adds and removes of the validated history."""
CDC_ROWS = "cdc actions"
EARLIER_ROWS = "adds and removes of earlier commits"
"""Tag of the adds and removes of the commits up to the base, which are not replayed."""
EARLIER_CDC_ROWS = "cdc actions of earlier commits"
ADDS_WITHOUT_STATS_ROWS = "adds without statistics"
VECTORS = "deletion vectors"
"""Tag of deletion-vector descriptors, which levels above `log` check."""
DERIVED_ROWS = "derived file "
"""Prefix of the tags of derived files; their names follow."""
REPLAYED_TAGS = (REPLAY_ROWS, ADDS_WITHOUT_STATS_ROWS, EARLIER_ROWS, EARLIER_CDC_ROWS, DERIVED_ROWS)
"""Tags of the rows that only this stage reads."""
INTERVAL_ROWS = "intervals"
"""Tag of adds and removes with the versions in which they are valid, which the stage produces."""


def replay_and_check(facts: LogFacts, findings: Findings, buckets: Buckets) -> Aggregates:
    """Replay and check the file actions of every bucket, then run the checks that need rows of all buckets."""
    aggregates = buckets.run_stage(check_paths, facts, findings, (CDC_ROWS, *REPLAYED_TAGS))
    buckets.drop(REPLAYED_TAGS)
    if facts.replay_blocked_reason is not None:
        findings.mark_undecided((rearrangements,), facts.replay_blocked_reason, facts.replay_blocked_file)
    elif aggregates.rearranged_rows is not None:
        findings.evaluate(rearrangements, build_rearrangement_rows(aggregates.rearranged_rows))
    check_row_ids(facts, findings, buckets, aggregates)
    return aggregates


def check_paths(facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
    """Replay and check the file actions of a bucket. A `Stage`."""
    empty = build_empty_replay_frame(REPLAY_COLUMNS if facts.options.level == "log" else DATA_REPLAY_COLUMNS)
    chain, cdcs = rows.pop(REPLAY_ROWS, empty), rows.get(CDC_ROWS, empty)
    shared = find_shared_paths(chain, cdcs)
    aggregates = Aggregates()
    if facts.state.unknown_reader_features == [] and findings.has_rules_for(file_history):
        suspensions, replacements = build_suspension_history(facts), find_table_replacements(facts)
        findings.evaluate(file_history, build_commit_file_history(chain, cdcs, suspensions, replacements, shared))
    earlier_empty = build_empty_replay_frame()
    earlier = rows.pop(EARLIER_ROWS, earlier_empty)
    wrong_in_base = check_earlier_files(facts, findings, earlier, rows.pop(EARLIER_CDC_ROWS, earlier_empty), chain)
    aggregates.wrong_base_files = len(wrong_in_base)
    check_added_vectors(facts, findings, chain)
    check_adds_without_stats(facts, findings, chain, rows.get(ADDS_WITHOUT_STATS_ROWS))
    intervals = build_intervals(chain, facts.options.revision, shared.head(len(chain)))

    @cache
    def build_commit_intervals() -> pl.DataFrame:
        commits = chain.filter(pl.col("source") == "commit").select(list(REPLAY_COLUMNS))
        return build_intervals(pl.concat([earlier, commits]), facts.options.revision)

    is_known = ~pl.col("path_key").is_in(wrong_in_base.implode())
    for derived in facts.derived_files:
        derived_rows, replayed = rows.get(derived.tag, empty), intervals
        if len(wrong_in_base) and not isinstance(
            derived, CompactionFileActions
        ):  # a compaction is compared with commits
            derived_rows, replayed = derived_rows.filter(is_known), intervals.filter(is_known)
        compare_derived_file(derived, facts, findings, replayed, build_commit_intervals, derived_rows, aggregates)
    for tag, parts in facts.multipart.items():
        aggregates.split_paths[tag] += split_paths(chain if tag == REPLAY_ROWS else rows.get(tag, empty), parts)
    if findings.has_rules_for(snapshot_files):
        live = find_live_files(intervals, facts.plan.version)
        findings.evaluate(snapshot_files, build_snapshot_rows(live, facts.plan.version))
    if facts.replay_blocked_reason is None and findings.has_rules_for(idle_removes):
        findings.evaluate(idle_removes, build_idle_remove_rows(intervals))
    check_null_columns(facts, findings, intervals)
    aggregates.outdated_files = collect_outdated_files(facts, findings, intervals)
    find_files_before_type_changes(facts, findings, intervals, aggregates)
    aggregates.add_commits(intervals)
    _put_for_later_stages(facts, findings, intervals, aggregates, output)
    return aggregates


def _put_for_later_stages(
    facts: LogFacts, findings: Findings, intervals: pl.DataFrame, aggregates: Aggregates, output: StageOutput
) -> None:
    """Pass on the rows and totals that later steps need for this table and level."""
    is_only_bucket = facts.bucket_count == 1
    if findings.has_rules_for(rearrangements) and facts.replay_blocked_reason is None:
        aggregates.rearranged_rows = sum_rearranged_rows(intervals, is_complete=is_only_bucket)
    check_row_ids_of_paths(facts, findings, intervals, output.put, aggregates)
    if facts.options.level == "log":
        return
    if facts.since is None:
        output.put(INTERVAL_ROWS, intervals)
        if not is_only_bucket:
            live = find_live_files(intervals, facts.plan.version)["path_key"]
            aggregates.live_paths = PathSample.of(live.filter(~find_non_canonical_keys(live)))
    else:
        is_changed = flag_paths_changed_after(intervals, facts.since.version)
        aggregates.skipped_files = len(find_live_files(intervals.filter(~is_changed), facts.plan.version))
        output.put(INTERVAL_ROWS, intervals.filter(is_changed))
