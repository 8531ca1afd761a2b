"""Check the live files that a change of protocol or metadata leaves in an illegal state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.outdated_files import (
    OutdatedFiles,
    build_outdated_file_rows,
    find_outdated_files,
    outdated_files,
)

if TYPE_CHECKING:
    import polars as pl


def collect_outdated_files(facts: LogFacts, findings: Findings, intervals: pl.DataFrame) -> OutdatedFiles:
    """Return the live files of a bucket that later states contradict, if replay is not blocked.

    Args:
        facts: of the log.
        findings: has the rules of the run.
        intervals: adds and removes of a bucket, from `build_intervals`.
    """
    if facts.replay_blocked_reason is not None or not findings.has_rules_for(outdated_files):
        return {}
    history = facts.state.file_requirements
    found, has_undecided_values = find_outdated_files(
        intervals, history.changes, base_has_statistics=history.base_has_statistics
    )
    if has_undecided_values:
        reason = "partition columns change too often to compare every change with the partition values"
        findings.mark_undecided((outdated_files,), reason)
    return found


def check_outdated_files(facts: LogFacts, findings: Findings, aggregates: Aggregates) -> None:
    """Evaluate the rules over the changes that contradict live files.

    Args:
        facts: of the log.
        findings: receives what is found.
        aggregates: of all buckets.
    """
    history = facts.state.file_requirements
    rows = build_outdated_file_rows(aggregates.outdated_files, history.changes)
    findings.evaluate_rows(outdated_files, rows)
    is_unknown = facts.plan.base is not None and not history.base_has_statistics
    if is_unknown and any(each.requires_num_records for each in history.changes):
        reason = "the checkpoint that the history begins with leaves out statistics"
        findings.mark_undecided((outdated_files,), reason, read_columns=frozenset({"without_num_records"}))
