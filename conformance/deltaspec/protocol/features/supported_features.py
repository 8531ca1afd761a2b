"""Which clients may read and write a table. Source: chapters Protocol Evolution, Table Features, Table Features for
New and Existing Tables, Requirements for Readers.
"""

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features.table_features import (
    MAX_READER_VERSION,
    MAX_WRITER_VERSION,
    find_proposed_feature,
    get_implied_features,
    get_required_features,
    resolve_feature,
    strip_preview_suffix,
)
from deltaspec.protocol.revisions import Revision


def get_reader_features(protocol: Protocol) -> set[str]:
    """Return the features that a reader must support: those listed, or those implied by a legacy reader version."""
    if protocol.min_reader_version >= MAX_READER_VERSION:
        return set(protocol.reader_features or ())
    return {"columnMapping"} if protocol.min_reader_version == 2 and supports(protocol, "columnMapping") else set()


def get_supported_features(protocol: Protocol) -> set[str]:
    """Return the features that the table supports, listed or implied by its versions. Source: Supported Features.

    With reader version 2 and writer version 7, `columnMapping` only needs to be in `writerFeatures` (E02).
    """
    if protocol.min_writer_version < MAX_WRITER_VERSION:
        return get_implied_features(protocol.min_reader_version, protocol.min_writer_version)
    return set(protocol.writer_features or ())


def has_known_features(protocol: Protocol) -> bool:
    """Return whether the supported features are known; at writer version 7 they require a list."""
    return protocol.min_writer_version < MAX_WRITER_VERSION or protocol.writer_features is not None


def supports(protocol: Protocol, feature: str) -> bool:
    """Return whether the table supports a feature."""
    return feature in get_supported_features(protocol)


def find_missing_required_features(
    protocol: Protocol, feature: str, revision: Revision = Revision.CURRENT
) -> list[str]:
    """Return the features that a feature requires and the table does not support, not even as a preview.

    A preview requires what its feature requires, and a proposal what it says.
    """
    proposed = find_proposed_feature(feature)
    required = proposed.requires if proposed is not None else get_required_features(feature, revision)
    if not required:
        return []
    supported = {strip_preview_suffix(name) for name in get_supported_features(protocol)}
    return [name for name in required if name not in supported]


def find_excluded_features(protocol: Protocol, feature: str) -> list[str]:
    """Return the supported features, also as previews, that a feature of a proposal must not be combined with."""
    proposed = find_proposed_feature(feature)
    if proposed is None or not proposed.excludes:
        return []
    supported = {strip_preview_suffix(name) for name in get_supported_features(protocol)}
    return [name for name in proposed.excludes if name in supported]


FAULTS = (
    "version out of range",
    "reader 3 with writer below 7",
    "reader features without reader version 3",
    "missing reader features",
    "writer features without writer version 7",
    "missing writer features",
    "feature only in readerFeatures",
    "writer-only feature in readerFeatures",
    "reader-writer feature missing from readerFeatures",
    "duplicate feature",
    "required feature missing",
)


def find_protocol_faults(protocol: Protocol, revision: Revision = Revision.CURRENT) -> list[tuple[str, str | None]]:
    """Return the errors of a protocol action as (one of `FAULTS`, feature or None), in the order of `FAULTS`.

    Unknown versions and features are not errors: they make a table unsupported, not invalid. Nor are faults of
    proposals and previews, which the protocol does not define (S44).

    Source: chapters Protocol Evolution and Table Features.
    """
    return [(kind, None) for kind in _version_faults(protocol)] + _list_faults(protocol, revision)


def _version_faults(protocol: Protocol) -> list[str]:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    holds = {
        "version out of range": reader < 1 or writer < 1,
        # No client creates such a table, and reader version 3 requires writer version 7 (E42).
        "reader 3 with writer below 7": reader >= MAX_READER_VERSION and writer < MAX_WRITER_VERSION,
        "reader features without reader version 3": reader < MAX_READER_VERSION and _listed(protocol.reader_features),
        "missing reader features": reader >= MAX_READER_VERSION and not _listed(protocol.reader_features),
        "writer features without writer version 7": writer < MAX_WRITER_VERSION and _listed(protocol.writer_features),
        "missing writer features": writer >= MAX_WRITER_VERSION and not _listed(protocol.writer_features),
    }
    return [kind for kind in FAULTS if holds.get(kind, False)]


def _listed(features: list[str] | None) -> bool:
    """Return whether a feature list is present; an empty list counts."""
    return features is not None


def _list_faults(protocol: Protocol, revision: Revision) -> list[tuple[str, str | None]]:
    readers, writers = protocol.reader_features or [], protocol.writer_features or []
    found: list[tuple[str, str | None]] = []
    for name in sorted({*readers, *writers}):
        known = resolve_feature(name, revision)
        if name not in writers:
            if _listed(protocol.writer_features):
                found.append(("feature only in readerFeatures", name))
        elif name in readers and known and known.kind == "writer":
            found.append(("writer-only feature in readerFeatures", name))
        elif name not in readers and known and known.kind == "reader-writer" and _lacks_reader(protocol, name):
            found.append(("reader-writer feature missing from readerFeatures", name))
        if max(readers.count(name), writers.count(name)) > 1:
            found.append(("duplicate feature", name))
        is_missing = name in writers and bool(find_missing_required_features(protocol, name, revision))
        if is_missing and find_proposed_feature(name) is None:
            found.append(("required feature missing", name))
    return sorted(found, key=lambda fault: FAULTS.index(fault[0]))


def _lacks_reader(protocol: Protocol, feature: str) -> bool:
    """Return whether `readerFeatures` should list a feature; reader version 2 alone implies `columnMapping` (E02)."""
    if protocol.min_reader_version >= MAX_READER_VERSION:
        return _listed(protocol.reader_features)
    return not (feature == "columnMapping" and protocol.min_reader_version == 2)
