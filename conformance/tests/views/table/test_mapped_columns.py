"""Column mapping from version to version. Source: Column Mapping, Writer Requirements."""

from typing import Any

from deltaspec.protocol.schema.data_types import Array, Field, Primitive, Struct
from deltaspec.views.table.mapped_columns import (
    MappedColumns,
    collect_mapped_columns,
    find_illegal_new_names,
    find_illegal_physical_names,
    find_illegal_physical_paths,
    merge_mapped_columns,
)

LONG = Primitive("long")


def _field(name: str, number: Any, physical: Any, kind: Any = LONG) -> Field:
    return Field(name, kind, True, {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical})


def _columns(*fields: Field, highest: str = "9") -> MappedColumns:
    found = collect_mapped_columns(Struct(fields), {"delta.columnMapping.maxColumnId": highest}, "name")
    assert found is not None
    return found


ID, NAME = _field("id", 1, "col-1"), _field("name", 2, "col-2")


def test_columns_are_identified_by_id_and_physical_path() -> None:
    inner = Array(Struct((_field("x", 3, "col-3"),)), contains_null=True)
    found = _columns(ID, _field("s", 2, "col-2", inner))
    assert found.names == {1: "col-1", 2: "col-2", 3: "col-3"}
    assert found.paths == {("col-1",): 1, ("col-2",): 2, ("col-2", "element", "col-3"): 3}
    assert found.max_column_id == 9


def test_columns_without_a_mode_are_not_mapped() -> None:
    assert collect_mapped_columns(Struct((ID,)), {}, None) is None


def test_fields_without_id_or_name_are_omitted() -> None:
    found = _columns(ID, _field("b", "2", "col-2"), _field("c", 3, 7), highest="many")
    assert found == MappedColumns({1: "col-1"}, {("col-1",): 1}, None)


def test_physical_name_of_a_column_stays() -> None:
    renamed = _field("other", 1, "col-1")
    assert find_illegal_physical_names(_columns(ID), _columns(renamed)) == []
    assert find_illegal_physical_names(_columns(ID), _columns(_field("id", 1, "col-9"))) == [(1, "col-1", "col-9")]


def test_physical_path_stays_with_its_column() -> None:
    taken = _field("new", 3, "col-1")
    assert find_illegal_physical_paths(_columns(ID, NAME), _columns(NAME, taken)) == [("col-1",)]
    assert find_illegal_physical_paths(_columns(ID, NAME), _columns(NAME)) == []


def test_name_reuse_below_another_parent_is_legal_only_in_the_newest_revision() -> None:
    nested = _field("s", 3, "col-3", Struct((_field("x", 4, "col-1"),)))
    assert find_illegal_physical_paths(_columns(ID), _columns(ID, nested)) == []
    assert find_illegal_new_names(_columns(ID), _columns(ID, nested)) == [(4, "col-1")]


def test_dropped_columns_are_remembered() -> None:
    ever = merge_mapped_columns(_columns(ID, NAME, highest="2"), _columns(NAME, highest="2"))
    assert find_illegal_physical_paths(ever, _columns(NAME, _field("new", 3, "col-1"))) == [("col-1",)]
    assert find_illegal_physical_paths(ever, _columns(ID, NAME)) == []
    assert merge_mapped_columns(ever, None) is None
