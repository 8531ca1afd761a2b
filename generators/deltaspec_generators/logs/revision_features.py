"""What a log may hold by each revision of the text: features, spellings, the home of the row-id high-water mark."""

import json
from collections.abc import Collection
from typing import Any

from deltaspec.model.features import table_features
from deltaspec.model.revisions import Revision
from deltaspec_generators.logs.state import Body

EARLIER_FEATURES = ("rowIds", "timestampNTZ")
"""Features that only texts before r3 name so: the first of row ids, and the first spelling of a type's."""

PREVIEWED = ("variantType", "variantShredding", "typeWidening")
"""Features that tables of earlier days name with `-preview` behind."""
PROPOSED = ("checkpointProtection", "materializePartitionColumns", *(f"{name}-preview" for name in PREVIEWED))
"""Features that no text defines, and that tables have beside the newest: of proposals, and under their first names."""

ROW_ID_FEATURES = ("rowIds", "rowTracking")
NTZ_FEATURES = ("timestampNTZ", "timestampNtz")


def filter_known(revision: Revision, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `names` and of the earlier features that a revision defines, in this order."""
    defined = table_features.get_known_features(revision)
    return tuple(name for name in (*names, *EARLIER_FEATURES) if name in defined)


def list_allowed(revision: Revision, names: tuple[str, ...]) -> tuple[str, ...]:
    """Features that logs of a revision may have where nothing else is asked for."""
    return filter_known(revision, names) + (PROPOSED if revision is Revision.CURRENT else ())


def has_feature(features: Collection[str], name: str) -> bool:
    """Whether a feature is among those, be it under its first name."""
    return name in features or f"{name}-preview" in features


def build_domain(revision: Revision, name: str, configuration: dict[str, Any], *, removed: bool = False) -> Body:
    """The body of a `domainMetadata` action: its configuration is a map of strings in r1 and r2, JSON text since r3."""
    value: Any = json.dumps(configuration)
    if not revision.since(Revision.R3):
        value = {key: each if isinstance(each, str) else json.dumps(each) for key, each in configuration.items()}
    return {"domain": name, "configuration": value, "removed": removed}


def build_row_id_mark(revision: Revision, mark: int, key: str = "rowIdHighWaterMark", preserved: bool = True) -> Body:
    """The action that records the largest row id: one of its own before r3, then a domain.

    Args:
        revision: the text.
        mark: the largest row id assigned.
        key: of the domain's configuration; r3 prints `highWaterMark`, and engines wrote the other even then (E27).
        preserved: whether rows that the commit copied kept their ids, which r1 records with the mark.
    """
    match revision:
        case Revision.R1:
            return {"rowIdHighWaterMark": {"highWaterMark": mark, "preservedRowIds": preserved}}
        case Revision.R2:
            return {"rowIdHighWaterMark": {"highWaterMark": mark}}
    return {"domainMetadata": build_domain(revision, "delta.rowTracking", {key: mark})}
