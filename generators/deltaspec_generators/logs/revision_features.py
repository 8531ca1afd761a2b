"""Differences between protocol revisions: features, domain format, location of the row id high-water mark."""

import json
from collections.abc import Collection
from typing import Any

from deltaspec.model.features import table_features
from deltaspec.model.revisions import Revision
from deltaspec_generators.table_state import Body

EARLIER_FEATURES = ("rowIds", "timestampNTZ", "columnInvariants")
"""Feature names that only revisions before r3 define."""

PREVIEWED = ("variantType", "variantShredding", "typeWidening")
"""Features with a `-preview` name in older tables."""
PROPOSED = (
    "checkpointProtection",
    "materializePartitionColumns",
    "icebergCompatV3",
    *(f"{name}-preview" for name in PREVIEWED),
)
"""Features of current tables that the protocol does not define: proposals and preview names."""

ROW_ID_FEATURES = ("rowIds", "rowTracking")
NTZ_FEATURES = ("timestampNTZ", "timestampNtz")


def filter_known(revision: Revision, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names and earlier features that a revision defines, in this order."""
    defined = table_features.get_known_features(revision)
    return tuple(name for name in (*names, *EARLIER_FEATURES) if name in defined)


def list_allowed(revision: Revision, names: tuple[str, ...]) -> tuple[str, ...]:
    """List the features that logs of a revision may use by default."""
    return filter_known(revision, names) + (PROPOSED if revision is Revision.CURRENT else ())


def has_feature(features: Collection[str], name: str) -> bool:
    """Return whether a feature is supported, possibly under its preview name."""
    return name in features or f"{name}-preview" in features


def build_domain(revision: Revision, name: str, configuration: dict[str, Any], *, removed: bool = False) -> Body:
    """Build the body of a `domainMetadata` action; the configuration is a map in r1 and r2, JSON text since r3."""
    value: Any = json.dumps(configuration)
    if not revision.since(Revision.R3):
        value = {key: each if isinstance(each, str) else json.dumps(each) for key, each in configuration.items()}
    return {"domain": name, "configuration": value, "removed": removed}


def build_row_id_mark(revision: Revision, mark: int, key: str = "rowIdHighWaterMark", preserved: bool = True) -> Body:
    """Build the action with the largest row id: `rowIdHighWaterMark` before r3, then a domain.

    Args:
        revision: protocol revision.
        mark: largest assigned row id.
        key: key of the domain configuration; r3 prints `highWaterMark`, engines wrote the other key even then (E27).
        preserved: whether copied rows kept their ids, which r1 stores with the mark.
    """
    match revision:
        case Revision.R1:
            return {"rowIdHighWaterMark": {"highWaterMark": mark, "preservedRowIds": preserved}}
        case Revision.R2:
            return {"rowIdHighWaterMark": {"highWaterMark": mark}}
    return {"domainMetadata": build_domain(revision, "delta.rowTracking", {key: mark})}
