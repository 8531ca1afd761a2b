"""Planted faults of schema strings, property values and partition values."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import PARQUET_FORMAT_VERSION, VARIANT_SHREDDING
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.faults.registry import draw_one, planted_fault

_ARRAY: dict[str, Any] = {"type": "array", "elementType": "long", "containsNull": True}
_MAP: dict[str, Any] = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}


def _build_field(kind: Any = "long", **changed: Any) -> dict[str, Any]:
    return {"name": "c", "type": kind, "nullable": True, "metadata": {}, **changed}


def _drop_key(name: str, document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name}


def _build_table_with_schema(document: Any) -> TableFiles:
    """Build a table whose schema string is this JSON document."""
    files = log_only.build_table()
    get_action(files, 0, "metaData")["schemaString"] = json.dumps(document)
    return files


def _build_table_with_field(field: Any) -> TableFiles:
    return _build_table_with_schema({"type": "struct", "fields": [_build_field(name="id"), field]})


@planted_fault("schema.struct")
def struct_of_another_form(draw: st.DrawFn) -> TableFiles:
    if draw(st.booleans()):
        return _build_table_with_schema(
            draw_one(draw, {"type": "array", **_drop_key("type", _ARRAY)}, {"fields": [_build_field()]}, "long")
        )
    return _build_table_with_field(
        _build_field(draw_one(draw, {"type": "struct"}, {"type": "struct", "fields": {}}, {"fields": []}))
    )


@planted_fault("schema.field")
def field_without_a_member(draw: st.DrawFn) -> TableFiles:
    cut = _drop_key(draw_one(draw, "name", "type", "nullable"), _build_field())
    return _build_table_with_field(draw_one(draw, cut, _build_field({"type": "struct", "fields": [cut]})))


@planted_fault("schema.field")
def field_of_another_form(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_field(
        draw_one(
            draw,
            _build_field(name=1),
            _build_field(7),
            _build_field(nullable="true"),
            _build_field({"type": "list"}),
            "c",
        )
    )


@planted_fault("schema.field-metadata")
def field_metadata_of_another_form(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_field(_build_field(metadata=draw_one(draw, [], "{}", True)))


@planted_fault("schema.array")
def array_of_another_form(draw: st.DrawFn) -> TableFiles:
    cut = _drop_key(draw_one(draw, "elementType", "containsNull"), _ARRAY)
    return _build_table_with_field(
        _build_field(draw_one(draw, cut, {**_ARRAY, "containsNull": 1}, {**_ARRAY, "elementType": cut}))
    )


@planted_fault("schema.map")
def map_of_another_form(draw: st.DrawFn) -> TableFiles:
    cut = _drop_key(draw_one(draw, "keyType", "valueType"), _MAP)
    return _build_table_with_field(
        _build_field(draw_one(draw, cut, {**_MAP, "keyType": None}, {**_ARRAY, "elementType": cut}))
    )


@planted_fault("schema.map-value-null")
def map_without_word_of_nulls(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_field(
        _build_field(draw_one(draw, _drop_key("valueContainsNull", _MAP), {**_MAP, "valueContainsNull": "true"}))
    )


@planted_fault("schema.variant-type")
def variant_by_another_name(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table_with_features(
        "variantType", fields=[("id", "long"), ("v", draw_one(draw, "VARIANT", "Variant", "json"))]
    )


@planted_fault("configuration.shredding-values")
def shredding_neither_on_nor_off(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(
        protocol=protocol_action(3, 7, ["variantType", "variantShredding"], ["variantType", "variantShredding"]),
        configuration={VARIANT_SHREDDING: draw_one(draw, "yes", "1", "")},
    )


@planted_fault("configuration.page-version-values")
def page_version_unknown(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(
        configuration={PARQUET_FORMAT_VERSION: draw_one(draw, "1", "v2", "3.0.0", "2.0", "1.0.1")}
    )


# partition values


def _build_table_partitioned_by_timestamp(text: str) -> TableFiles:
    """Build a table partitioned by a timestamp with this serialized value."""
    fields = (("id", "long"), ("at", "timestamp"))
    return log_only.build_table(fields=fields, partition_columns=["at"], partition={"at": text})


@planted_fault("partition-values.serialization", revisions=("r1", "r2", "r3"))
def timestamp_in_utc_too_early(draw: st.DrawFn) -> TableFiles:
    return _build_table_partitioned_by_timestamp(
        draw_one(draw, "2024-03-01T10:00:00.000000Z", "2024-03-01T10:00:00Z", "1582-10-04T00:00:00.123456Z")
    )


@planted_fault("partition-values.timestamp-in-utc-recommended")
def timestamp_without_zone(draw: st.DrawFn) -> TableFiles:
    return _build_table_partitioned_by_timestamp(draw_one(draw, "2024-03-01 10:00:00", "1970-01-01 00:00:00.123456"))


@planted_fault("partition-values.serialization")
def value_of_no_such_type(draw: st.DrawFn) -> TableFiles:
    """One or more values of each type of a table without features, except string, which accepts anything."""
    kind, text = draw_one(
        draw,
        *(("byte", "-129"), ("short", "32768"), ("integer", "2147483648"), ("long", "9223372036854775808")),
        *(("long", "1.5"), ("float", "x"), ("double", "1e"), ("decimal(5,2)", "1.234"), ("decimal(5,2)", "1000")),
        *(("boolean", "1"), ("date", "2024/03/01"), ("date", "20240301"), ("timestamp", "10:00:00")),
    )
    return log_only.build_table(fields=[("id", "long"), ("p", kind)], partition_columns=["p"], partition={"p": text})


# void


@planted_fault("schema.void-not-in-containers")
def file_beside_void_in_a_container(draw: st.DrawFn) -> TableFiles:
    void: dict[str, Any] = {**_ARRAY, "elementType": "void"}
    inner = {"type": "struct", "fields": [_build_field("void"), _build_field(name="d")]}
    kind = draw_one(
        draw, void, {**_MAP, "valueType": "void"}, {**_ARRAY, "elementType": inner}, {**_MAP, "valueType": void}
    )
    return log_only.build_table(fields=[("id", "long"), ("c", kind)])


@planted_fault("schema.void-not-all-of-a-struct")
def file_beside_struct_of_voids(draw: st.DrawFn) -> TableFiles:
    struct = {
        "type": "struct",
        "fields": [_build_field("void"), _build_field("void", name="d")][: draw_one(draw, 1, 2)],
    }
    outer = {"type": "struct", "fields": [_build_field(struct), _build_field(name="d")]}
    return log_only.build_table(fields=[("id", "long"), ("s", draw_one(draw, struct, outer))])


@planted_fault("schema.void-not-all-columns")
def file_of_voids_alone(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(fields=[("a", "void"), ("b", "void")][: draw_one(draw, 1, 2)])
