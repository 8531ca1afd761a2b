"""States are compared by protocol value."""

from typing import Any

import msgspec
import pytest
from helpers.small_logs import add, domain, metadata, protocol, remove

from deltaspec.model.log.state_differences import Difference, compare_keyed, compare_single, read_partition_types
from deltaspec.protocol.actions import Add, DeletionVectorDescriptor, Format, MetaData, Protocol, Txn
from deltaspec.protocol.log.compared_fields import DerivedFileKind, PartitionTypes, normalize_json
from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive

SCHEMA = '{"type":"struct","fields":[{"name":"p","type":"integer","nullable":true,"metadata":%s}]}'
MAPPED = '{"delta.columnMapping.physicalName":"col-1","delta.columnMapping.id":1}'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":2}', '{ "b": 2, "a": 1 }'),
        ('{"a":1}', '{"a":1,"b":null}'),
        ('{"a":1}', '{"a":1,"b":{}}'),
        ('{"a":1}', '{"a":1,"b":{"c":null}}'),
        ('{"a":1}', '{"a":1.0}'),
        ('{"a":100}', '{"a":1e2}'),
        ('{"a":0}', '{"a":-0.0}'),
        ('{"a":0.10}', '{"a":0.1}'),
        ('{"a":"\\u0041"}', '{"a":"A"}'),
        ("not json", "not json"),
    ],
)
def test_equal_json_values(one: str, other: str) -> None:
    assert normalize_json(one) == normalize_json(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{"a":2}'),
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":1}', '{"a":true}'),
        ('{"a":0}', '{"a":false}'),
        ('{"a":true}', '{"a":false}'),
        ('{"a":false}', "{}"),
        ('{"a":0}', "{}"),
        ('{"a":""}', "{}"),
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        ('{"a":12345678901234567890.1}', '{"a":12345678901234567890.2}'),
        ('{"a":9007199254740993}', '{"a":9007199254740992}'),
        ("not json", "no json"),
        ("[" * 100_000, "[" * 99_999),
        ('{"a":1e999999999999999999999}', '{"a":1e999999999999999999998}'),
    ],
    ids=lambda text: text[:30],
)
def test_different_json_values(one: str, other: str) -> None:
    assert normalize_json(one) != normalize_json(other)


def test_feature_lists_are_sets() -> None:
    ours, theirs = protocol(3, 7, "a", "b", "b"), protocol(3, 7, "b", "a")
    assert compare_single("checkpoint", "protocol", ours, theirs, {}) == []
    (found, other) = compare_single("checkpoint", "protocol", protocol(3, 7, "a"), theirs, {})
    assert (found.field, other.field) == ("readerFeatures", "writerFeatures")
    assert (found.derived, found.replayed) == (["a"], ["a", "b"])


def test_absent_and_empty_feature_lists_are_equal() -> None:
    ours = Protocol(min_reader_version=1, min_writer_version=7, reader_features=[], writer_features=[])
    theirs = Protocol(min_reader_version=1, min_writer_version=7)
    assert compare_single("checkpoint", "protocol", ours, theirs, {}) == []


def test_schemas_are_compared_as_values() -> None:
    spaced = (SCHEMA % "{}").replace(",", " , ")
    assert compare_single("checkpoint", "metaData", metadata(spaced), metadata(SCHEMA % "{}"), {}) == []
    (found,) = compare_single("checkpoint", "metaData", metadata(SCHEMA % '{"a":1}'), metadata(SCHEMA % "{}"), {})
    assert found.field == "schemaString"


def test_invalid_schemas_are_compared_as_strings() -> None:
    assert compare_single("checkpoint", "metaData", metadata("{"), metadata("{"), {}) == []
    (found,) = compare_single("checkpoint", "metaData", metadata("{"), metadata("{ "), {})
    assert (found.derived, found.replayed) == ("{", "{ ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "other"),
        ("name", "n"),
        ("description", "d"),
        ("partition_columns", ["p"]),
        ("configuration", {"a": "b"}),
        ("created_time", 5),
        ("format", Format(provider="parquet", options={"a": "b"})),
    ],
)
def test_every_field_of_metadata_is_compared(field: str, value: object) -> None:
    other: MetaData = msgspec.structs.replace(metadata(), **{field: value})
    (found,) = compare_single("checkpoint", "metaData", other, metadata(), {})
    expected = value.options if isinstance(value, Format) else value
    assert (found.kind, found.key, found.what, found.derived) == ("metaData", None, "differs", expected)


@pytest.mark.parametrize("field", ["size", "modification_time", "base_row_id", "default_row_commit_version"])
def test_fields_of_a_live_file_are_compared(field: str) -> None:
    other = msgspec.structs.replace(add("a"), **{field: 77})
    (found,) = compare_keyed("checkpoint", "add", {"a": other}, {"a": add("a")}, {})
    assert (found.what, found.derived) == ("differs", 77)


@pytest.mark.parametrize("field", ["base_row_id", "default_row_commit_version"])
def test_live_file_must_keep_its_row_tracking(field: str) -> None:
    expected_state = msgspec.structs.replace(add("a"), **{field: 3})
    (found,) = compare_keyed("checkpoint", "add", {"a": add("a")}, {"a": expected_state}, {})
    assert (found.derived, found.replayed) == (None, 3)


def change(action: str, **fields: Any) -> tuple[Any, Any]:
    """Return an add or remove, and the same action with other fields."""
    before = add("a") if action == "add" else remove("a")
    return before, msgspec.structs.replace(before, **fields)


VECTOR = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="x", size_in_bytes=40, cardinality=2)


@pytest.mark.parametrize(
    ("action", "fields", "name"),
    [
        ("add", {"tags": {"k": "v"}}, "tags"),
        ("add", {"clustering_provider": "liquid"}, "clusteringProvider"),
        ("add", {"deletion_vector": VECTOR}, "deletionVector"),
        ("remove", {"extended_file_metadata": True}, "extendedFileMetadata"),
        ("remove", {"size": 1}, "size"),
        ("remove", {"deletion_timestamp": 1}, "deletionTimestamp"),
        ("remove", {"base_row_id": 1}, "baseRowId"),
    ],
)
def test_optional_fields_are_compared_with_absent_ones(action: str, fields: dict[str, Any], name: str) -> None:
    before, after = change(action, **fields)
    for ours, theirs in ((before, after), (after, before)):
        found = compare_keyed("checkpoint", action, {"a": ours}, {"a": theirs}, {})
        assert name in [each.field for each in found], f"{ours=}, {theirs=}"


@pytest.mark.parametrize("field", ["size_in_bytes", "cardinality"])
def test_every_field_of_a_vector_is_compared(field: str) -> None:
    ours, theirs = change("add", deletion_vector=VECTOR)[1], msgspec.structs.replace(VECTOR, **{field: 7})
    (found,) = compare_keyed("checkpoint", "add", {"a": ours}, {"a": change("add", deletion_vector=theirs)[1]}, {})
    assert found.replayed == 7


@pytest.mark.parametrize("empty", [{"tags": {}}, {"stats": "{}"}, {"stats": ""}])
def test_empty_values_equal_absent_ones(empty: dict[str, Any]) -> None:
    before, after = change("add", **empty)
    assert compare_keyed("compaction", "add", {"a": before}, {"a": after}, {}) == []


def test_writers_may_set_data_change_to_false_but_not_to_true() -> None:
    changed, rearranged = change("add", data_change=False)
    assert changed.data_change
    assert compare_keyed("checkpoint", "add", {"a": rearranged}, {"a": changed}, {}) == []
    (found,) = compare_keyed("checkpoint", "add", {"a": changed}, {"a": rearranged}, {})
    assert found.field == "dataChange"


def test_statistics_are_compared_as_json() -> None:
    expected_state = add("a", stats='{"numRecords":3,"minValues":{"x":1.50},"nullCount":{}}')
    same = add("a", stats='{"minValues":{"x":1.5},"numRecords":3}')
    assert compare_keyed("checkpoint", "add", {"a": same}, {"a": expected_state}, {}) == []
    other = add("a", stats='{"numRecords":4}')
    (found,) = compare_keyed("checkpoint", "add", {"a": other}, {"a": expected_state}, {})
    assert found.field == "stats"


@pytest.mark.parametrize(
    ("file_kind", "lost", "invented"), [("checkpoint", 0, 1), ("compaction", 1, 1), ("checksum", 1, 1)]
)
def test_only_checkpoints_may_lose_statistics(file_kind: DerivedFileKind, lost: int, invented: int) -> None:
    bare, full = add("a"), add("a", stats='{"numRecords":3}')
    assert len(compare_keyed(file_kind, "add", {"a": bare}, {"a": full}, {})) == lost
    assert len(compare_keyed(file_kind, "add", {"a": full}, {"a": bare}, {})) == invented


def test_what_a_checkpoint_may_lose_is_unknown_after_it() -> None:
    base, full = add("a"), add("a", stats='{"numRecords":3}')
    assert compare_keyed("checksum", "add", {"a": full}, {"a": base}, {}, inherited={"a": base}) == []
    tagged: Add = msgspec.structs.replace(base, tags={"k": "v"})
    (found,) = compare_keyed("checksum", "add", {"a": tagged}, {"a": base}, {}, inherited={"a": base})
    assert found.field == "tags"


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("", None, Primitive("string")),
        ("007", "7", Primitive("long")),
        ("1.50", "1.5", Decimal(10, 2)),
        ("2024-01-01 00:00:00", "2024-01-01T00:00:00.000000Z", Primitive("timestamp")),
    ],
)
def test_partition_values_are_compared_by_type(one: str, other: str | None, kind: DataType) -> None:
    ours = msgspec.structs.replace(add("a"), partition_values={"p": one})
    theirs = msgspec.structs.replace(add("a"), partition_values={"p": other})
    assert compare_keyed("checkpoint", "add", {"a": ours}, {"a": theirs}, {"p": kind}) == []
    if one:
        (found,) = compare_keyed("checkpoint", "add", {"a": ours}, {"a": theirs}, {"p": Primitive("string")})
        assert found.field == "partitionValues"


def test_null_equals_the_empty_string_without_a_type() -> None:
    ours = msgspec.structs.replace(add("a"), partition_values={"p": ""})
    theirs = msgspec.structs.replace(add("a"), partition_values={"p": None})
    assert compare_keyed("checkpoint", "add", {"a": ours}, {"a": theirs}, {}) == []
    (found,) = compare_keyed("checkpoint", "add", {"a": add("a")}, {"a": theirs}, {})
    assert (found.derived, found.replayed) == ({}, {"p": None})


def test_last_updated_is_compared() -> None:
    bare, first, second = (Txn(app_id="s", version=1, last_updated=each) for each in (None, 5, 6))
    for ours in (bare, second):
        (found,) = compare_keyed("checkpoint", "txn", {"s": ours}, {"s": first}, {})
        assert found == Difference("txn", "s", "differs", "lastUpdated", ours.last_updated, 5)


def test_configuration_of_a_domain_is_compared_as_json() -> None:
    assert (
        compare_keyed("checkpoint", "domainMetadata", {"x": domain("x", '{"a": 1}')}, {"x": domain("x", '{"a":1}')}, {})
        == []
    )
    (found,) = compare_keyed(
        "checkpoint", "domainMetadata", {"x": domain("x", "plain")}, {"x": domain("x", "other")}, {}
    )
    assert (found.field, found.derived, found.replayed) == ("configuration", "plain", "other")
    for other in ('{"a":1,"b":null}', '{"a":1,"b":{}}'):
        ours, theirs = {"x": domain("x", '{"a":1}')}, {"x": domain("x", other)}
        assert len(compare_keyed("checkpoint", "domainMetadata", ours, theirs, {})) == 1, f"{other=}"


def test_differences_are_ordered_by_key() -> None:
    ours = {key: remove(key) for key in "cab"}
    found = compare_keyed("checkpoint", "remove", ours, {"d": remove("d")}, {})
    assert [(each.key, each.what) for each in found] == [
        ("a", "extra"),
        ("b", "extra"),
        ("c", "extra"),
        ("d", "missing"),
    ]


@pytest.mark.parametrize(
    ("table", "meta", "expected"),
    [
        (protocol(), metadata(SCHEMA % "{}", ("p",)), {"p": Primitive("integer")}),
        (protocol(), metadata(SCHEMA % MAPPED, ("p",), delta__columnMapping__mode="name"), {"p": Primitive("integer")}),
        (
            protocol(2, 5),
            metadata(SCHEMA % MAPPED, ("p",), delta__columnMapping__mode="name"),
            {"col-1": Primitive("integer")},
        ),
        (protocol(), metadata(SCHEMA % "{}", ("q",)), {}),
        (protocol(), metadata("no schema", ("p",)), {}),
        (None, metadata(SCHEMA % "{}", ("p",)), {}),
        (protocol(), None, {}),
    ],
)
def test_types_of_partition_columns(table: Protocol | None, meta: MetaData | None, expected: PartitionTypes) -> None:
    assert read_partition_types(table, meta) == expected
