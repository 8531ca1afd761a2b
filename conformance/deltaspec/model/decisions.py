"""Decisions of the model, and which clients may read and write a table. Source: chapters Table Features, Requirements
for Readers, Protocol Evolution.
"""

from collections.abc import Collection
from typing import TypeAlias

import msgspec

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features.supported_features import get_reader_features, get_supported_features
from deltaspec.protocol.features.table_features import FEATURES, MAX_READER_VERSION, MAX_WRITER_VERSION


class Accepted(msgspec.Struct, frozen=True):
    """The protocol allows it."""


class Refused(msgspec.Struct, frozen=True):
    """The protocol forbids it."""

    requirement: str
    """Id of the violated requirement."""
    reason: str


Decision: TypeAlias = Accepted | Refused
_KNOWN = frozenset(name for name, feature in FEATURES.items() if feature.revisions)


def may_read(protocol: Protocol, features: Collection[str] = _KNOWN, max_version: int = MAX_READER_VERSION) -> Decision:
    """Decide whether a client with these features and reader version may read the table."""
    if protocol.min_reader_version > max_version:
        return Refused("protocol.versions-supported", f"reader version {protocol.min_reader_version}")
    unknown = sorted(get_reader_features(protocol) - set(features))
    if unknown:
        return Refused("table-features.reader-supports-all", f"reader features {', '.join(unknown)}")
    return Accepted()


def may_write(
    protocol: Protocol,
    features: Collection[str] = _KNOWN,
    max_reader: int = MAX_READER_VERSION,
    max_writer: int = MAX_WRITER_VERSION,
) -> Decision:
    """Decide whether a client with these features and versions may write to the table; it must be able to read it."""
    reading = may_read(protocol, features, max_reader)
    if isinstance(reading, Refused):
        return reading
    if protocol.min_writer_version > max_writer:
        return Refused("protocol.versions-supported", f"writer version {protocol.min_writer_version}")
    unknown = sorted(get_supported_features(protocol) - set(features))
    if unknown:
        return Refused("table-features.writer-supports-all", f"writer features {', '.join(unknown)}")
    return Accepted()
