"""Domains that the protocol defines: their features and configuration. Source: Row Tracking, Clustered Table."""

from deltaspec.protocol.actions import DomainMetadata
from deltaspec.protocol.features import clustering, row_tracking
from deltaspec.protocol.json_values import MAX_DEPTH, JsonError, has_lone_surrogate, parse_lossless, prune_deep_values
from deltaspec.protocol.revisions import Revision

RESERVED = "delta."
"""Prefix of system domains."""
LONE_SURROGATE = "has a lone surrogate"
"""Fault of a configuration that is undecided: the grammar of JSON allows lone surrogates, but parsers differ."""


TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"
"""Fault of a configuration that is undecided: JSON does not limit the depth."""


def find_domain_feature(domain: str, revision: Revision = Revision.CURRENT) -> str | None:
    """Return the table feature that a system domain belongs to; None if the revision names none."""
    if not revision.since(Revision.R3):  # [Changed in r3] the domains are new; r2 records row ids in an action
        return None
    return {row_tracking.DOMAIN: row_tracking.FEATURE, clustering.DOMAIN: clustering.FEATURE}.get(domain)


def find_domain_fault(action: DomainMetadata, revision: Revision = Revision.CURRENT) -> str | None:
    """Return the fault in the configuration of a domain that the protocol defines; None for valid and other domains."""
    if action.domain not in (clustering.DOMAIN, row_tracking.DOMAIN):
        return None
    text = prune_deep_values(action.configuration)
    try:
        value = parse_lossless(text).value
    except JsonError as fault:
        return f"is not JSON: {fault}"
    if text != action.configuration:
        return TOO_DEEP
    if has_lone_surrogate(value):
        return LONE_SURROGATE
    if action.domain == clustering.DOMAIN:
        return clustering.find_configuration_fault(action.configuration)
    if not isinstance(value, dict):
        return "is not a JSON object"
    # [Changed in current] r3 prints highWaterMark, but engines wrote the key of the current revision (E27)
    has_key = row_tracking.MARK_KEY in value or revision is not Revision.CURRENT
    is_sound = has_key and row_tracking.parse_high_water_mark(action.configuration) is not None
    return None if is_sound else "holds no integer rowIdHighWaterMark"


def find_further_key(action: DomainMetadata) -> str | None:
    """Return the first key in the configuration of `delta.rowTracking` other than the key of the mark, or None.

    `domainName` is not returned if it repeats the domain: Delta Spark always writes it (S55). Keys of a configuration
    with a lone surrogate are undecided.
    """
    if action.domain != row_tracking.DOMAIN:
        return None
    try:
        value = parse_lossless(action.configuration).value
    except JsonError:
        return None
    if not isinstance(value, dict) or has_lone_surrogate(value):
        return None
    mark = row_tracking.MARK_KEY if row_tracking.MARK_KEY in value else row_tracking.R3_MARK_KEY
    further = {key for key in value if key != mark and (key, value[key]) != ("domainName", action.domain)}
    return min(further, default=None)
