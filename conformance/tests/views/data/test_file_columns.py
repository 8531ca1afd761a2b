"""Rows of the footer views: schema facts that are computed once and joined to the files of the schema."""

from typing import Any

import polars as pl

from deltaspec.protocol.schema.data_types import DataType, Decimal, Field, Primitive, Struct
from deltaspec.protocol.schema.parquet_types import Annotation, Node
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.data.footer_facts import SchemaFacts, build_data_file_rows, build_schema_facts, column_rows
from deltaspec.views.table.table_schema import TableSchema

LONG = Primitive("long")


def table(
    *fields: Field,
    mapping: str | None = None,
    features: tuple[str, ...] = (),
    partitions: tuple[str, ...] = (),
    configuration: dict[str, str] | None = None,
) -> TableSchema:
    return TableSchema(Struct(fields), mapping, list(partitions), configuration or {}, frozenset(features))


def field(name: str, kind: DataType = LONG, number: int | None = None, physical: str | None = None) -> Field:
    metadata: dict[str, Any] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return Field(name, kind, True, {key: value for key, value in metadata.items() if value is not None})


def root(*children: Node) -> Node:
    return Node("schema", "required", children=children)


def node(name: str, physical: str = "INT64", annotation: Annotation | None = None, number: int | None = None) -> Node:
    return Node(name, "optional", physical, annotation, number)


def row(facts: SchemaFacts, column: str) -> dict[str, Any]:
    [found] = [each for each in facts.columns if each["column"] == column]
    return found


def test_table_columns_have_their_stored_types() -> None:
    facts = build_schema_facts(
        root(node("a"), node("b", "INT32")), table(field("a"), field("b", Decimal(12, 1)), field("c"))
    )
    assert [each["column"] for each in facts.columns] == ["a", "b", "c"]
    assert [each["stored_type"] for each in facts.columns] == ["INT64", "INT32", None]
    assert row(facts, "b")["narrower_type"] == "integer"
    assert row(facts, "b")["type"] == "decimal(12,1)"


def test_partition_columns_have_a_row_only_if_they_are_stored() -> None:
    for name, expected in (("p", [("a", None), ("p", "partition column")]), ("P", [("a", None)]), ("b", [("a", None)])):
        facts = build_schema_facts(root(node(name, "BYTE_ARRAY")), table(field("p"), field("a"), partitions=("p",)))
        assert [(each["column"], each.get("role")) for each in facts.columns] == expected


def test_preview_features_count_as_support() -> None:
    variant = Node("v", "optional", children=(node("metadata", "BYTE_ARRAY"), node("typed_value")))
    features = ("typeWidening-preview", "variantShredding-preview")
    found = row(build_schema_facts(root(variant), table(field("v", Primitive("variant")), features=features)), "v")
    assert found["is_shredded"]
    assert found["shredding_supported"]
    assert found["type_widening_supported"]


def test_columns_outside_the_table_schema_have_a_role() -> None:
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version",
    }
    file = root(node("a"), node("_change_type", "INT32"), node("_row-id"), node("other"))
    facts = build_schema_facts(file, table(field("a"), configuration=names))
    assert {each["column"]: each.get("role") for each in facts.columns} == {
        "a": None,
        "_row-id": "row id",
        "_change_type": "change type",
    }
    assert row(facts, "_change_type")["type_fault"] == "the file stores INT32; the schema says string"
    assert row(facts, "_row-id")["type_fault"] is None


def test_table_column_with_a_special_name_has_no_role() -> None:
    facts = build_schema_facts(root(node("_change_type")), table(field("_change_type")))
    assert [each.get("role") for each in facts.columns] == [None]


def test_materialized_columns_have_no_ids_under_mapping() -> None:
    file = root(node("col-a", number=1), node("_change_type", "BYTE_ARRAY", Annotation("STRING")))
    found = row(build_schema_facts(file, table(field("a", LONG, 1, "col-a"), mapping="id")), "_change_type")
    assert (found["role"], found["node_with_other_id"], found["column_mapping_mode"]) == ("change type", False, None)


def test_names_in_a_file_under_column_mapping() -> None:
    generated = "col-00000000-0000-4000-8000-000000000001"
    columns = (field("a", LONG, 1, generated), field("b", LONG, 2, "b"), field("c", LONG, 3, "old"))
    facts = build_schema_facts(root(node(generated), node("b"), node("c")), table(*columns, mapping="name"))
    assert facts.file == {
        "column_mapping_mode": "name",
        "has_field_ids": False,
        "physical_names": 2,
        "logical_names": 1,
        "generated_names": 1,
        "iceberg_compatibility": None,
        "absent_partition_columns": None,
        "misplaced_partition_columns": None,
        "int96_timestamps": None,
        "stored_partition_columns": None,
    }


def test_nested_field_ids_are_found() -> None:
    nested = Node("s", "optional", children=(node("x", number=5),))
    assert build_schema_facts(root(nested), table(field("s"))).file["has_field_ids"]
    assert not build_schema_facts(root(node("s")), table(field("s"))).file["has_field_ids"]


def files(*schemas: int | None) -> pl.DataFrame:
    rows = [
        {
            "version": number,
            "file": "_delta_log/1.json",
            "line": number + 1,
            "kind": "add",
            "path": f"{number}.parquet",
            "path_key": f"{number}.parquet",
            "num_records": 7,
            "footer_fault": None if schema is not None else "no Parquet",
            "row_count": number if schema is not None else None,
            "row_group_rows": number if schema is not None else None,
            "external_path": None,
            "cardinality": 1 if number == 3 else None,
            "_schema": schema,
        }
        for number, schema in enumerate(schemas)
    ]
    own = {"cardinality": pl.Int64, "_schema": pl.Int64}
    schema = {name: data_files.columns[name].dtype for name in rows[0] if name not in own}
    return pl.DataFrame(rows, schema={**schema, **own})


def two_schemas() -> list[SchemaFacts]:
    return [
        build_schema_facts(root(node("a")), table(field("a"))),
        build_schema_facts(root(node("a"), node("b")), table(field("a"), field("b"), mapping="name")),
    ]


def test_file_has_the_columns_of_its_schema() -> None:
    rows = column_rows(files(0, 1, None, 0), two_schemas())
    assert rows.schema == pl.Schema(file_columns.schema)
    assert sorted(zip(rows["path"], rows["column"], rows["remaining_rows"], strict=True)) == [
        ("0.parquet", "a", 0),
        ("1.parquet", "a", 1),
        ("1.parquet", "b", 1),
        ("3.parquet", "a", 2),
    ]


def test_data_file_rows_keep_order_and_leave_other_levels_null() -> None:
    rows = build_data_file_rows(files(1, None, 0), two_schemas())
    assert rows.schema == pl.Schema(data_files.schema)
    assert rows["path"].to_list() == ["0.parquet", "1.parquet", "2.parquet"]
    assert rows["footer_fault"].to_list() == [None, "no Parquet", None]
    assert rows["column_mapping_mode"].to_list() == ["name", None, None]
    assert rows["has_field_ids"].to_list() == [False, None, False]
    assert rows["num_records"].to_list() == [7, 7, 7]
    assert rows["exists"].to_list() == rows["actual_size"].to_list() == [None] * 3


def test_no_files_give_no_rows() -> None:
    nothing = files(0).clear()
    assert len(column_rows(nothing, [])) == 0
    assert len(build_data_file_rows(nothing, [])) == 0
