"""Check adds that do not have all statistics that the table requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.adds_without_stats import adds_without_stats, build_adds_without_stats_rows

if TYPE_CHECKING:
    import polars as pl


def check_adds_without_stats(
    facts: LogFacts, findings: Findings, chain: pl.DataFrame, rows: pl.DataFrame | None
) -> None:
    """Evaluate the rules, if replay is not blocked.

    Args:
        facts: of the log.
        findings: receives what is found.
        chain: adds and removes of a bucket.
        rows: result of `collect_adds_without_stats` for the bucket; None if it is empty.
    """
    if facts.replay_blocked_reason or rows is None or not findings.has_rules_for(adds_without_stats):
        return
    starts_after_version_0 = facts.plan.base is not None
    findings.evaluate(
        adds_without_stats,
        build_adds_without_stats_rows(rows, chain, facts.operations, begins_with_checkpoint=starts_after_version_0),
    )
