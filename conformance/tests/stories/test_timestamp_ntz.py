"""The life of a table with timestamps without a time zone. Source: Timestamp without timezone (TimestampNtz)."""

import pytest
from stories.lives import Life, add, field, metadata, protocol, schema

from deltaspec.model.configuration import active_features
from deltaspec.model.data_types import Primitive
from deltaspec.model.features import known_in
from deltaspec.model.parquet_types import Annotation, Node, stored
from deltaspec.model.protocol import Accepted, may_read
from deltaspec.model.reconciliation import Snapshot
from deltaspec.model.revisions import Revision
from deltaspec.model.schema import parse_schema

OLD, NEW = (protocol(3, 7, [name], [name]) for name in ("timestampNTZ", "timestampNtz"))
PREVIEW = protocol(3, 7, ["timestampNtz-preview"], ["timestampNtz-preview"])
ID, SEEN = field("id"), field("seen", "timestamp_ntz")
NTZ = Primitive("timestamp_ntz")
EARLY, LATE = [Revision.R1, Revision.R2], [Revision.R3, Revision.CURRENT]


def active(snapshot: Snapshot) -> set[str]:
    assert snapshot.protocol is not None
    assert snapshot.metadata is not None
    return active_features(snapshot.protocol, snapshot.metadata, parse_schema(snapshot.metadata.schema_string))


@pytest.mark.parametrize("revision", EARLY)
def test_early_texts_spell_it_in_capitals_and_engines_did_not(revision: Revision) -> None:
    """E22."""
    for spelling in (OLD, NEW):
        life = Life(protocol(1, 2), metadata({}, schema(ID)), add("a"), revision=revision)
        assert life.refused(metadata({}, schema(ID, SEEN))) == "schema.types-need-features"
        life.commit(spelling, metadata({}, schema(ID, SEEN)))
        life.commit(add("b"))
        assert may_read(spelling, known_in(revision)) == Accepted()
    life.commit(OLD)  # either name is the feature
    life.commit(NEW)


@pytest.mark.parametrize("revision", LATE)
def test_later_texts_know_one_name(revision: Revision) -> None:
    life = Life(protocol(1, 2), metadata({}, schema(ID)), add("a"), revision=revision)
    assert life.refused(OLD, metadata({}, schema(ID, SEEN))) == "schema.types-need-features"
    life.commit(NEW, metadata({}, schema(ID, SEEN)))
    life.commit(add("b"))
    assert active(life[0]) == set()
    assert active(life.now) == {"timestampNtz"}
    assert may_read(OLD, known_in(revision)) != Accepted()
    assert may_read(NEW, known_in(revision)) == Accepted()


@pytest.mark.parametrize("revision", [*EARLY, *LATE])
def test_preview_lets_the_type_in(revision: Revision) -> None:
    Life(PREVIEW, metadata({}, schema(ID, SEEN)), add("a"), revision=revision)


@pytest.mark.parametrize("revision", [*EARLY, *LATE])
def test_feature_is_for_readers_too(revision: Revision) -> None:
    name = "timestampNTZ" if revision in EARLY else "timestampNtz"
    life = Life(protocol(1, 2), metadata({}, schema(ID)), revision=revision)
    one_side = protocol(3, 7, [], [name])
    assert life.refused(one_side) == "table-features.reader-feature-on-both-sides"


def test_elements_keys_and_values_need_it_too() -> None:
    life = Life(protocol(1, 2), metadata({}, schema(ID)))
    listed = {"type": "array", "elementType": "timestamp_ntz", "containsNull": True}
    pairs = {"type": "map", "keyType": "timestamp_ntz", "valueType": "long", "valueContainsNull": True}
    for kind in (listed, pairs, {"type": "struct", "fields": [SEEN]}):
        assert life.refused(metadata({}, schema(field("c", kind)))) == "schema.types-need-features"
        life.commit(NEW, metadata({}, schema(field("c", kind))))
        life = Life(protocol(1, 2), metadata({}, schema(ID)))


def test_files_hold_it_without_a_zone() -> None:
    def node(utc: bool) -> Node:
        return Node("seen", "optional", "INT64", Annotation("TIMESTAMP", unit="MICROS", utc=utc))

    assert stored(NTZ, node(utc=False)).fault is None
    assert stored(NTZ, node(utc=True)).fault is not None
    assert stored(Primitive("timestamp"), node(utc=False)).fault is not None
