"""States are compared by protocol value."""

import msgspec
import pytest
from helpers.small_logs import add, domain, metadata, protocol, remove

from deltaspec.model.actions import MetaData, Protocol, Txn
from deltaspec.model.log.state_differences import (
    Difference,
    PartitionTypes,
    compare_keyed,
    compare_single,
    normalize_json,
    read_partition_types,
)
from deltaspec.model.schema.data_types import DataType, Decimal, Primitive

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
    assert compare_single("protocol", ours, theirs, {}) == []
    (found, other) = compare_single("protocol", protocol(3, 7, "a"), theirs, {})
    assert (found.field, other.field) == ("readerFeatures", "writerFeatures")
    assert (found.derived, found.replayed) == ({"a"}, {"a", "b"})


def test_absent_and_empty_feature_lists_are_equal() -> None:
    ours = Protocol(min_reader_version=1, min_writer_version=7, reader_features=[], writer_features=[])
    theirs = Protocol(min_reader_version=1, min_writer_version=7)
    assert compare_single("protocol", ours, theirs, {}) == []


def test_schemas_are_compared_as_values() -> None:
    spaced = (SCHEMA % "{}").replace(",", " , ")
    assert compare_single("metaData", metadata(spaced), metadata(SCHEMA % "{}"), {}) == []
    (found,) = compare_single("metaData", metadata(SCHEMA % '{"a":1}'), metadata(SCHEMA % "{}"), {})
    assert found.field == "schemaString"


def test_invalid_schemas_are_compared_as_strings() -> None:
    assert compare_single("metaData", metadata("{"), metadata("{"), {}) == []
    (found,) = compare_single("metaData", metadata("{"), metadata("{ "), {})
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
    ],
)
def test_every_field_of_metadata_is_compared(field: str, value: object) -> None:
    other: MetaData = msgspec.structs.replace(metadata(), **{field: value})
    (found,) = compare_single("metaData", other, metadata(), {})
    assert (found.kind, found.key, found.what, found.derived) == ("metaData", None, "differs", value)


@pytest.mark.parametrize("field", ["size", "modification_time", "base_row_id", "default_row_commit_version"])
def test_fields_of_a_live_file_are_compared(field: str) -> None:
    other = msgspec.structs.replace(add("a"), **{field: 77})
    (found,) = compare_keyed("add", {"a": other}, {"a": add("a")}, {})
    assert (found.what, found.derived) == ("differs", 77)


@pytest.mark.parametrize("field", ["base_row_id", "default_row_commit_version"])
def test_live_file_must_keep_its_row_tracking(field: str) -> None:
    expected_state = msgspec.structs.replace(add("a"), **{field: 3})
    (found,) = compare_keyed("add", {"a": add("a")}, {"a": expected_state}, {})
    assert (found.derived, found.replayed) == (None, 3)


def test_statistics_are_compared_if_both_sides_have_them() -> None:
    expected_state = add("a", stats='{"numRecords":3,"minValues":{"x":1.50},"nullCount":{}}')
    assert compare_keyed("add", {"a": add("a")}, {"a": expected_state}, {}) == []
    assert compare_keyed("add", {"a": expected_state}, {"a": add("a")}, {}) == []
    same = add("a", stats='{"minValues":{"x":1.5},"numRecords":3}')
    assert compare_keyed("add", {"a": same}, {"a": expected_state}, {}) == []
    (found,) = compare_keyed("add", {"a": add("a", stats='{"numRecords":4}')}, {"a": expected_state}, {})
    assert found.field == "stats"


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
    assert compare_keyed("add", {"a": ours}, {"a": theirs}, {"p": kind}) == []
    if one:
        (found,) = compare_keyed("add", {"a": ours}, {"a": theirs}, {"p": Primitive("string")})
        assert found.field == "partitionValues"


def test_null_equals_the_empty_string_without_a_type() -> None:
    ours = msgspec.structs.replace(add("a"), partition_values={"p": ""})
    theirs = msgspec.structs.replace(add("a"), partition_values={"p": None})
    assert compare_keyed("add", {"a": ours}, {"a": theirs}, {}) == []
    (found,) = compare_keyed("add", {"a": add("a")}, {"a": theirs}, {})
    assert (found.derived, found.replayed) == ({}, {"p": None})


def test_last_updated_is_compared_if_both_sides_have_it() -> None:
    bare, first, second = (Txn(app_id="s", version=1, last_updated=each) for each in (None, 5, 6))
    assert compare_keyed("txn", {"s": bare}, {"s": first}, {}) == []
    (found,) = compare_keyed("txn", {"s": second}, {"s": first}, {})
    assert found == Difference("txn", "s", "differs", "lastUpdated", 6, 5)


def test_configuration_of_a_domain_is_compared_as_json() -> None:
    assert compare_keyed("domainMetadata", {"x": domain("x", '{"a": 1}')}, {"x": domain("x", '{"a":1}')}, {}) == []
    (found,) = compare_keyed("domainMetadata", {"x": domain("x", "plain")}, {"x": domain("x", "other")}, {})
    assert (found.field, found.derived, found.replayed) == ("configuration", "plain", "other")


def test_differences_are_ordered_by_key() -> None:
    ours = {key: remove(key) for key in "cab"}
    found = compare_keyed("remove", ours, {"d": remove("d")}, {})
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
