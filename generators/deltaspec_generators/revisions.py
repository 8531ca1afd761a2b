"""What a log may hold by each revision of the text: features, spellings, the home of the row-id high-water mark."""

import json
from typing import Any

from deltaspec.model import features
from deltaspec.model.revisions import Revision
from deltaspec_generators.log_state import Body

EARLIER_FEATURES = ("rowIds", "timestampNTZ")
"""Features that only texts before r3 name so: the first of row ids, and the first spelling of a type's."""

ROW_ID_FEATURES = ("rowIds", "rowTracking")
NTZ_FEATURES = ("timestampNTZ", "timestampNtz")


def known(revision: Revision, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `names` and of the earlier features that a revision defines, in this order."""
    defined = features.known_in(revision)
    return tuple(name for name in (*names, *EARLIER_FEATURES) if name in defined)


def domain(revision: Revision, name: str, configuration: dict[str, Any], *, removed: bool = False) -> Body:
    """The body of a `domainMetadata` action: its configuration is a map of strings in r1 and r2, JSON text since r3."""
    value: Any = json.dumps(configuration)
    if not revision.since(Revision.R3):
        value = {key: each if isinstance(each, str) else json.dumps(each) for key, each in configuration.items()}
    return {"domain": name, "configuration": value, "removed": removed}


def row_id_mark(revision: Revision, mark: int, key: str = "rowIdHighWaterMark") -> Body:
    """The action that records the largest row id: one of its own before r3, then a domain.

    Args:
        revision: the text.
        mark: the largest row id assigned.
        key: of the domain's configuration; r3 prints `highWaterMark`, and engines wrote the other even then (E27).
    """
    match revision:
        case Revision.R1:
            return {"rowIdHighWaterMark": {"highWaterMark": mark, "preservedRowIds": True}}
        case Revision.R2:
            return {"rowIdHighWaterMark": {"highWaterMark": mark}}
    return {"domainMetadata": domain(revision, "delta.rowTracking", {key: mark})}
