"""Check the listing of the log directory: names, staged commits, and where the log begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from deltaspec.protocol.features.catalog_managed import FEATURE, list_published_versions
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.log_start_checks import check_log_start
from deltaspec.validation.log.staged_commit_checks import check_staged_commits
from deltaspec.validation.plan import NO_VERSION, Plan
from deltaspec.views.log.log_file_rows import build_emptied_log_row, build_listing_rows
from deltaspec.views.log.log_files import listing
from deltaspec.wire.storage.interface import Entry


def check_log_listing(facts: LogFacts, findings: Findings) -> None:
    """Check each file of the log in the context of the others."""
    states = {version: (actions.protocol, actions.metadata) for version, (actions, _) in facts.compared_states.items()}
    gaps = [(gap.first, gap.last) for gap in facts.plan.gaps if not gap.explained]
    managed = facts.state.supports(FEATURE)
    entries = facts.plan.entries.values() if facts.plan.listed is None else _list_published(facts.plan)
    rows = build_listing_rows(entries, facts.plan.missing or facts.plan.missing_in_revision, states, managed, gaps)
    if facts.plan.listed is not None:
        rows = list(_mark_published_out_of_order(rows, facts.plan))
    if facts.plan.version == NO_VERSION and not facts.plan.is_unpublished:
        rows.append(build_emptied_log_row())
    findings.evaluate_rows(listing, rows)
    check_staged_commits(facts, findings)
    check_log_start(facts, findings)


def _list_published(plan: Plan) -> list[Entry]:
    """Return the listed files, without files of later versions than the catalog knows.

    A checkpoint or compaction needs published commits, not only ratified ones.
    """
    return [each for each in plan.listed or () if each.name in plan.entries]


def _mark_published_out_of_order(rows: Iterable[dict[str, Any]], plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the rows of the listing, with the versions that were ratified and not published before a published one."""
    published = set(list_published_versions(entry.name for entry in plan.listed or ()))
    ratified = set(list_published_versions(plan.entries))
    for row in rows:
        before = row.get("version", 0) - 1
        if row["kind"] == "commit" and before in ratified - published:
            row["missing_commits_before"] = max(row["missing_commits_before"] or 0, 1)
            row["missing_commits"] = f"commit {before} is ratified, but not published ({before + 1} is)"
        yield row
