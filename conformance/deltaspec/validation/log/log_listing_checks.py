"""Check the listing of the log directory: names, staged commits, and where the log begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from deltaspec.protocol.features.catalog_managed import FEATURE, list_published_versions
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.log_start_checks import check_log_start
from deltaspec.validation.log.staged_commit_checks import check_staged_commits
from deltaspec.validation.log.staged_files import list_unpublished
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
    if facts.plan.listed is not None or managed is not False:  # after a gap, the protocol is not known
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
    """Yield the rows of a catalog-managed table, with the commits that were published before the one before them.

    Without the catalog, a missing commit whose version is staged counts as ratified: a later one is published.
    """
    staged = {version for _, version in list_unpublished(plan.entries)}
    published = set(list_published_versions(entry.name for entry in plan.listed or ()))
    ratified = set(list_published_versions(plan.entries))
    for row in rows:
        if row["kind"] == "commit":
            before = row["version"] - 1
            if plan.listed is not None and before in ratified - published:
                row["unpublished_before"] = f"commit {before} is ratified, but not published ({before + 1} is)"
            elif plan.listed is None and row["missing_commits_before"] and before in staged:
                row["unpublished_before"] = f"commit {before} is staged, but not published ({before + 1} is)"
                row["missing_commits_before"] -= 1
                row["missing_commits"] = row["missing_commits"] if row["missing_commits_before"] else None
        yield row
