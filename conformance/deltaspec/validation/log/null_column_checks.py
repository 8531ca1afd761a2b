"""Check columns that must not be null against partition values and null counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.null_columns import NULL_COUNT, PARTITION_VALUE, iter_null_columns, null_columns

if TYPE_CHECKING:
    import polars as pl

_RULES = {PARTITION_VALUE: "FIL063", NULL_COUNT: "STA019"}


def find_reported_sources(findings: Findings) -> frozenset[str]:
    """Return the values of the column `source` of `null_columns` whose rule is part of the run."""
    return frozenset(source for source, code in _RULES.items() if findings.has_rule(code))


def check_null_columns(facts: LogFacts, findings: Findings, intervals: pl.DataFrame) -> None:
    """Evaluate the rules over `null_columns` for the files of every version, unless replay is blocked.

    Args:
        facts: facts of the log.
        findings: receives what is found.
        intervals: adds and removes of a bucket, from `build_intervals`.
    """
    if facts.replay_blocked_reason is not None or not findings.has_rules_for(null_columns):
        return
    for rows in iter_null_columns(intervals, facts.state.row_requirements.leaves):
        findings.evaluate(null_columns, rows)
