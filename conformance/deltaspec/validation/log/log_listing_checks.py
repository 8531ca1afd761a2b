"""Check the listing of the log directory: names, staged commits, and where the log begins."""

from __future__ import annotations

from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.log_start_checks import check_log_start
from deltaspec.validation.log.staged_commit_checks import check_staged_commits
from deltaspec.validation.plan import NO_VERSION
from deltaspec.views.log.log_file_rows import build_emptied_log_row, build_listing_rows
from deltaspec.views.log.log_files import listing


def check_log_listing(facts: LogFacts, findings: Findings) -> None:
    """Check each file of the log in the context of the others."""
    states = {version: (actions.protocol, actions.metadata) for version, (actions, _) in facts.compared_states.items()}
    gaps = [(gap.first, gap.last) for gap in facts.plan.gaps if not gap.explained]
    managed = facts.state.supports(FEATURE)
    rows = build_listing_rows(
        facts.plan.entries.values(), facts.plan.missing or facts.plan.missing_in_revision, states, managed, gaps
    )
    if facts.plan.version == NO_VERSION and not facts.plan.is_unpublished:
        rows.append(build_emptied_log_row())
    findings.evaluate_rows(listing, rows)
    check_staged_commits(facts, findings)
    check_log_start(facts, findings)
