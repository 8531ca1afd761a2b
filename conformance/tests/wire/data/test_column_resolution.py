"""Which column of a file holds a column of the table. Source: Reader Requirements for Column Mapping."""

import pyarrow as pa
import pytest

from deltaspec.protocol.property_names import COLUMN_ID, PHYSICAL_NAME
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive, Struct
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, resolve_columns

LONG = Primitive("long")


def mapped(name: str, number: int, kind: DataType = LONG) -> Field:
    return Field(name, kind, True, {COLUMN_ID: number, PHYSICAL_NAME: f"col-{name}"})


def stored(name: str, number: int | None = None, kind: pa.DataType | None = None) -> pa.Field:
    metadata = None if number is None else {b"PARQUET:field_id": str(number).encode()}
    return pa.field(name, kind or pa.int64(), metadata=metadata)


def find_places(columns: tuple[FileColumn, ...]) -> dict[str, int | None]:
    found = {}
    for column in columns:
        found |= {column.name: column.place, **find_places(column.members)}
    return found


SCHEMA = Struct((mapped("a", 1), mapped("b", 2), mapped("s", 3, Struct((mapped("x", 4), mapped("y", 5))))))
NAMES = ("col-a", "col-b", "col-s", "col-s.col-x", "col-s.col-y")


def test_mode_id_uses_only_ids() -> None:
    nested = pa.struct([stored("col-y", 4), stored("col-x", 5)])
    file = pa.schema([stored("col-b", 1), stored("renamed", 2), stored("col-a", 9), stored("s", 3, nested)])
    assert find_places(resolve_columns(file, SCHEMA, "id")) == dict(zip(NAMES, (0, 1, 3, 0, 1), strict=True))


def test_mode_id_ignores_fields_without_id_next_to_fields_with_one() -> None:
    nested = pa.struct([stored("col-x"), stored("other", 5)])
    file = pa.schema([stored("col-a"), stored("b", 2), stored("s", 3, nested)])
    assert find_places(resolve_columns(file, SCHEMA, "id")) == dict(zip(NAMES, (None, 1, 2, None, 1), strict=True))


def test_mode_id_uses_names_inside_a_struct_without_ids() -> None:
    """Writers that know only ids of the top level wrote such files (S30)."""
    nested = pa.struct([stored("col-y"), stored("col-x")])
    file = pa.schema([stored("s", 3, nested), stored("b", 2)])
    assert find_places(resolve_columns(file, SCHEMA, "id")) == dict(zip(NAMES, (None, 1, 0, 1, 0), strict=True))


def test_mode_id_without_any_id_cannot_be_resolved() -> None:
    with pytest.raises(UnresolvableColumns, match="no field ids"):
        resolve_columns(pa.schema([stored("col-a"), stored("col-b")]), SCHEMA, "id")
    assert set(find_places(resolve_columns(pa.schema([]), SCHEMA, "id")).values()) == {None}


def test_mode_name_ignores_ids() -> None:
    file = pa.schema([stored("col-b", 1), stored("a", 2), stored("col-a", 7)])
    assert find_places(resolve_columns(file, SCHEMA, "name")) == dict(zip(NAMES, (2, 0, None, None, None), strict=True))


def test_members_inside_of_arrays_and_maps() -> None:
    inner = Struct((Field("x", LONG, True, {}), Field("y", LONG, True, {})))
    schema = Struct((Field("l", Array(inner, True), True, {}), Field("m", Map(LONG, inner, True), True, {})))
    kind = pa.struct([stored("y"), stored("x")])
    (array, mapping) = resolve_columns(
        pa.schema([stored("m", kind=pa.map_(pa.int64(), kind)), stored("l", kind=pa.list_(kind))]), schema, None
    )
    assert [(each.name, each.place, each.inside) for each in (array, *array.members, *array.members[0].members)] == [
        ("l", 1, False),
        ("l.element", 0, True),
        ("l.element.x", 1, True),
        ("l.element.y", 0, True),
    ]
    assert [(each.name, each.inside) for each in mapping.members] == [("m.key", True), ("m.value", True)]
    assert [each.name for each in mapping.members[1].members] == ["m.value.x", "m.value.y"]


def test_two_columns_of_one_id_or_name_cannot_be_resolved() -> None:
    with pytest.raises(UnresolvableColumns):
        resolve_columns(pa.schema([stored("x", 1), stored("y", 1)]), SCHEMA, "id")
    with pytest.raises(UnresolvableColumns):
        resolve_columns(pa.schema([stored("col-a"), stored("col-a")]), SCHEMA, "name")
