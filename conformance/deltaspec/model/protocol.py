"""Who may read and who may write a table. Source: chapters Protocol Evolution and Table Features."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from deltaspec.model.actions import Protocol
from deltaspec.model.features import FEATURES, MAX_READER_VERSION, MAX_WRITER_VERSION, implied_by


@dataclass(frozen=True)
class Accepted:
    """The text lets it be."""


@dataclass(frozen=True)
class Refused:
    """The text forbids it."""

    requirement: str
    """Id of the requirement in force."""
    why: str


Answer: TypeAlias = Accepted | Refused

_KNOWN = frozenset(name for name, feature in FEATURES.items() if feature.revisions)


def reader_features(protocol: Protocol) -> set[str]:
    """Features that a reader must support: those listed, or those that the legacy reader version stands for."""
    if protocol.min_reader_version >= MAX_READER_VERSION:
        return set(protocol.reader_features or ())
    return {"columnMapping"} if protocol.min_reader_version == 2 and supports(protocol, "columnMapping") else set()


def supported_features(protocol: Protocol) -> set[str]:
    """Features that the table supports: implied by its versions, or listed. Source: Supported Features.

    At reader version 2 and writer version 7 `columnMapping` needs to be in the writer's list only (E02).
    """
    if protocol.min_writer_version < MAX_WRITER_VERSION:
        return implied_by(protocol.min_reader_version, protocol.min_writer_version)
    return set(protocol.writer_features or ())


def supports(protocol: Protocol, feature: str) -> bool:
    """Whether the table supports a feature."""
    return feature in supported_features(protocol)


def may_read(protocol: Protocol, features: Collection[str] = _KNOWN, max_version: int = MAX_READER_VERSION) -> Answer:
    """Whether a client that knows these features and reader versions may read the table."""
    if protocol.min_reader_version > max_version:
        return Refused("protocol.versions-supported", f"reader version {protocol.min_reader_version}")
    unknown = sorted(reader_features(protocol) - set(features))
    if unknown:
        return Refused("table-features.reader-supports-all", f"reader features {', '.join(unknown)}")
    return Accepted()


def may_write(
    protocol: Protocol,
    features: Collection[str] = _KNOWN,
    max_reader: int = MAX_READER_VERSION,
    max_writer: int = MAX_WRITER_VERSION,
) -> Answer:
    """Whether a client that knows these features and versions may write to the table; it must be able to read it."""
    reading = may_read(protocol, features, max_reader)
    if isinstance(reading, Refused):
        return reading
    if protocol.min_writer_version > max_writer:
        return Refused("protocol.versions-supported", f"writer version {protocol.min_writer_version}")
    unknown = sorted(supported_features(protocol) - set(features))
    if unknown:
        return Refused("table-features.writer-supports-all", f"writer features {', '.join(unknown)}")
    return Accepted()


def missing_requirements(protocol: Protocol, feature: str) -> list[str]:
    """Features that a feature requires and the table does not support."""
    known = FEATURES.get(feature)
    return [name for name in known.requires if not supports(protocol, name)] if known else []
