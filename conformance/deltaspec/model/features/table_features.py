"""Table features: what each is, what it needs, and which legacy versions imply it.

Source: Valid Feature Names in Table Features, and the chapters of features that the table of names leaves out (E28).
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Proposal: TypeAlias = Literal["proposed", "accepted", "superseded"]
"""Under discussion; accepted, and to be folded into the text; given up for another feature."""
Status: TypeAlias = Literal["standard", "preview", "unknown"] | Proposal


@dataclass(frozen=True)
class Feature:
    """A table feature."""

    name: str
    kind: Literal["writer", "reader-writer"]
    revisions: tuple[str, ...]
    """Revisions that define it; empty for one that only a proposal defines."""
    legacy_writer: int | None = None
    """First legacy writer version that implies it."""
    legacy_reader: int | None = None
    """First legacy reader version that implies it, with the writer version above."""
    requires: tuple[str, ...] = ()
    requires_since: str = "r1"
    """First revision whose text says so."""
    proposal: Proposal | None = None
    """How far the proposal has come that defines it, where no revision does."""
    alters_replay: bool = False
    """A proposal by which the log gives another table than by this text."""


_ALL = _ORDER = ("r1", "r2", "r3", "current")
_R3 = ("r3", "current")
_CURRENT = ("current",)


def _proposals(
    kind: Literal["writer", "reader-writer"],
    *names: str,
    proposal: Proposal = "proposed",
    alters_replay: bool = False,
) -> tuple[Feature, ...]:
    return tuple(Feature(name, kind, (), proposal=proposal, alters_replay=alters_replay) for name in names)


FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("appendOnly", "writer", _ALL, legacy_writer=2),
        Feature("invariants", "writer", _ALL, legacy_writer=2),
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
        *_proposals(
            "writer",
            "checkpointProtection",
            "columnMappingUsageTracking",
            "concurrentIdentityColumns",
            "icebergCompatV3",
            "icebergNativeV4",
            "icebergWriterCompatV1",
            "icebergWriterCompatV3",
            "invisibleColumns",
            "redirectWriterOnly",
        ),
        *_proposals("reader-writer", "geospatial", "materializedVoidType", "redirectReaderWriter", "timestampNanos"),
        *_proposals("reader-writer", "adaptiveMetadata", "columnUpdates", alters_replay=True),
        *_proposals("writer", "collations", "materializePartitionColumns", proposal="accepted"),
        *_proposals("writer", "coordinatedCommits", "managedCommit", proposal="superseded"),
        *_proposals("reader-writer", "catalogOwned", proposal="superseded"),
    )
}

MISSPELT = {
    "timestampNTZ": ("timestampNtz",),
    "columnInvariants": ("invariants",),
    "rowIds": ("rowTracking",),
    "delta.rowIds": ("rowIds", "rowTracking"),
}
"""Names that a text printed wrongly, or an earlier one otherwise (E21, E22, E25), and the names that are meant."""

MAX_READER_VERSION = 3
MAX_WRITER_VERSION = 7


def get_feature(name: str, revision: str = "current") -> Feature | None:
    """The feature of that name in a revision, or None for one that the text does not define.

    Names of proposals are unknown to every revision, and so are `-preview` and `-dev` names.
    """
    feature = FEATURES.get(name)
    return feature if feature is not None and revision in feature.revisions else None


def get_known_features(revision: str) -> frozenset[str]:
    """Names of the features that a revision defines; before r3 `timestampNtz` is spelled either way (E22)."""
    named = {name for name, feature in FEATURES.items() if revision in feature.revisions}
    return frozenset(named | ({"timestampNtz"} if "timestampNTZ" in named else set()))


def get_current_name(name: str, revision: str) -> str:
    """A feature's name as the newest text spells it: before r3 `timestampNtz` had another (E22)."""
    return "timestampNtz" if name == "timestampNTZ" and name in get_known_features(revision) else name


def resolve_feature(name: str, revision: str = "current") -> Feature | None:
    """The feature that a revision knows by a name, be it by another spelling that it takes (E22)."""
    found = get_feature(name, revision)
    return (
        FEATURES[get_current_name(name, revision)] if found is None and name in get_known_features(revision) else found
    )


def intended_name(name: str, revision: str = "current") -> str | None:
    """The feature of a revision that an unknown name is a slip of: a misprint of a text, or another case."""
    if name in get_known_features(revision):
        return None
    named = [each for each in FEATURES if get_feature(each, revision)]
    likely = [*MISSPELT.get(name, ()), *(each for each in named if each.lower() == name.lower())]
    return next((each for each in likely if each in named), None)


def get_required_features(name: str, revision: str = "current") -> tuple[str, ...]:
    """Names of the features that a feature requires, by the text of a revision."""
    feature = get_feature(name, revision)
    if feature is None or _ORDER.index(revision) < _ORDER.index(feature.requires_since):
        return ()
    return feature.requires


def strip_preview_suffix(name: str) -> str:
    """The feature that a `-preview` or `-dev` name is an early form of; any other name as it is."""
    return name.removesuffix("-preview").removesuffix("-dev")


def is_proposed_or_preview(name: str) -> bool:
    """Whether a name is that of a proposal, or a preview of a feature: unknown, but no slip of the pen."""
    base = strip_preview_suffix(name)
    return base in FEATURES and (base != name or not FEATURES[name].revisions)


def get_feature_status(name: str, revision: str = "current") -> Status:
    """Where a name stands: defined by the revision, an early form of a feature, a proposal's, or nobody's."""
    if get_feature(name, revision):
        return "standard"
    if not is_proposed_or_preview(name):
        return "unknown"
    return FEATURES[name].proposal or "unknown" if name in FEATURES else "preview"


def may_alter_replay(name: str, revision: str = "current") -> bool:
    """Whether a feature that readers need may make another table of the log than the text: nobody's, or so proposed."""
    base = FEATURES.get(strip_preview_suffix(name))
    return get_feature_status(name, revision) == "unknown" or (base is not None and base.alters_replay)


def get_implied_features(min_reader_version: int, min_writer_version: int) -> set[str]:
    """Features that legacy versions stand for. Source: Writer Version Requirements, Reader Version Requirements."""
    found = set()
    for feature in FEATURES.values():
        if feature.legacy_writer is None or not feature.legacy_writer <= min_writer_version < MAX_WRITER_VERSION:
            continue
        if feature.legacy_reader is not None and min_reader_version < feature.legacy_reader:
            continue
        found.add(feature.name)
    return found
