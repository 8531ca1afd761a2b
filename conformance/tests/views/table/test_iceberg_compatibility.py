"""Iceberg compatibility: schemas, partition columns and nested ids that it forbids."""

from typing import Any

import pytest
from helpers.scenario import field, schema
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct, get_type_name
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.table.iceberg_compatibility import (
    NestedIdFaults,
    conflicts_with_vectors,
    find_forbidden_columns,
    find_forbidden_type_changes,
    find_nested_id_faults,
    find_renamed_partition_columns,
)

LONG, TEXT = Primitive("long"), Primitive("string")
V1, V2 = {"delta.enableIcebergCompatV1": "true"}, {"delta.enableIcebergCompatV2": "TRUE"}


@pytest.mark.parametrize(
    ("compatibility", "features", "setting", "answer"),
    [
        ("V1", [], "true", False),
        ("V1", ["deletionVectors"], "false", True),
        ("V2", ["deletionVectors"], "false", False),
        ("V2", ["deletionVectors"], "true", True),
        ("V2", [], "true", False),
    ],
)
def test_v1_forbids_the_vector_feature_and_v2_the_property(
    compatibility: str, features: list[str], setting: str, answer: bool
) -> None:
    assert conflicts_with_vectors(compatibility, features, {"delta.enableDeletionVectors": setting}) is answer


# types


def table(*kinds: Any) -> Struct:
    return parse_schema(schema(*(field(f"c{number}", kind) for number, kind in enumerate(kinds))))


ARRAY = {"type": "array", "elementType": "long", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True}
STRUCT = {"type": "struct", "fields": [field("x", ARRAY), field("y", "void")]}


def forbidden(kind: Any, compatibility: str) -> list[str]:
    return [
        f"{'.'.join(path)}: {get_type_name(each)}" for path, each in find_forbidden_columns(table(kind), compatibility)
    ]


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        ("variant", []),
        ("geometry(OGC:CRS84)", []),
        ("geography", []),
        ("char(3)", []),
        ("timestamp_ntz", []),
        ("void", ["c0: void"]),
        ("interval day to second", ["c0: interval day to second"]),
    ],
)
def test_types_of_the_proposal(kind: str, faults: list[str]) -> None:
    assert forbidden(kind, "V3") == faults


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("long", [], []),
        ("decimal(38,10)", [], []),
        ("timestamp_ntz", [], []),
        ("void", ["c0: void"], ["c0: void"]),
        ("variant", [], ["c0: variant"]),
        ("interval year to month", [], ["c0: interval year to month"]),
        ("varchar(10)", [], []),
        ({"type": "udt", "class": "x", "sqlType": "long"}, [], []),
        (ARRAY, ["c0: array"], []),
        (MAP, ["c0: map"], ["c0.value: variant"]),
        (STRUCT, ["c0.x: array", "c0.y: void"], ["c0.y: void"]),
    ],
)
def test_forbidden_types(kind: Any, first: list[str], second: list[str]) -> None:
    assert forbidden(kind, "V1") == first
    assert forbidden(kind, "V2") == second


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [
        ("byte", "short", True),
        ("byte", "long", True),
        ("integer", "long", True),
        ("float", "double", True),
        ("decimal(6,2)", "decimal(10,2)", True),
        ("decimal(6,2)", "decimal(10,4)", False),
        ("integer", "double", False),
        ("byte", "double", False),
        ("date", "timestamp_ntz", False),
        ("long", "decimal(20,0)", False),
    ],
)
def test_type_changes_supported_by_iceberg(old: str, new: str, known: bool) -> None:
    changes = [{"fromType": old, "toType": new}]
    found = find_forbidden_type_changes(parse_schema(schema(field("c", new, delta__typeChanges=changes))))
    assert [path for path, _, _ in found] == ([] if known else [("c",)])


def test_nested_changes_have_a_path_and_malformed_ones_are_ignored() -> None:
    changes = [{"fromType": "date", "toType": "timestamp_ntz", "fieldPath": "value.element"}, {"fromType": "long"}]
    kind = {**MAP, "valueType": {**ARRAY, "elementType": "timestamp_ntz"}}
    found = find_forbidden_type_changes(parse_schema(schema(field("m", kind, delta__typeChanges=changes))))
    assert found == [(("m", "value", "element"), Primitive("date"), Primitive("timestamp_ntz"))]


# partition columns


def mapped(name: str, physical: str) -> Field:
    return Field(name, LONG, True, {"delta.columnMapping.physicalName": physical})


@pytest.mark.parametrize(
    ("before", "after", "renamed"),
    [
        ({"a": "col-1"}, {"a": "col-9"}, []),
        ({"a": "col-1"}, {"b": "col-1"}, []),
        ({"a": "col-1"}, {"b": "col-9"}, ["b", "a"]),
        ({"a": "col-1", "b": "col-2"}, {"b": "col-9"}, ["a"]),
        ({"a": "col-1", "b": "col-2"}, {"c": "col-2"}, ["a"]),
        ({"a": "col-1", "b": "col-2"}, {"b": "col-9", "a": "col-8"}, []),
        ({"a": "col-1"}, {}, []),
        ({}, {"a": "col-1"}, []),
        ({"a": "col-1"}, {"a": "col-1", "b": "col-2"}, ["b"]),
    ],
)
def test_a_replaced_column_keeps_its_name_and_a_renamed_one_its_physical_name(
    before: dict[str, str], after: dict[str, str], renamed: list[str]
) -> None:
    sides = [(Struct(tuple(mapped(*pair) for pair in each.items())), list(each), "name") for each in (before, after)]
    assert find_renamed_partition_columns(sides[0], sides[1]) == renamed


# nested ids


def build_parent_field(kind: DataType, name: str = "c", physical: str = "col-1", number: int = 1, **ids: Any) -> Field:
    """Build a field; `ids` are nested ids, `new` under the newest key and `old` under that of r3."""
    keys = {"new": "delta.columnMapping.nested.ids", "old": "parquet.field.nested.ids"}
    described = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return Field(name, kind, True, {**described, **{keys[key]: value for key, value in ids.items()}})


def ids_of(*fields: Field, revision: Revision = Revision.CURRENT) -> list[NestedIdFaults]:
    return find_nested_id_faults(Struct(fields), "name", revision)


LIST = Array(LONG, True)
NEW, OLD = {"col-1.element": 7}, {"c.element": 7}


def test_only_fields_with_arrays_or_maps_need_ids() -> None:
    assert ids_of(build_parent_field(LONG)) == []
    assert ids_of(build_parent_field(LIST, new=NEW)) == [NestedIdFaults(("c",))]
    assert ids_of(build_parent_field(Struct((build_parent_field(LIST, "x", "col-2", 2),)))) == [
        NestedIdFaults(("c", "x"), missing=("col-2.element",))
    ]


def test_key_and_name_follow_the_revision() -> None:
    assert ids_of(build_parent_field(LIST, old=OLD), revision=Revision.R3) == [NestedIdFaults(("c",))]
    for wrong in ({"old": OLD}, {"new": OLD}, {"old": NEW}):
        assert ids_of(build_parent_field(LIST, **wrong)) == [
            NestedIdFaults(("c",), under_another_key=("col-1.element",))
        ]
    for wrong in ({"new": NEW}, {"new": OLD}, {"old": NEW}):
        assert ids_of(build_parent_field(LIST, **wrong), revision=Revision.R3) == [
            NestedIdFaults(("c",), under_another_key=("c.element",))
        ]


def test_field_with_equal_names_only_needs_the_key() -> None:
    found = ids_of(build_parent_field(LIST, "c", "c", new=OLD))
    assert found == [NestedIdFaults(("c",))]


def test_parts_are_listed_parents_first() -> None:
    nested = Map(TEXT, Map(LONG, LIST, True), True)
    names = ["key", "value", "value.key", "value.value", "value.value.element"]
    whole = {f"col-1.{name}": number for number, name in enumerate(names, 10)}
    assert ids_of(build_parent_field(nested, new=whole)) == [NestedIdFaults(("c",))]
    for name in whole:
        less = {each: number for each, number in whole.items() if each != name}
        assert ids_of(build_parent_field(nested, new=less)) == [NestedIdFaults(("c",), missing=(name,))]
        other = {**less, f"{name}.item": 30}
        assert ids_of(build_parent_field(nested, new=other)) == [NestedIdFaults(("c",), misnamed=(f"{name}.item",))]


@pytest.mark.parametrize("value", [[["col-1.element", 7]], '{"col-1.element": 7}', 7])
def test_ids_outside_a_map_are_elsewhere(value: Any) -> None:
    assert ids_of(build_parent_field(LIST, new=value)) == [NestedIdFaults(("c",), elsewhere=("col-1.element",))]


def test_ids_in_another_field_are_elsewhere() -> None:
    first, second = build_parent_field(LIST, new={**NEW, "col-2.element": 8}), build_parent_field(LIST, "d", "col-2", 2)
    assert ids_of(first, second) == [NestedIdFaults(("c",)), NestedIdFaults(("d",), elsewhere=("col-2.element",))]


@pytest.mark.parametrize(("number", "out_of_range"), [(2**31 - 1, False), (2**31, True), ("7", True), (1.5, True)])
def test_ids_have_32_bits(number: Any, out_of_range: bool) -> None:
    [found] = ids_of(build_parent_field(LIST, new={"col-1.element": number}))
    assert bool(found.out_of_range) is out_of_range


def test_shared_ids_are_reported() -> None:
    two = {"col-1.key": 7, "col-1.value": 7}
    [found] = ids_of(build_parent_field(Map(TEXT, LONG, True), new=two))
    assert found.shared == ("col-1.key=7", "col-1.value=7")
    [found] = ids_of(build_parent_field(LIST, number=7, new=NEW))
    assert found.shared == ("col-1.element=7",)


_TYPES: st.SearchStrategy[DataType] = st.recursive(
    st.just(LONG),
    lambda inner: st.one_of(st.builds(Array, inner, st.just(True)), st.builds(Map, inner, inner, st.just(True))),
    max_leaves=6,
)


def _parts(kind: DataType, name: str) -> list[str]:
    """Independent implementation of the names that need ids."""
    found: list[str] = []
    stack = [(kind, name)]
    while stack:
        here, prefix = stack.pop()
        below = {"element": here.element} if isinstance(here, Array) else {}
        below |= {"key": here.key, "value": here.value} if isinstance(here, Map) else {}
        for part, each in below.items():
            found.append(f"{prefix}.{part}")
            stack.append((each, f"{prefix}.{part}"))
    return found


@given(_TYPES, st.data())
def test_complete_ids_are_valid_and_missing_ones_are_reported(kind: DataType, data: st.DataObject) -> None:
    parts = _parts(kind, "col-1")
    ids = {name: number for number, name in enumerate(parts, 2)}
    assert ids_of(build_parent_field(kind, new=ids)) == ([NestedIdFaults(("c",))] if parts else [])
    if parts:
        missing = data.draw(st.sampled_from(parts))
        del ids[missing]
        assert ids_of(build_parent_field(kind, new=ids)) == [NestedIdFaults(("c",), missing=(missing,))]


def test_vectors_do_not_conflict_with_the_proposal() -> None:
    assert conflicts_with_vectors("V3", ["deletionVectors"], {"delta.enableDeletionVectors": "true"}) is False


def test_decimal_scale_change_is_not_supported_by_iceberg() -> None:
    assert not find_forbidden_type_changes(Struct((Field("c", Decimal(10, 2), True),)))
