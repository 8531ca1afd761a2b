"""Columns of Parquet checkpoints. Source: Checkpoints (Requirements for Writers), Checkpoint Schema."""

import pytest

from deltaspec.protocol.log.checkpoint_schema import ColumnFault, find_column_faults
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Primitive, Struct
from deltaspec.protocol.schema.parquet_types import Annotation, Node

TEXT = Annotation("STRING")
DATE = Annotation("DATE")


def leaf(name: str, physical: str, annotation: Annotation | None = None) -> Node:
    return Node(name, "optional", physical, annotation)


def group(name: str, *children: Node, annotation: Annotation | None = None) -> Node:
    return Node(name, "optional", annotation=annotation, children=children)


def text(name: str) -> Node:
    return leaf(name, "BYTE_ARRAY", TEXT)


def texts(name: str) -> Node:
    return group(name, Node("list", "repeated", children=(text("element"),)), annotation=Annotation("LIST"))


def strings(name: str) -> Node:
    pairs = Node("key_value", "repeated", children=(Node("key", "required", "BYTE_ARRAY", TEXT), text("value")))
    return group(name, pairs, annotation=Annotation("MAP"))


def sample(*more_of_add: Node) -> Node:
    """Build the columns of the protocol's sample with the given typed columns in `add`."""
    return group(
        "root",
        group(
            "metaData",
            text("id"),
            text("name"),
            text("description"),
            group("format", text("provider"), strings("options")),
            text("schemaString"),
            texts("partitionColumns"),
            leaf("createdTime", "INT64"),
            strings("configuration"),
        ),
        group(
            "protocol",
            leaf("minReaderVersion", "INT32"),
            leaf("minWriterVersion", "INT32"),
            texts("readerFeatures"),
            texts("writerFeatures"),
        ),
        group("txn", text("appId"), leaf("version", "INT64")),
        group(
            "add",
            text("path"),
            strings("partitionValues"),
            leaf("size", "INT64"),
            leaf("modificationTime", "INT64"),
            leaf("dataChange", "BOOLEAN"),
            text("stats"),
            strings("tags"),
            leaf("baseRowId", "INT64"),
            leaf("defaultRowCommitVersion", "INT64"),
            *more_of_add,
        ),
        group("remove", text("path"), leaf("deletionTimestamp", "INT64"), leaf("dataChange", "BOOLEAN")),
        group("checkpointMetadata", leaf("version", "INT64"), strings("tags")),
    )


def column(name: str, kind: DataType, physical: str | None = None) -> Field:
    metadata = {"delta.columnMapping.physicalName": physical} if physical else {}
    return Field(name, kind, True, metadata)


SCHEMA = Struct(
    (
        column("asset", Primitive("string"), "col-a"),
        column("quantity", Primitive("double"), "col-q"),
        column("is_available", Primitive("boolean"), "col-i"),
        column("date", Primitive("date"), "col-d"),
        column("region", Primitive("string"), "col-r"),
    )
)
"""Table of the protocol's sample, with short physical names."""
PARTITIONS = ["date", "region"]


def parsed(asset: str, quantity: str, null_count: str = "nullCount") -> Node:
    bounds = (text(asset), leaf(quantity, "DOUBLE"))
    counts = (leaf(asset, "INT64"), leaf(quantity, "INT64"))
    return group(
        "stats_parsed",
        leaf("numRecords", "INT64"),
        group("minValues", *bounds),
        group("maxValues", *bounds),
        group(null_count, *counts),
    )


def partition_values(date: str, region: str) -> Node:
    return group("partitionValues_parsed", leaf(date, "INT32", DATE), text(region))


def faults_of(*more_of_add: Node, mapping: str | None = None) -> list[ColumnFault]:
    return find_column_faults(sample(*more_of_add), SCHEMA, PARTITIONS, mapping)


def test_sample_schema_has_no_fault() -> None:
    assert faults_of(partition_values("date", "region"), parsed("asset", "quantity")) == []


@pytest.mark.parametrize("mapping", ["id", "name"])
def test_sample_schema_with_column_mapping_has_no_fault(mapping: str) -> None:
    assert faults_of(partition_values("col-d", "col-r"), parsed("col-a", "col-q"), mapping=mapping) == []


def test_every_column_is_optional() -> None:
    assert find_column_faults(group("root", group("add", text("path"))), SCHEMA, PARTITIONS, None) == []
    assert find_column_faults(group("root"), None, [], None) == []


def test_additional_columns_are_allowed() -> None:
    root = group("root", group("txn", text("appId"), leaf("lastUpdated", "BOOLEAN")), leaf("other", "FLOAT"))
    assert find_column_faults(root, SCHEMA, PARTITIONS, None) == []


def test_column_of_nulls_may_have_any_type() -> None:
    root = group("root", group("add", leaf("size", "INT32", Annotation("UNKNOWN"))))
    assert find_column_faults(root, SCHEMA, PARTITIONS, None) == []


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        (group("root", group("metaData", leaf("createdTime", "INT32"))), ("metaData", "createdTime"), "long"),
        (group("root", group("protocol", leaf("minReaderVersion", "INT64"))), None, "integer"),
        (group("root", group("add", text("partitionValues"))), ("add", "partitionValues"), "map"),
        (group("root", group("metaData", group("format", texts("options")))), ("metaData", "format", "options"), "map"),
        (group("root", group("remove", leaf("dataChange", "INT32"))), ("remove", "dataChange"), "boolean"),
        (group("root", text("txn")), ("txn",), "struct"),
    ],
)
def test_field_with_the_wrong_type_is_a_fault(root: Node, path: tuple[str, ...] | None, expected: str) -> None:
    (fault,) = find_column_faults(root, SCHEMA, PARTITIONS, None)
    assert fault.path == (path or ("protocol", "minReaderVersion"))
    assert (fault.of, fault.what, fault.expected) == ("action", "another type", expected)


def test_wrong_or_missing_partition_column_is_a_fault() -> None:
    (fault,) = faults_of(group("partitionValues_parsed", text("date"), text("region")))
    assert (fault.path[-1], fault.what, fault.expected) == ("date", "another type", "date")
    (fault,) = faults_of(group("partitionValues_parsed", leaf("date", "INT32", DATE)))
    assert (fault.path[-1], fault.what, fault.expected) == ("region", "missing", "string")


def test_logical_names_with_column_mapping_are_a_fault() -> None:
    faults = faults_of(partition_values("date", "col-r"), parsed("asset", "quantity"), mapping="name")
    parts = ("minValues", "maxValues", "nullCount")
    assert {(fault.path[1:], fault.what, fault.expected) for fault in faults} == {
        (("partitionValues_parsed", "date"), "logical name", "col-d"),
        *((("stats_parsed", part, "asset"), "logical name", "col-a") for part in parts),
        *((("stats_parsed", part, "quantity"), "logical name", "col-q") for part in parts),
    }


def test_logical_name_next_to_physical_ones_is_a_dropped_column() -> None:
    assert faults_of(parsed("asset", "col-q"), mapping="name") == []


def test_logical_name_that_equals_a_physical_one_is_valid() -> None:
    renamed = Struct((column("a", Primitive("long"), "b"), column("b", Primitive("long"), "a")))
    values = group("minValues", leaf("a", "INT64"), leaf("b", "INT64"))
    root = group("root", group("add", group("stats_parsed", values)))
    assert find_column_faults(root, renamed, [], "name") == []


def test_bound_with_the_wrong_type_is_a_fault() -> None:
    statistics = group("stats_parsed", leaf("numRecords", "INT32"), group("minValues", text("quantity")))
    assert {(fault.path[-1], fault.expected) for fault in faults_of(statistics)} == {
        ("numRecords", "long"),
        ("quantity", "double"),
    }


def test_null_counts_are_long_for_every_column() -> None:
    statistics = group("stats_parsed", group("nullCount", text("asset"), leaf("quantity", "DOUBLE")))
    assert [(fault.path[-1], fault.expected) for fault in faults_of(statistics)] == [
        ("asset", "long"),
        ("quantity", "long"),
    ]


def test_older_name_of_null_counts_is_reported() -> None:
    (fault,) = faults_of(parsed("asset", "quantity", "nullCounts"))
    assert (fault.what, fault.expected, fault.stored) == ("older name", "nullCount", "nullCounts")


NARROWER: list[tuple[DataType, Node]] = [
    (Primitive("long"), leaf("n", "INT32")),
    (Primitive("double"), leaf("n", "FLOAT")),
    (Primitive("double"), leaf("n", "INT32")),
    (Primitive("timestamp_ntz"), leaf("n", "INT32", DATE)),
    (Decimal(12, 2), leaf("n", "INT32", Annotation("DECIMAL", precision=8, scale=2))),
]
"""Type of a column, and a column of a checkpoint with a type that it may have been widened from."""


@pytest.mark.parametrize(("kind", "node"), NARROWER)
def test_typed_columns_do_not_have_a_type_before_widening(kind: DataType, node: Node) -> None:
    schema = Struct((column("n", kind), column("s", Struct((column("n", kind),)))))
    values = group("root", group("add", group("partitionValues_parsed", node)))
    assert [each.what for each in find_column_faults(values, schema, ["n"], None)] == ["another type"]
    for name in ("minValues", "maxValues"):
        bounds = group("root", group("add", group("stats_parsed", group(name, node, group("s", node)))))
        found = [each.path[2:] for each in find_column_faults(bounds, schema, [], None)]
        assert found == [(name, "n"), (name, "s", "n")]


def test_counts_are_long() -> None:
    counts = group("nullCount", leaf("n", "INT32"))
    root = group("root", group("add", group("stats_parsed", leaf("numRecords", "INT32"), counts)))
    found = find_column_faults(root, Struct((column("n", Primitive("long")),)), [], None)
    assert [each.path[2:] for each in found] == [("numRecords",), ("nullCount", "n")]


def test_unknown_columns_and_undefined_bounds_are_ignored() -> None:
    schema = Struct((column("list", Array(Primitive("long"), True)), column("n", Primitive("void"))))
    statistics = group("stats_parsed", group("minValues", text("list"), text("n"), text("dropped"), text("asset")))
    assert find_column_faults(group("root", group("add", statistics)), schema, [], None) == []


def test_bounds_of_variants_are_variants() -> None:
    schema = Struct((column("v", Primitive("variant")),))
    variant = group("v", leaf("metadata", "BYTE_ARRAY"), leaf("value", "BYTE_ARRAY"))
    sound = group("root", group("add", group("stats_parsed", group("minValues", variant))))
    as_text = group("root", group("add", group("stats_parsed", group("maxValues", text("v")))))
    assert find_column_faults(sound, schema, [], None) == []
    (fault,) = find_column_faults(as_text, schema, [], None)
    assert (fault.what, fault.path, fault.expected) == (
        "another type",
        ("add", "stats_parsed", "maxValues", "v"),
        "variant",
    )


@pytest.mark.parametrize("name", ["stats_parsed", "partitionValues_parsed"])
def test_typed_columns_must_be_structs(name: str) -> None:
    for node in (text(name), texts(name), strings(name)):
        (fault,) = faults_of(node)
        assert (fault.path, fault.what, fault.expected) == (("add", name), "another type", "struct"), f"{node=}"
    assert faults_of(leaf(name, "INT32", Annotation("UNKNOWN"))) == []


@pytest.mark.parametrize("name", ["minValues", "maxValues", "nullCount"])
def test_bounds_and_null_counts_must_be_structs(name: str) -> None:
    (fault,) = faults_of(group("stats_parsed", leaf("numRecords", "INT64"), texts(name)))
    assert (fault.path[-1], fault.of, fault.expected) == (name, "statistics", "struct")
