"""Clients that may read and write a table, and valid protocol actions. Source: Protocol Evolution; Table Features."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.model.decisions import Accepted, Refused, may_read, may_write
from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features.supported_features import (
    FAULTS,
    find_missing_required_features,
    find_protocol_faults,
    get_reader_features,
    get_supported_features,
    supports,
)
from deltaspec.protocol.features.table_features import FEATURES


def protocol(reader: int, writer: int, readers: list[str] | None = None, writers: list[str] | None = None) -> Protocol:
    return Protocol(
        min_reader_version=reader, min_writer_version=writer, reader_features=readers, writer_features=writers
    )


LEGACY = {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping"}


@pytest.mark.parametrize(
    ("action", "readers", "supported"),
    [
        (protocol(1, 1), set(), set()),
        (protocol(1, 2), set(), {"appendOnly", "invariants"}),
        (protocol(2, 5), {"columnMapping"}, LEGACY),
        (protocol(1, 7, None, ["appendOnly"]), set(), {"appendOnly"}),
        (protocol(2, 7, None, ["columnMapping"]), {"columnMapping"}, {"columnMapping"}),
        (protocol(2, 7, None, ["appendOnly"]), set(), {"appendOnly"}),
        (protocol(3, 7, [], []), set(), set()),
        (protocol(3, 7, ["deletionVectors"], ["deletionVectors", "x"]), {"deletionVectors"}, {"deletionVectors", "x"}),
        (protocol(3, 7, ["columnMapping"], ["columnMapping"]), {"columnMapping"}, {"columnMapping"}),
    ],
)
def test_supported_features(action: Protocol, readers: set[str], supported: set[str]) -> None:
    assert get_reader_features(action) == readers
    assert get_supported_features(action) == supported
    assert [name for name in supported if not supports(action, name)] == []
    assert not supports(action, "rowTracking")


def test_writer_version_7_does_not_inherit_legacy_features() -> None:
    """E43: each feature's chapter requires its name to be listed at version 7."""
    assert not supports(protocol(2, 7, None, []), "appendOnly")


def test_client_that_knows_everything_may_read_and_write() -> None:
    for action in (protocol(1, 1), protocol(2, 6), protocol(3, 7, ["deletionVectors"], ["deletionVectors"])):
        assert may_read(action) == Accepted()
        assert may_write(action) == Accepted()


@pytest.mark.parametrize(
    ("action", "requirement", "why"),
    [
        (protocol(4, 7, [], []), "protocol.versions-supported", "reader version 4"),
        (protocol(3, 7, ["y", "x"], ["x", "y"]), "table-features.reader-supports-all", "reader features x, y"),
        (protocol(3, 7, ["deletionVectors-dev"], ["deletionVectors-dev"]), "table-features.reader-supports-all",
         "reader features deletionVectors-dev"),
        (protocol(3, 7, ["collations"], ["collations"]), "table-features.reader-supports-all",
         "reader features collations"),
    ],
)  # fmt: skip
def test_unknown_reader_requirements_refuse_reading_and_writing(action: Protocol, requirement: str, why: str) -> None:
    assert may_read(action) == Refused(requirement, why)
    assert may_write(action) == Refused(requirement, why)


@pytest.mark.parametrize(
    ("action", "requirement", "why"),
    [
        (protocol(1, 8), "protocol.versions-supported", "writer version 8"),
        (protocol(1, 7, None, ["x"]), "table-features.writer-supports-all", "writer features x"),
        (protocol(3, 7, [], ["icebergCompatV3"]), "table-features.writer-supports-all",
         "writer features icebergCompatV3"),
    ],
)  # fmt: skip
def test_unknown_writer_requirements_refuse_only_writing(action: Protocol, requirement: str, why: str) -> None:
    assert may_read(action) == Accepted()
    assert may_write(action) == Refused(requirement, why)


def test_client_with_few_features() -> None:
    vectors = protocol(3, 7, ["deletionVectors"], ["deletionVectors", "appendOnly"])
    assert may_read(vectors, features=["columnMapping"]) == Refused(
        "table-features.reader-supports-all", "reader features deletionVectors"
    )
    assert may_read(vectors, features=["deletionVectors"]) == Accepted()
    assert may_write(vectors, features=["deletionVectors"]) == Refused(
        "table-features.writer-supports-all", "writer features appendOnly"
    )
    assert may_read(vectors, max_version=2) == Refused("protocol.versions-supported", "reader version 3")
    assert may_write(protocol(1, 4), max_writer=3) == Refused("protocol.versions-supported", "writer version 4")
    assert may_read(protocol(2, 5), features=[]) == Refused(
        "table-features.reader-supports-all", "reader features columnMapping"
    )


@pytest.mark.parametrize(
    "action",
    [
        protocol(1, 1),
        protocol(1, 2),
        protocol(2, 5),
        protocol(1, 7, None, []),
        protocol(2, 7, None, ["columnMapping"]),
        protocol(3, 7, [], []),
        protocol(3, 7, ["x"], ["x", "y"]),
        protocol(3, 7, ["variantType-preview", "variantShredding"], ["variantType-preview", "variantShredding"]),
        protocol(3, 7, [], ["rowTracking", "domainMetadata"]),
        protocol(4, 8, ["z"], ["z"]),
    ],
)
def test_valid_protocols_have_no_faults(action: Protocol) -> None:
    assert find_protocol_faults(action) == []


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (protocol(0, 2), [("version out of range", None)]),
        (protocol(3, 5, []), [("reader 3 with writer below 7", None)]),
        (protocol(1, 7, [], []), [("reader features without reader version 3", None)]),
        (protocol(2, 5, ["columnMapping"]), [("reader features without reader version 3", None)]),
        (protocol(3, 7, None, ["deletionVectors"]), [("missing reader features", None)]),
        (protocol(1, 2, None, ["appendOnly"]), [("writer features without writer version 7", None)]),
        (protocol(3, 7, ["deletionVectors"]), [("missing writer features", None)]),
        (protocol(3, 7, ["x"], []), [("feature only in readerFeatures", "x")]),
        (protocol(3, 7, ["appendOnly"], ["appendOnly"]), [("writer-only feature in readerFeatures", "appendOnly")]),
        (
            protocol(3, 7, [], ["columnMapping", "deletionVectors"]),
            [
                ("reader-writer feature missing from readerFeatures", "columnMapping"),
                ("reader-writer feature missing from readerFeatures", "deletionVectors"),
            ],
        ),
        (
            protocol(1, 7, None, ["columnMapping"]),
            [("reader-writer feature missing from readerFeatures", "columnMapping")],
        ),
        (
            protocol(2, 7, None, ["deletionVectors"]),
            [("reader-writer feature missing from readerFeatures", "deletionVectors")],
        ),
        (protocol(3, 7, ["x", "x"], ["x"]), [("duplicate feature", "x")]),
        (protocol(1, 7, None, ["rowTracking"]), [("required feature missing", "rowTracking")]),
        (
            protocol(3, 7, [], ["clustering", "appendOnly", "appendOnly"]),
            [("duplicate feature", "appendOnly"), ("required feature missing", "clustering")],
        ),
        (
            protocol(3, 4, None, ["appendOnly"]),
            [
                ("reader 3 with writer below 7", None),
                ("missing reader features", None),
                ("writer features without writer version 7", None),
            ],
        ),
    ],
)
def test_faults_of_a_protocol(action: Protocol, expected: list[tuple[str, str | None]]) -> None:
    assert find_protocol_faults(action) == expected


def test_missing_required_features_are_found() -> None:
    assert find_missing_required_features(protocol(1, 7, None, ["clustering"]), "clustering") == ["domainMetadata"]
    assert find_missing_required_features(protocol(1, 7, None, ["clustering", "domainMetadata"]), "clustering") == []
    preview = protocol(3, 7, ["variantShredding-preview"], ["variantShredding-preview"])
    assert find_missing_required_features(preview, "variantShredding-preview") == ["variantType"]
    assert find_protocol_faults(preview) == []  # S44
    assert find_missing_required_features(protocol(1, 7, None, ["x"]), "x") == []
    assert (
        find_missing_required_features(protocol(2, 7, None, ["icebergCompatV1", "columnMapping"]), "icebergCompatV1")
        == []
    )


feature_lists = st.none() | st.lists(st.sampled_from([*FEATURES, "x"]), max_size=4)


@settings(deadline=None)
@given(st.builds(protocol, st.integers(-1, 5), st.integers(-1, 9), feature_lists, feature_lists))
def test_every_protocol_is_decided(action: Protocol) -> None:
    assert {kind for kind, _ in find_protocol_faults(action)} <= set(FAULTS)
    if isinstance(may_read(action), Refused):
        assert isinstance(may_write(action), Refused)
    if isinstance(may_write(action), Accepted):
        assert action.min_reader_version <= 3
        assert action.min_writer_version <= 7
