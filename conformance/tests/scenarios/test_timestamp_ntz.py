"""Scenario: a table with timestamps without time zone. Source: Timestamp without timezone (TimestampNtz)."""

import pytest
from helpers.scenario import Scenario, add, field, metadata, protocol, schema

from deltaspec.model.decisions import Accepted, may_read
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.features.table_features import get_known_features
from deltaspec.protocol.features.table_properties import find_active_features
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Primitive
from deltaspec.protocol.schema.parquet_types import Annotation, Node, get_stored_type
from deltaspec.protocol.schema.schema_string import parse_schema

OLD, NEW = (protocol(3, 7, [name], [name]) for name in ("timestampNTZ", "timestampNtz"))
PREVIEW = protocol(3, 7, ["timestampNtz-preview"], ["timestampNtz-preview"])
ID, SEEN = field("id"), field("seen", "timestamp_ntz")
NTZ = Primitive("timestamp_ntz")
EARLY, LATE = [Revision.R1, Revision.R2], [Revision.R3, Revision.CURRENT]


def active(snapshot: Snapshot) -> set[str]:
    assert snapshot.protocol is not None
    assert snapshot.metadata is not None
    return find_active_features(snapshot.protocol, snapshot.metadata, parse_schema(snapshot.metadata.schema_string))


@pytest.mark.parametrize("revision", EARLY)
def test_early_revisions_and_engines_spell_it_differently(revision: Revision) -> None:
    """E22."""
    for spelling in (OLD, NEW):
        scenario = Scenario(protocol(1, 2), metadata({}, schema(ID)), add("a"), revision=revision)
        assert scenario.expect_refusal(metadata({}, schema(ID, SEEN))) == "schema.types-need-features", f"{spelling=}"
        scenario.commit(spelling, metadata({}, schema(ID, SEEN)))
        scenario.commit(add("b"))
        assert may_read(spelling, get_known_features(revision)) == Accepted()
    scenario.commit(OLD)  # either name is the feature
    scenario.commit(NEW)


@pytest.mark.parametrize("revision", LATE)
def test_later_revisions_have_one_name(revision: Revision) -> None:
    scenario = Scenario(protocol(1, 2), metadata({}, schema(ID)), add("a"), revision=revision)
    assert scenario.expect_refusal(OLD, metadata({}, schema(ID, SEEN))) == "schema.types-need-features"
    scenario.commit(NEW, metadata({}, schema(ID, SEEN)))
    scenario.commit(add("b"))
    assert active(scenario[0]) == set()
    assert active(scenario.now) == {"timestampNtz"}
    assert may_read(OLD, get_known_features(revision)) != Accepted()
    assert may_read(NEW, get_known_features(revision)) == Accepted()


@pytest.mark.parametrize("revision", [*EARLY, *LATE])
def test_preview_allows_the_type(revision: Revision) -> None:
    Scenario(PREVIEW, metadata({}, schema(ID, SEEN)), add("a"), revision=revision)


@pytest.mark.parametrize("revision", [*EARLY, *LATE])
def test_feature_affects_readers_too(revision: Revision) -> None:
    name = "timestampNTZ" if revision in EARLY else "timestampNtz"
    scenario = Scenario(protocol(1, 2), metadata({}, schema(ID)), revision=revision)
    one_side = protocol(3, 7, [], [name])
    assert scenario.expect_refusal(one_side) == "table-features.reader-feature-on-both-sides"


def test_elements_keys_and_values_require_it_too() -> None:
    scenario = Scenario(protocol(1, 2), metadata({}, schema(ID)))
    listed = {"type": "array", "elementType": "timestamp_ntz", "containsNull": True}
    pairs = {"type": "map", "keyType": "timestamp_ntz", "valueType": "long", "valueContainsNull": True}
    for kind in (listed, pairs, {"type": "struct", "fields": [SEEN]}):
        assert scenario.expect_refusal(metadata({}, schema(field("c", kind)))) == "schema.types-need-features"
        scenario.commit(NEW, metadata({}, schema(field("c", kind))))
        scenario = Scenario(protocol(1, 2), metadata({}, schema(ID)))


def test_files_store_it_without_a_zone() -> None:
    def node(utc: bool) -> Node:
        return Node("seen", "optional", "INT64", Annotation("TIMESTAMP", unit="MICROS", utc=utc))

    assert get_stored_type(NTZ, node(utc=False)).fault is None
    assert get_stored_type(NTZ, node(utc=True)).fault is not None
    assert get_stored_type(Primitive("timestamp"), node(utc=False)).fault is not None
