"""Every feature name that the protocol, a proposal or an engine knows, and what the kit checks of it."""

from typing import Literal, TypeAlias

import msgspec

from deltaspec.protocol.features.table_features import (
    CHECKED_PREVIEWS,
    FEATURES,
    Feature,
    get_feature,
    get_unchecked_effect,
    strip_preview_suffix,
)

Status: TypeAlias = Literal["accepted", "earlier", "proposed", "preview", "superseded", "engine-only"]
"""In the current revision; only in earlier ones; in a proposal; an experimental name of one of these; replaced by
another feature; known to an engine alone.
"""

_IN_ALL = frozenset(
    {"allowColumnDefaults", "appendOnly", "catalogManaged", "changeDataFeed", "checkConstraints", "clustering"}
    | {"columnMapping", "deletionVectors", "domainMetadata", "generatedColumns", "geospatial", "icebergCompatV2"}
    | {"icebergCompatV3", "identityColumns", "inCommitTimestamp", "invariants", "materializePartitionColumns"}
    | {"rowTracking", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck"}
    | {"variantShredding", "variantShredding-preview", "variantType", "variantType-preview"}
)
ENGINES = {
    "Delta Spark": _IN_ALL
    | {"adaptiveMetadata-preview", "checkpointProtection", "coordinatedCommits-preview", "geospatial-dev"}
    | {"icebergCompatV1", "redirectReaderWriter-preview", "redirectWriterOnly-preview"},
    "Kernel Java": _IN_ALL
    | {"checkpointProtection", "collations", "collations-preview"}
    | {"icebergWriterCompatV1", "icebergWriterCompatV3"},
    "Kernel Rust": _IN_ALL
    | {"adaptiveMetadata-preview", "catalogOwned-preview", "icebergCompatV1", "intervalType-preview"},
    "delta-rs": _IN_ALL | {"adaptiveMetadata-preview", "catalogOwned-preview", "icebergCompatV1", "timestampNanos"},
}
"""Engine to the feature names in its program: Delta Spark and Kernel Java 4.4.0, delta-rs 1.6 with its Kernel Rust, and
Kernel Rust's source.
"""


class FeatureEntry(msgspec.Struct, frozen=True):
    """A feature name."""

    name: str
    status: Status
    kind: Literal["writer", "reader-writer"]
    engines: tuple[str, ...]
    """Engines that know the name."""
    requires: tuple[str, ...]
    excludes: tuple[str, ...]
    checked: str
    """What the kit checks."""
    unchecked: str | None
    """What it does not check although the feature may affect it; None if nothing is known."""


def build_feature_table() -> list[FeatureEntry]:
    """Return all feature names: the current revision's first, then the others by status and name."""
    names = set(FEATURES).union(*ENGINES.values())
    order = ("accepted", "proposed", "preview", "engine-only", "superseded", "earlier")
    entries = [_describe(name) for name in names]
    return sorted(entries, key=lambda each: (order.index(each.status), each.name.lower()))


def _describe(name: str) -> FeatureEntry:
    base = FEATURES[strip_preview_suffix(name)]
    is_preview = base.name != name
    status = _find_status(base, is_preview=is_preview)
    return FeatureEntry(
        name,
        status,
        base.kind,
        tuple(engine for engine, known in ENGINES.items() if name in known),
        base.requires,
        base.excludes,
        _describe_checks(name, base, status),
        "everything, in the current revision" if status == "earlier" else get_unchecked_effect(name),
    )


def _find_status(base: Feature, *, is_preview: bool) -> Status:
    if is_preview:
        return "preview"
    if base.proposal is not None:
        return base.proposal
    return "accepted" if get_feature(base.name) is not None else "earlier"


def _describe_checks(name: str, base: Feature, status: Status) -> str:
    if status == "accepted":
        return "its chapter of the protocol"
    if status == "earlier":
        return "its chapter in the revisions that define it"
    if name in CHECKED_PREVIEWS:
        return f"like {base.name}"
    return (base.checked or "the feature lists") if status != "preview" else "the feature lists"
