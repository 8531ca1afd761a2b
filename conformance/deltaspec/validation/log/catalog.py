"""What the catalog of a catalog-managed table says, and what a run cannot know without it.

Only the catalog knows the latest version, and which staged commits it ratified. Source: Reading Catalog-managed Tables
(current).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deltaspec.protocol.features.catalog_managed import FEATURE, list_published_versions
from deltaspec.report.text import count
from deltaspec.validation.catalog_commits import RatifiedCommits
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.staged_files import find_published_version, list_unpublished
from deltaspec.validation.plan import NO_VERSION, Plan
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.ratified_store import RatifiedStore

_NOT_KNOWN = "the latest version, and which commits the catalog ratified, are not known"


def open_catalog(store: Store, catalog: RatifiedCommits | None) -> Store:
    """Return the table as readers see it that have asked its catalog; the store itself if it was not asked."""
    if catalog is None:
        return store
    return RatifiedStore(store, catalog.sources, catalog.contents, catalog.latest)


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


def mark_catalog(facts: LogFacts, findings: Findings) -> None:
    """Record what is not known of a table that a catalog manages at the validated version.

    Without the catalog, this is what only the catalog knows; with it, where catalog and log contradict each other.
    """
    catalog, managed = facts.options.ratified, facts.plan.is_unpublished or facts.state.supports(FEATURE)
    if catalog is None and managed:
        findings.mark_catalog_unknown(describe_unasked_catalog(facts.plan.entries))
    elif catalog is not None:
        reasons = list(_find_contradictions(catalog, facts.plan, catalog))
        if reasons and facts.options.source is not None:
            # commits may have been ratified and published between the answer and the listing
            newer = facts.options.source.ask() or catalog
            reasons = list(_find_contradictions(catalog, facts.plan, newer))
        for reason in reasons:
            findings.mark_catalog_unknown(reason)
        if managed is False and any(version <= facts.plan.version for version in catalog.sources):
            findings.mark_catalog_unknown(f"no catalog manages the table at version {facts.plan.version}")


def _find_contradictions(catalog: RatifiedCommits, plan: Plan, newer: RatifiedCommits) -> Iterator[str]:
    """Yield where the catalog and the listed log contradict each other.

    Args:
        catalog: answer before the log was listed.
        plan: has the listing.
        newer: answer after the log was listed; the same one if the catalog is not asked again.
    """
    names = {entry.name for entry in plan.listed or ()}
    published = find_published_version(names)
    if published is not None and published > newer.latest:
        yield (
            f"the latest version of the catalog is {newer.latest}, but version {published} is published; "
            "later versions were not read"
        )
    for version, name in sorted(catalog.sources.items()):
        if name is not None and name not in names and version in newer.sources:
            yield f"the catalog ratified {name} as version {version}, but the file does not exist"
    known = {*list_published_versions(names), *(version for version, _ in catalog.sources.items())}
    newest = max((version for version in known if version <= catalog.latest), default=NO_VERSION)
    newest = max(newest, min(published or NO_VERSION, catalog.latest))
    if newest < catalog.latest:
        yield (
            f"the latest version of the catalog is {catalog.latest}, but version {newest + 1} is neither published nor "
            "among its commits"
        )
