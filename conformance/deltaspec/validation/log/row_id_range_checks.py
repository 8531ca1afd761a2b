"""Check the row ids that the log assigns to files."""

from __future__ import annotations

import polars as pl

from deltaspec.protocol.features import row_tracking
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.row_id_history_checks import (
    build_suspension_history,
    check_row_id_history,
    collect_marks_of_log,
)
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.files.row_id_history import new_row_ids, row_id_commits, row_id_conflicts, row_id_states
from deltaspec.views.files.row_id_marks import move_to_mark, row_id_marks
from deltaspec.views.files.row_ids import (
    build_row_id_ranges,
    find_removed_files_above_mark,
    row_id_columns,
    row_id_files,
    row_id_ranges,
    row_id_rewrites,
)

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


def may_have_row_ids(facts: LogFacts) -> bool:
    """Return whether a version of the validated history supports row tracking, or may support it."""
    supported = any(supported for _, supported, _ in build_suspension_history(facts))
    return supported or facts.state.supports(row_tracking.get_feature_name(facts.options.revision)) is not False


def check_row_id_ranges(facts: LogFacts, findings: Findings, intervals: pl.DataFrame) -> None:
    """Check the row ids in the log, if a version of the validated history supports row tracking.

    Args:
        facts: of the log.
        findings: receives what is found.
        intervals: adds and removes of all buckets, from `build_intervals`.
    """
    state, revision = facts.state, facts.options.revision
    if not state.protocol_known or not state.metadata_known:
        if state.supports(row_tracking.get_feature_name(revision)) is not False:
            reason, file = state.lost_cause or ("the protocol and the metadata are not known", None)
            findings.mark_undecided(_ROW_ID_VIEWS, reason, file)
        return
    check_row_id_history(facts, findings, intervals)
    if state.protocol is None or state.metadata is None:
        return
    if not row_tracking.assigns_row_ids(state.protocol, state.metadata, revision):
        return
    if facts.replay_blocked_reason is not None:
        return  # the checks of the history report it
    mark, has_high_water_mark = state.high_water_mark
    if has_high_water_mark is None:
        for code in _HIGH_WATER_MARK_RULES:
            findings.mark_rule_undecided(code, "an action that may contain the high-water mark cannot be decoded")
    live = find_live_files(intervals, facts.plan.version)
    supported = build_suspension_history(facts)
    _, last_mark, _ = collect_marks_of_log(facts, supported)
    ranges = build_row_id_ranges(live, mark, has_high_water_mark=has_high_water_mark)
    findings.evaluate(row_id_ranges, move_to_mark(ranges, last_mark))
    if mark is not None:
        removed = find_removed_files_above_mark(intervals, live, mark, supported)
        findings.evaluate(row_id_ranges, move_to_mark(removed, last_mark))
