"""Table features: kind, requirements and the legacy versions that imply them.

Source: Valid Feature Names in Table Features, and the chapters of features missing from that table (E28).
"""

import re
from collections.abc import Collection
from typing import Literal, TypeAlias

import msgspec

ProposalStatus: TypeAlias = Literal["proposed", "superseded", "engine-only"]
"""Under discussion; replaced by another feature; known to engines, without a proposal."""
FeatureStatus: TypeAlias = Literal["standard", "preview", "unknown"] | ProposalStatus


class Feature(msgspec.Struct, frozen=True):
    """A table feature."""

    name: str
    kind: Literal["writer", "reader-writer"]
    revisions: tuple[str, ...]
    """Revisions that define it; empty if only a proposal does."""
    legacy_writer: int | None = None
    """First legacy writer version that implies it."""
    legacy_reader: int | None = None
    """First legacy reader version that implies it, together with `legacy_writer`."""
    requires: tuple[str, ...] = ()
    requires_since: str = "r1"
    """First revision that states `requires`."""
    excludes: tuple[str, ...] = ()
    """Features that a table must not support together with this one."""
    proposal: ProposalStatus | None = None
    """State of the proposal that defines the feature, if no revision does."""
    alters_replay: bool = False
    """Whether the proposal changes the result of replaying the log."""
    affects: str | None = None
    """What the proposal may affect, if the kit does not check it; None if it does."""
    checked: str | None = None
    """What the kit checks of a proposal; None if nothing but its place in the feature lists."""


_ALL = _ORDER = ("r1", "r2", "r3", "current")
_R3 = ("r3", "current")
_CURRENT = ("current",)


def _propose(
    kind: Literal["writer", "reader-writer"],
    name: str,
    affects: str | None,
    proposal: ProposalStatus = "proposed",
    *,
    requires: tuple[str, ...] = (),
    excludes: tuple[str, ...] = (),
    alters_replay: bool = False,
    checked: str | None = None,
) -> Feature:
    return Feature(
        name,
        kind,
        (),
        requires=requires,
        excludes=excludes,
        proposal=proposal,
        alters_replay=alters_replay,
        affects=affects,
        checked=checked,
    )


FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("appendOnly", "writer", _ALL, legacy_writer=2),
        Feature("invariants", "writer", _ALL, legacy_writer=2),
        Feature("columnInvariants", "writer", ("r1", "r2")),
        Feature("checkConstraints", "writer", _ALL, legacy_writer=3),
        Feature("changeDataFeed", "writer", _ALL, legacy_writer=4),
        Feature("generatedColumns", "writer", _ALL, legacy_writer=4),
        Feature("columnMapping", "reader-writer", _ALL, legacy_writer=5, legacy_reader=2),
        Feature("identityColumns", "writer", _ALL, legacy_writer=6),
        Feature("deletionVectors", "reader-writer", _ALL),
        Feature("domainMetadata", "writer", _ALL),
        Feature("rowIds", "writer", ("r1",)),
        Feature(
            "rowTracking", "writer", ("r2", "r3", "current"), requires=("domainMetadata",), requires_since="current"
        ),
        Feature("timestampNTZ", "reader-writer", ("r1", "r2")),
        Feature("timestampNtz", "reader-writer", _R3),
        Feature("v2Checkpoint", "reader-writer", _R3),
        Feature("allowColumnDefaults", "writer", _R3),
        Feature("icebergCompatV1", "writer", _R3, requires=("columnMapping",)),
        Feature("icebergCompatV2", "writer", _R3, requires=("columnMapping",)),
        Feature("clustering", "writer", _R3, requires=("domainMetadata",)),
        Feature("inCommitTimestamp", "writer", _CURRENT),
        Feature("vacuumProtocolCheck", "reader-writer", _CURRENT),
        Feature("catalogManaged", "reader-writer", _CURRENT, requires=("inCommitTimestamp",)),
        Feature("typeWidening", "reader-writer", _CURRENT),
        Feature("variantType", "reader-writer", _CURRENT),
        Feature("variantShredding", "reader-writer", _CURRENT, requires=("variantType",)),
        _propose(
            "writer",
            "checkpointProtection",
            None,
            checked="the form of its property, and that history is truncated before the feature is dropped",
        ),
        _propose("writer", "columnMappingUsageTracking", "the removal of column mapping"),
        _propose(
            "writer",
            "concurrentIdentityColumns",
            "the values and high-water marks of identity columns",
            requires=("catalogManaged", "identityColumns"),
        ),
        _propose(
            "writer",
            "icebergCompatV3",
            None,
            requires=("columnMapping",),
            checked="schema, properties, statistics and files",
        ),
        _propose("writer", "icebergNativeV4", "everything that writers store", requires=("adaptiveMetadata",)),
        _propose(
            "writer",
            "icebergWriterCompatV1",
            None,
            requires=("columnMapping", "icebergCompatV2"),
            checked="schema, properties and features",
        ),
        _propose(
            "writer",
            "icebergWriterCompatV3",
            "the features that its undocumented allow-list leaves out",
            "engine-only",
            requires=("columnMapping", "icebergCompatV3"),
            checked="schema and properties",
        ),
        _propose("writer", "invisibleColumns", "the columns that clients see"),
        _propose("writer", "redirectWriterOnly", "where writers find the table"),
        _propose(
            "writer",
            "clusteringExpressions",
            "transforms of clustering columns, and their statistics (expressionStats)",
            requires=("clustering", "domainMetadata"),
        ),
        _propose(
            "writer",
            "multiTableTransaction",
            "whether the other tables of a transaction have its commits",
            requires=("catalogManaged",),
        ),
        _propose(
            "writer",
            "recordLevelIndex",
            "the index, and the domain and properties that describe it",
            requires=("rowTracking", "domainMetadata"),
        ),
        _propose(
            "writer",
            "tableBranching",
            "branches, their domain, and files that only they use",
            requires=("domainMetadata",),
        ),
        _propose("reader-writer", "decFloat", "columns of type decfloat"),
        _propose("reader-writer", "float16", "columns of type float16"),
        _propose("reader-writer", "parquetEncryption", "encrypted data files, their keys, and properties"),
        _propose("reader-writer", "timestampPrecision", "columns of timestamp types with a precision"),
        _propose("reader-writer", "unsignedIntegerTypes", "columns of unsigned integer types"),
        _propose("reader-writer", "fileType", "columns of type file, and the files that they refer to"),
        _propose(
            "reader-writer",
            "geospatial",
            "the geometries in columns of type geometry and geography, and whether bounding boxes cover them",
            checked="types, form of bounding boxes, and storage",
        ),
        _propose(
            "reader-writer",
            "intervalTypes",
            None,
            checked="type names, absence of bounds, partition values, and storage",
        ),
        _propose("reader-writer", "intervalType", "columns of interval types", "engine-only"),
        _propose("reader-writer", "materializedVoidType", "columns of type void in data files"),
        _propose("reader-writer", "redirectReaderWriter", "where clients find the table"),
        _propose(
            "reader-writer",
            "timestampNanos",
            "bounds of nanosecond timestamps, whose form the proposal does not define",
            requires=("timestampNtz",),
            checked="partition values and storage",
        ),
        _propose(
            "reader-writer",
            "adaptiveMetadata",
            "the log and its replay: its manifests are not read",
            requires=("columnMapping", "rowTracking", "domainMetadata", "deletionVectors", "inCommitTimestamp"),
            excludes=("v2Checkpoint",),
            alters_replay=True,
            checked="features, properties, and the fields of removes and deletion vectors",
        ),
        _propose(
            "reader-writer",
            "columnUpdates",
            "the rows of data files, and replay",
            requires=("columnMapping",),
            alters_replay=True,
        ),
        _propose(
            "writer",
            "collations",
            "bounds under a collation (statsWithCollation), whose order only its provider defines",
            requires=("domainMetadata",),
            checked="collations in the schema, versions in the domain, and the form of statsWithCollation",
        ),
        _propose("writer", "materializePartitionColumns", None, checked="partition columns in new files"),
        _propose("writer", "coordinatedCommits", "where commits are, and their timestamps", "superseded"),
        _propose("writer", "managedCommit", "where commits are, and their timestamps", "superseded"),
        _propose("reader-writer", "catalogOwned", "where commits are, and their timestamps", "superseded"),
    )
}

PROPOSALS = frozenset(name for name, feature in FEATURES.items() if feature.proposal is not None)
"""Features that only a proposal defines."""
MISPRINTED_FEATURES = {
    "timestampNTZ": ("timestampNtz",),
    "columnInvariants": ("invariants",),
    "rowIds": ("rowTracking",),
    "delta.rowIds": ("rowIds", "rowTracking"),
    "timestampWithoutTimezone": ("timestampNtz",),
}
"""Names that the protocol misprints, that an earlier revision spelled differently (E21, E22, E25), or that an engine
accepts in place of another name, and the intended names.
"""
_NOT_IN_WORDS = re.compile(r"[^a-z0-9]")

_NEWER_NAMES = {"timestampNTZ": "timestampNtz", "columnInvariants": "invariants"}
"""Names that only earlier revisions define, and the names that all revisions or engines know (E21, E22)."""

MAX_READER_VERSION = 3
MAX_WRITER_VERSION = 7


def get_feature(name: str, revision: str = "current") -> Feature | None:
    """Return the feature with this name in a revision, or None if the revision does not define it.

    Names of proposals, `-preview` names and `-dev` names are unknown to every revision.
    """
    feature = FEATURES.get(name)
    return feature if feature is not None and revision in feature.revisions else None


def get_known_features(revision: str) -> frozenset[str]:
    """Return the feature names that a revision defines; before r3, both spellings of `timestampNtz` count (E22)."""
    named = {name for name, feature in FEATURES.items() if revision in feature.revisions}
    return frozenset(named | ({"timestampNtz"} if "timestampNTZ" in named else set()))


def get_current_name(name: str, revision: str) -> str:
    """Return the newest name of a feature; before r3 two features had another one (E21, E22)."""
    return _NEWER_NAMES.get(name, name) if get_feature(name, revision) else name


def resolve_feature(name: str, revision: str = "current") -> Feature | None:
    """Return the feature that a revision knows by this name or an accepted alternative spelling (E22)."""
    found = get_feature(name, revision)
    return (
        FEATURES[get_current_name(name, revision)] if found is None and name in get_known_features(revision) else found
    )


def find_intended_name(name: str, revision: str = "current") -> str | None:
    """Return the feature that an unknown name probably means.

    It is a misprint of the protocol, or differs in case, punctuation, plural, or by the prefix of a table property.
    """
    if name in get_known_features(revision) or is_proposed_or_preview(name):
        return None
    named = [each for each in FEATURES if get_feature(each, revision)]
    alike = [each for each in named if _fold_name(each) == _fold_name(name)]
    return next((each for each in (*MISPRINTED_FEATURES.get(name, ()), *alike) if each in named), None)


def _fold_name(name: str) -> str:
    """Return what misspellings of a feature name have in common."""
    folded = name.lower().removeprefix("delta.").removeprefix("feature.")
    return _NOT_IN_WORDS.sub("", folded).removesuffix("s")


def get_required_features(name: str, revision: str = "current") -> tuple[str, ...]:
    """Return the names of the features that a feature requires in a revision."""
    feature = get_feature(name, revision)
    if feature is None or _ORDER.index(revision) < _ORDER.index(feature.requires_since):
        return ()
    return feature.requires


def strip_preview_suffix(name: str) -> str:
    """Return the feature name without `-preview` or `-dev`."""
    return name.removesuffix("-preview").removesuffix("-dev")


def find_missing_requirements(supported: Collection[str], revision: str = "current") -> frozenset[str]:
    """Return what the supported features of a revision require and the table does not support, even as a preview."""
    required = {each for name in supported for each in get_required_features(name, revision)}
    return frozenset(required - {strip_preview_suffix(name) for name in supported})


def supports_feature_or_preview(supported: Collection[str], feature: str) -> bool:
    """Return whether a feature or a preview of it is supported: a preview permits the same types and properties."""
    return any(strip_preview_suffix(name) == feature for name in supported)


def is_proposed_or_preview(name: str) -> bool:
    """Return whether a name belongs to a proposal or a preview, and is not just misspelled."""
    base = strip_preview_suffix(name)
    return base in FEATURES and (base != name or not FEATURES[name].revisions)


def find_proposed_feature(name: str) -> Feature | None:
    """Return the feature that a name of a proposal or a preview stands for; None for other names."""
    return FEATURES[strip_preview_suffix(name)] if is_proposed_or_preview(name) else None


def get_feature_status(name: str, revision: str = "current") -> FeatureStatus:
    """Return the status of a feature name in a revision."""
    if get_feature(name, revision):
        return "standard"
    if not is_proposed_or_preview(name):
        return "unknown"
    return FEATURES[name].proposal or "unknown" if name in FEATURES else "preview"


def may_alter_replay(name: str, revision: str = "current") -> bool:
    """Return whether a feature may change the result of replay: it is unknown, or its proposal does so."""
    base = FEATURES.get(strip_preview_suffix(name))
    return get_feature_status(name, revision) == "unknown" or (base is not None and base.alters_replay)


CHECKED_PREVIEWS = ("typeWidening-preview", "variantType-preview", "variantShredding-preview")
"""Preview names that engines write and the kit checks like the accepted features."""


def get_unchecked_effect(name: str) -> str | None:
    """Return what a listed feature may affect, if the kit does not check it; None if it does.

    The kit checks the features of the current revision, proposals without `Feature.affects`, and `CHECKED_PREVIEWS`.
    """
    if get_feature(name) is not None or name in CHECKED_PREVIEWS:
        return None
    base = FEATURES.get(strip_preview_suffix(name))
    if base is None or (base.name != name and base.affects is None):
        return "anything that its definition says: replay, schema, statistics, data files"
    return base.affects


def get_implied_features(min_reader_version: int, min_writer_version: int) -> set[str]:
    """Return features implied by legacy versions. Source: Writer Version Requirements, Reader Version Requirements."""
    found = set()
    for feature in FEATURES.values():
        if feature.legacy_writer is None or not feature.legacy_writer <= min_writer_version < MAX_WRITER_VERSION:
            continue
        if feature.legacy_reader is not None and min_reader_version < feature.legacy_reader:
            continue
        found.add(feature.name)
    return found
