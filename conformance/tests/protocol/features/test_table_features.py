"""The registry of table features. Source: Valid Feature Names in Table Features, and each feature's chapter."""

import pytest

from deltaspec.protocol.features.table_features import (
    FEATURES,
    find_intended_name,
    get_current_name,
    get_feature,
    get_feature_status,
    get_implied_features,
    get_required_features,
    is_proposed_or_preview,
    may_alter_replay,
    resolve_feature,
    strip_preview_suffix,
)

ALWAYS = {
    "appendOnly": "writer",
    "invariants": "writer",
    "checkConstraints": "writer",
    "generatedColumns": "writer",
    "changeDataFeed": "writer",
    "identityColumns": "writer",
    "domainMetadata": "writer",
    "columnMapping": "reader-writer",
    "deletionVectors": "reader-writer",
}
SINCE_R3 = {
    "rowTracking": "writer",
    "timestampNtz": "reader-writer",
    "v2Checkpoint": "reader-writer",
    "allowColumnDefaults": "writer",
    "icebergCompatV1": "writer",
    "icebergCompatV2": "writer",
    "clustering": "writer",
}
SINCE_CURRENT = {
    "inCommitTimestamp": "writer",
    "vacuumProtocolCheck": "reader-writer",
    "catalogManaged": "reader-writer",
    "typeWidening": "reader-writer",
    "variantType": "reader-writer",
    "variantShredding": "reader-writer",
}


@pytest.mark.parametrize(
    ("revision", "names"),
    [
        ("r1", ALWAYS | {"columnInvariants": "writer", "rowIds": "writer", "timestampNTZ": "reader-writer"}),
        ("r2", ALWAYS | {"columnInvariants": "writer", "rowTracking": "writer", "timestampNTZ": "reader-writer"}),
        ("r3", ALWAYS | SINCE_R3),
        ("current", ALWAYS | SINCE_R3 | SINCE_CURRENT),
    ],
)
def test_names_of_a_revision(revision: str, names: dict[str, str]) -> None:
    found = {name: get_feature(name, revision) for name in FEATURES}
    assert {name: feature.kind for name, feature in found.items() if feature} == names


def test_required_features() -> None:
    assert {name: feature.requires for name, feature in FEATURES.items() if feature.requires} == {
        "rowTracking": ("domainMetadata",),
        "clustering": ("domainMetadata",),
        "icebergCompatV1": ("columnMapping",),
        "icebergCompatV2": ("columnMapping",),
        "icebergCompatV3": ("columnMapping",),
        "icebergWriterCompatV1": ("columnMapping", "icebergCompatV2"),
        "icebergWriterCompatV3": ("columnMapping", "icebergCompatV3"),
        "icebergNativeV4": ("adaptiveMetadata",),
        "catalogManaged": ("inCommitTimestamp",),
        "concurrentIdentityColumns": ("catalogManaged", "identityColumns"),
        "variantShredding": ("variantType",),
        "timestampNanos": ("timestampNtz",),
        "columnUpdates": ("columnMapping",),
        "clusteringExpressions": ("clustering", "domainMetadata"),
        "multiTableTransaction": ("catalogManaged",),
        "recordLevelIndex": ("rowTracking", "domainMetadata"),
        "tableBranching": ("domainMetadata",),
        "collations": ("domainMetadata",),
        "adaptiveMetadata": (
            "columnMapping",
            "rowTracking",
            "domainMetadata",
            "deletionVectors",
            "inCommitTimestamp",
        ),
    }


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (1, 1, set()),
        (1, 2, {"appendOnly", "invariants"}),
        (1, 3, {"appendOnly", "invariants", "checkConstraints"}),
        (1, 4, {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"}),
        (
            2,
            5,
            {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping"},
        ),
        (
            1,
            6,
            {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "identityColumns"},
        ),
        (2, 6, set(ALWAYS) - {"domainMetadata", "deletionVectors"}),
        (2, 4, {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"}),
        (1, 7, set()),
        (3, 7, set()),
    ],
)
def test_legacy_versions_imply_features(reader: int, writer: int, expected: set[str]) -> None:
    assert get_implied_features(reader, writer) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deletionVectors", "standard"),
        ("typeWidening-preview", "preview"),
        ("inCommitTimestamp-dev", "preview"),
        ("variantShredding-preview", "preview"),
        ("checkpointProtection", "proposed"),
        ("collations", "proposed"),
        ("materializePartitionColumns", "proposed"),
        ("fileType", "proposed"),
        ("intervalTypes", "proposed"),
        ("icebergWriterCompatV3", "engine-only"),
        ("icebergCompatV3", "proposed"),
        ("columnUpdates", "proposed"),
        ("invisibleColumns", "proposed"),
        ("coordinatedCommits", "superseded"),
        ("catalogOwned", "superseded"),
        ("timestampNanos", "proposed"),
        ("materializedVoidType", "proposed"),
        ("catalogOwned-preview", "preview"),
        ("collations-preview", "preview"),
        ("deletionvectors", "unknown"),
        ("columnInvariants", "unknown"),
        ("timestampNTZ", "unknown"),
        ("rowIds", "unknown"),
        ("x-preview", "unknown"),
        ("", "unknown"),
    ],
)
def test_status_of_a_name_in_the_current_revision(name: str, expected: str) -> None:
    assert get_feature_status(name) == expected
    assert is_proposed_or_preview(name) == (expected in ("preview", "proposed", "engine-only", "superseded"))
    assert (get_feature(name) is not None) == (expected == "standard")


def test_features_of_no_revision_have_a_proposal() -> None:
    for feature in FEATURES.values():
        assert (feature.proposal is None) == bool(feature.revisions)
        assert feature.proposal is not None or not feature.alters_replay


def test_features_that_may_alter_replay() -> None:
    names = ["adaptiveMetadata", "columnUpdates", "columnUpdates-preview", "madeUp", "deletionvectors"]
    assert [name for name in names if may_alter_replay(name)] == names
    others = ["deletionVectors", "catalogManaged", "catalogOwned-preview", "geospatial", "collations"]
    assert [name for name in others if may_alter_replay(name)] == []


def test_old_spellings_belong_to_their_revisions() -> None:
    """E21, E22, E25."""
    assert [get_feature_status("timestampNTZ", revision) for revision in ("r1", "r2", "r3")] == [
        "standard",
        "standard",
        "unknown",
    ]
    assert [get_feature_status("rowIds", revision) for revision in ("r1", "r2")] == ["standard", "unknown"]
    assert [get_feature_status("columnInvariants", each) for each in ("r1", "r2", "r3")] == [
        "standard",
        "standard",
        "unknown",
    ]
    assert [get_current_name("columnInvariants", each) for each in ("r1", "r2", "r3")] == [
        "invariants",
        "invariants",
        "columnInvariants",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("timestampNTZ", (None, None, "timestampNtz", "timestampNtz")),
        ("timestampNtz", (None, None, None, None)),
        ("timestampntz", ("timestampNTZ", "timestampNTZ", "timestampNtz", "timestampNtz")),
        ("columnInvariants", (None, None, "invariants", "invariants")),
        ("rowIds", (None, "rowTracking", "rowTracking", "rowTracking")),
        ("delta.rowIds", ("rowIds", "rowTracking", "rowTracking", "rowTracking")),
        ("DeletionVectors", ("deletionVectors",) * 4),
        ("v2checkpoint", (None, None, "v2Checkpoint", "v2Checkpoint")),
        ("rowTracking", (None,) * 4),
        ("clustering", (None,) * 4),
        ("noSuchFeature", (None,) * 4),
    ],
)
def test_misspelled_name_differs_from_an_unknown_name(name: str, expected: tuple[str | None, ...]) -> None:
    """E21, E22, E25. A name of a newer revision is not a misspelling."""
    assert tuple(find_intended_name(name, revision) for revision in ("r1", "r2", "r3", "current")) == expected


def test_spelling_of_engines_is_known_in_older_revisions() -> None:
    """E22."""
    assert get_feature("timestampNtz", "r1") is None
    found = resolve_feature("timestampNtz", "r1")
    assert found is not None
    assert found.kind == "reader-writer"
    assert resolve_feature("clustering", "r1") is None


def test_row_tracking_requires_domains_only_in_the_newest_revision() -> None:
    assert [get_required_features("rowTracking", revision) for revision in ("r2", "r3")] == [(), ()]
    assert get_required_features("rowTracking", "current") == ("domainMetadata",)
    assert get_required_features("clustering", "r3") == ("domainMetadata",)
    assert get_required_features("clustering", "r2") == ()


def test_preview_suffix_is_stripped() -> None:
    assert strip_preview_suffix("typeWidening-preview") == "typeWidening"
    assert strip_preview_suffix("managedCommit-dev") == "managedCommit"
    assert strip_preview_suffix("variantType") == "variantType"
