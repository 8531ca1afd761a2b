"""Columns that must not be null. Source: Struct Field, Array Type, Map Type."""

from collections.abc import Iterator

from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Array, DataType, Map, Primitive, Struct

Path = tuple[str, ...]
_VOID = Primitive("void")


def list_required_columns(data_type: DataType, mapping: str | None, path: Path = ()) -> Iterator[Path]:
    """Yield the physical paths of the columns, elements and values at any depth that must not be null.

    Array elements are `element`, map entries `key` and `value`.
    """
    parts: list[tuple[str, DataType, bool]] = []
    match data_type:
        case Struct(fields):
            parts = [(physical_name(each, mapping), each.type, each.nullable) for each in fields]
        case Array(element, contains_null):
            parts = [("element", element, contains_null)]
        case Map(key, value, value_contains_null):
            parts = [("key", key, True), ("value", value, value_contains_null)]
    for name, part, nullable in parts:
        here = (*path, name)
        if not nullable and part != _VOID:
            yield here
        yield from list_required_columns(part, mapping, here)


def list_required_leaves(schema: Struct, mapping: str | None, path: Path = ()) -> Iterator[Path]:
    """Yield the physical paths of the columns that are not null in any row: no enclosing struct may be null either.

    Structs are left out, and so is what arrays and maps contain, because statistics do not count their nulls.
    """
    for field in schema.fields:
        here = (*path, physical_name(field, mapping))
        if field.nullable or field.type == _VOID:
            continue
        if isinstance(field.type, Struct):
            yield from list_required_leaves(field.type, mapping, here)
        else:
            yield here
