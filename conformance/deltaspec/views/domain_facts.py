"""What the text says of system domains. Source: Domain Metadata, Row Tracking, Clustered Table."""

from deltaspec.model import row_tracking
from deltaspec.model.actions import DomainMetadata
from deltaspec.model.json_values import JsonError, Number, parse_lossless

CLUSTERING = "delta.clustering"
_KNOWN = frozenset({row_tracking.DOMAIN, CLUSTERING, "delta.liquid", "delta.columnMappingUsageTracking"})


def is_known_system_domain(domain: str) -> bool | None:
    """Whether the text or a proposal defines a domain of the reserved prefix; None for user domains."""
    return domain in _KNOWN if domain.startswith("delta.") else None


def configuration_fault(action: DomainMetadata) -> str | None:
    """What is wrong with the configuration of a live domain that the text defines; None for others."""
    if action.domain not in (row_tracking.DOMAIN, CLUSTERING):
        return None
    try:
        value = parse_lossless(action.configuration).value
    except JsonError as fault:
        return f"is no JSON: {fault}"
    if not isinstance(value, dict):
        return "is no JSON object"
    if action.domain == row_tracking.DOMAIN:
        return "holds no integer rowIdHighWaterMark" if row_tracking.mark_of(action.configuration) is None else None
    columns = value.get("clusteringColumns")
    if not isinstance(columns, list) or not all(_is_column(column) for column in columns):
        return "holds no list clusteringColumns"
    return None


def _is_column(column: object) -> bool:
    """A column as a name, as the text shows it, or as the list of its parts, as engines write it (E15)."""
    if isinstance(column, list):
        return bool(column) and all(isinstance(part, str) and not isinstance(part, Number) for part in column)
    return isinstance(column, str) and not isinstance(column, Number)
