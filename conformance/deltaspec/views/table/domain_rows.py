"""Rows of `domains`, with the checks of system domains. Source: Domain Metadata, Row Tracking, Clustered Table."""

from collections.abc import Iterable, Set
from typing import Any

from deltaspec.protocol.actions import DomainMetadata
from deltaspec.protocol.features import clustering, row_tracking
from deltaspec.protocol.features.collations import find_versions_fault
from deltaspec.protocol.features.system_domains import (
    RESERVED,
    find_domain_fault,
    find_domain_feature,
    find_further_key,
)
from deltaspec.protocol.json_values import find_repeated_key
from deltaspec.protocol.log.compared_fields import normalize_json
from deltaspec.protocol.revisions import Revision

_PROPOSED = (
    *("delta.columnMappingUsageTracking", "delta.collations", "delta.fileType.storageLocation"),
    *("delta.recordLevelIndex", "delta.tableBranching"),
)
_KNOWN = frozenset({row_tracking.DOMAIN, clustering.DOMAIN, *_PROPOSED})


def build_domain_row(
    location: dict[str, Any],
    action: DomainMetadata,
    known: DomainMetadata | None,
    others: Set[str],
    revision: Revision,
) -> dict[str, Any]:
    """Return the row of `domains` for an action, without the columns that depend on the protocol.

    The additional key `needed_feature` is the feature that the domain requires, or None.

    Args:
        location: version, file and line.
        action: the action.
        known: previous action of the domain; None if the domain was not live.
        others: live domains that the same commit does not remove; the actions of a commit have no order.
        revision: protocol revision.
    """
    before = known.configuration if known else None
    if before is not None and normalize_json(before) == normalize_json(action.configuration):
        before = action.configuration
    return {
        **location,
        "domain": action.domain,
        "removed": action.removed,
        "configuration": action.configuration,
        "known_system_domain": is_known_system_domain(action.domain),
        "repeated_key": _find_repeated_key(action),
        "configuration_fault": None if action.removed else find_domain_fault(action, revision),
        "further_key": None if action.removed else find_further_key(action),
        "fault_by_proposal": None if action.removed else find_versions_fault(action, revision),
        "configuration_before": before,
        "confusable_with": None if action.removed else confusable_with(action.domain, others),
        "needed_feature": None if action.removed else find_domain_feature(action.domain, revision),
    }


def _find_repeated_key(action: DomainMetadata) -> str | None:
    """Return the repeated key of a system domain; user domains may contain anything."""
    if action.removed or not action.domain.startswith(RESERVED):
        return None
    return find_repeated_key(action.configuration)


def is_known_system_domain(domain: str) -> bool | None:
    """Return whether the protocol or a proposal defines a domain with the reserved prefix; None for user domains."""
    return domain in _KNOWN if domain.startswith(RESERVED) else None


def confusable_with(domain: str, live: Iterable[str]) -> str | None:
    """Return the domain or reserved prefix that differs from a user domain only in case.

    Args:
        domain: name of the domain.
        live: names of the live domains.

    Returns:
        That name or prefix; `nothing` for an empty name; None for system domains, and if there is none.
    """
    if domain.startswith(RESERVED):
        return None
    folded = domain.lower()
    if not folded.strip():
        return "nothing"
    if folded.startswith(RESERVED):
        return RESERVED
    return next((other for other in sorted(live) if other != domain and other.lower() == folded), None)
