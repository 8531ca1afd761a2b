"""What the text says of system domains. Source: Domain Metadata, Row Tracking, Clustered Table."""

from collections.abc import Iterable, Set
from typing import Any

from deltaspec.model.actions import DomainMetadata
from deltaspec.model.features import clustering
from deltaspec.model.json_values import JsonError, parse_lossless
from deltaspec.model.rows import row_tracking
from deltaspec.views.log.replay_differences import is_same_json

RESERVED = "delta."
"""How names of system domains begin."""
_KNOWN = frozenset({row_tracking.DOMAIN, clustering.DOMAIN, "delta.liquid", "delta.columnMappingUsageTracking"})


def build_domain_row(
    place: dict[str, Any], action: DomainMetadata, known: DomainMetadata | None, others: Set[str]
) -> dict[str, Any]:
    """The row of `domains` for an action, but for what the protocol decides; beside it `needed_feature`.

    Args:
        place: version, file and line.
        action: the action.
        known: what the table holds of the domain before it.
        others: domains of the table that the same commit does not remove: its actions have no order.
    """
    before = known.configuration if known else None
    if before is not None and is_same_json(before, action.configuration):
        before = action.configuration
    is_new = not action.removed and ".checkpoint." not in place["file"]
    return {
        **place,
        "domain": action.domain,
        "removed": action.removed,
        "configuration": action.configuration,
        "known_system_domain": is_known_system_domain(action.domain),
        "configuration_fault": None if action.removed else configuration_fault(action),
        "configuration_before": before,
        "confusable_with": None if action.removed else confusable_with(action.domain, others),
        "needed_feature": find_domain_feature(action.domain) if is_new else None,
    }


def is_known_system_domain(domain: str) -> bool | None:
    """Whether the text or a proposal defines a domain of the reserved prefix; None for user domains."""
    return domain in _KNOWN if domain.startswith(RESERVED) else None


def find_domain_feature(domain: str) -> str | None:
    """The table feature that a system domain belongs to; None where the text names none."""
    return {row_tracking.DOMAIN: row_tracking.FEATURE, clustering.DOMAIN: clustering.FEATURE}.get(domain)


def confusable_with(domain: str, live: Iterable[str]) -> str | None:
    """What the name of a user's domain is easily taken for: another domain or the reserved prefix, but for case.

    Args:
        domain: name of the domain.
        live: names of the table's domains.

    Returns:
        That name or prefix; `nothing` for an empty name; None for system domains and where there is nothing.
    """
    if domain.startswith(RESERVED):
        return None
    folded = domain.lower()
    if not folded.strip():
        return "nothing"
    if folded.startswith(RESERVED):
        return RESERVED
    return next((other for other in sorted(live) if other != domain and other.lower() == folded), None)


def configuration_fault(action: DomainMetadata) -> str | None:
    """What is wrong with the configuration of a live domain that the text defines; None for others."""
    if action.domain == clustering.DOMAIN:
        return clustering.find_configuration_fault(action.configuration)
    if action.domain != row_tracking.DOMAIN:
        return None
    try:
        value = parse_lossless(action.configuration).value
    except JsonError as fault:
        return f"is no JSON: {fault}"
    if not isinstance(value, dict):
        return "is no JSON object"
    return (
        "holds no integer rowIdHighWaterMark"
        if row_tracking.parse_high_water_mark(action.configuration) is None
        else None
    )
