"""Compare the file actions of derived files with replay, one bucket at a time.

The file actions of a derived file are in the same buckets as the file actions of the validated history. After all
buckets, `deltaspec.validation.log.derived_files` checks each derived file as a unit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import polars as pl

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.derived_file_types import (
    CheckpointFileActions,
    ChecksumFileActions,
    CompactionFileActions,
    DerivedFileActions,
)
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.file_history_rows import build_derived_file_history
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.log.checkpoints import replay_differences
from deltaspec.views.log.derived_file_rows import LiveFileTotals, all_files_fault
from deltaspec.views.log.replay_differences import Row, compare_files
from deltaspec.wire.log.checkpoint_summary import SHORTEST_STATISTICS

_LEFT_OUT_REASON = (
    "its tombstones and transactions that the checkpoint at the start of the history may have left out as expired"
)
_INTERVAL_COLUMNS = ("kind", "version", "until")


def evaluate_differences(findings: Findings, differences: list[Row]) -> None:
    """Evaluate the rules over differences, and record the files with differences that no file of the log can decide.

    An action that only the derived file has may be missing from the base because it had expired. If two checkpoints
    have the same version, either may be the younger one.
    """
    findings.evaluate_rows(replay_differences, differences)
    for each in differences:
        if each["difference"] == "extra" and each["may_have_expired"] and each["compared_with"] is None:
            findings.partly_compared[each["file"]] = _LEFT_OUT_REASON


def compare_derived_file(
    derived: DerivedFileActions,
    facts: LogFacts,
    findings: Findings,
    intervals: pl.DataFrame,
    commit_intervals: Callable[[], pl.DataFrame],
    rows: pl.DataFrame,
    aggregates: Aggregates,
) -> None:
    """Compare one bucket of a derived file with replay.

    Args:
        derived: the derived file.
        facts: of the log.
        findings: receives the differences.
        intervals: adds and removes of the bucket, from `build_intervals`.
        commit_intervals: returns the intervals of all commits that were read, without the base.
        rows: file actions of the derived file in the bucket.
        aggregates: receives the totals over all buckets.
    """
    match derived:
        case CheckpointFileActions():
            _compare_checkpoint(derived, facts, findings, intervals, rows, aggregates)
        case CompactionFileActions():
            base = facts.plan.base
            is_replayed = facts.plan.is_replayed(derived.start) and (base is None or derived.start > base.version)
            _compare_compaction(derived, facts, findings, intervals if is_replayed else commit_intervals(), rows)
        case ChecksumFileActions():
            _compare_checksum(derived, facts, findings, intervals, rows, aggregates)


def _compare_checkpoint(
    checkpoint: CheckpointFileActions,
    facts: LogFacts,
    findings: Findings,
    intervals: pl.DataFrame,
    rows: pl.DataFrame,
    aggregates: Aggregates,
) -> None:
    findings.evaluate(file_history, build_derived_file_history(rows))
    if not checkpoint.is_complete or facts.replay_blocked_reason is not None:
        return
    version = checkpoint.derived_file.version
    live = find_live_files(intervals, version)
    with_stats = live.filter(pl.col("stats").str.len_bytes() >= SHORTEST_STATISTICS).select("path_key")
    known = rows.filter(pl.col("kind") == "add").join(with_stats, on="path_key", how="semi")
    aggregates.adds_with_known_stats[checkpoint.tag].update(dict(known.group_by("file").len().iter_rows()))
    differences = compare_files(
        checkpoint.derived_file,
        rows,
        pl.concat([live, find_live_files(intervals, version, "remove")]),
        checkpoint.types,
        tombstones_complete=facts.plan.base is None,
        retention_cutoff_ms=checkpoint.retention_cutoff_ms,
        revision=facts.options.revision,
        columns=checkpoint.columns,
    )
    has_unknown_retention = facts.options.clock_ms is not None and checkpoint.retention_cutoff_ms is None
    for batch in differences:
        evaluate_differences(findings, batch)
        missing = (each["kind"] for each in batch if each["difference"] == "missing")
        if has_unknown_retention and "remove" in missing:
            findings.mark_rule_undecided(
                "CKP050", "it is not known how long tombstones are kept", checkpoint.derived_file.file
            )


def _compare_compaction(
    compaction: CompactionFileActions,
    facts: LogFacts,
    findings: Findings,
    intervals: pl.DataFrame,
    rows: pl.DataFrame,
) -> None:
    findings.evaluate(file_history, build_derived_file_history(rows))
    if not compaction.is_comparable or facts.replay_blocked_reason is not None:
        return
    end = compaction.derived_file.version
    within = pl.col("version").is_between(compaction.start, end) & (pl.col("source") == "commit")
    ends_later = pl.col("until").is_null() | (pl.col("until") > end)
    differences = compare_files(
        compaction.derived_file,
        rows,
        intervals.filter(within & ends_later).drop("until"),
        compaction.types,
        tombstones_complete=True,
        revision=facts.options.revision,
    )
    for batch in differences:
        findings.evaluate_rows(replay_differences, [{**row, "may_have_expired": False} for row in batch])


def _compare_checksum(
    checksum: ChecksumFileActions,
    facts: LogFacts,
    findings: Findings,
    intervals: pl.DataFrame,
    rows: pl.DataFrame,
    aggregates: Aggregates,
) -> None:
    """Add up the live files of the bucket, and compare `allFiles` with them."""
    version = checksum.derived_file.version
    is_known = facts.plan.is_replayed(version) and version in facts.compared_states
    if facts.replay_blocked_reason is not None or not is_known:
        return
    # the totals need few columns, and all columns of all live files take much memory
    live_columns = find_live_files(intervals.select(*_INTERVAL_COLUMNS, *LiveFileTotals.COLUMNS), version)
    totals = LiveFileTotals.from_files(live_columns, checksum.stated)
    aggregates.live[version] = aggregates.live[version] + totals if version in aggregates.live else totals
    if not checksum.lists_files:
        return
    if not facts.compares_files:
        findings.mark_rule_undecided("CRC007", "was overwritten after the log was listed", checksum.derived_file.file)
        return
    live = find_live_files(intervals, version)
    differences = compare_files(
        checksum.derived_file,
        rows,
        live,
        checksum.types,
        tombstones_complete=True,
        revision=facts.options.revision,
        columns=checksum.columns,
    )
    fault = all_files_fault(rows, chain.from_iterable(differences))
    if fault is not None:
        aggregates.all_files_faults[version] = min(fault, aggregates.all_files_faults.get(version, fault))
