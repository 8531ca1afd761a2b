"""What a run without a catalog can say about a catalog-managed table.

Only the catalog knows the latest version, and which staged commits it ratified. Source: Reading Catalog-managed Tables
(current).
"""

from __future__ import annotations

from collections.abc import Iterable

from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.report.text import count
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.staged_files import find_published_version, list_unpublished

_NOT_KNOWN = "the latest version, and which commits the catalog ratified, are not known"


def describe_unasked_catalog(names: Iterable[str]) -> str:
    """Return what a reader of these log files cannot know without the catalog, in one line."""
    names = list(names)
    published, staged = find_published_version(names), list_unpublished(names)
    found = "nothing is published" if published is None else f"the highest published version is {published}"
    if staged:
        first, last = min(version for _, version in staged), max(version for _, version in staged)
        versions = f"version {first}" if first == last else f"versions {first} to {last}"
        found += f", and {count(len(staged), 'staged commit')} of {versions} may be ratified"
    return f"the catalog was not asked: {found}; {_NOT_KNOWN}"


def mark_catalog_unasked(facts: LogFacts, findings: Findings) -> None:
    """Record what only the catalog knows, if it manages the table at the validated version."""
    if facts.plan.is_unpublished or facts.state.supports(FEATURE):
        findings.mark_catalog_unasked(describe_unasked_catalog(facts.plan.entries))
