"""Resolve the columns of a table in a data file: by name, or by field id under column mapping.

Source: Column Mapping, Reader Requirements. Readings: a name that differs only in case is accepted, as in some engines;
a struct without any field id is resolved by names even in `id` mode.
"""

from collections import defaultdict
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.protocol.schema.column_mapping import column_id, physical_name
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Struct

_FIELD_ID = b"PARQUET:field_id"


class UnresolvableColumns(ValueError):
    """The protocol does not define which column of the file is which column of the table."""


class FileColumn(msgspec.Struct, frozen=True):
    """A column of the table, at any depth, and its position in a file."""

    path: tuple[str, ...]
    """Physical names; array elements are `element`, map entries `key` and `value`."""
    kind: DataType
    nullable: bool
    place: int | None
    """Index among the children of its parent in the file's Arrow schema; None if the file does not have it."""
    file_type: pa.DataType | None
    members: tuple["FileColumn", ...] = ()
    """Struct members; else, if the file has the column, the element of an array, or key and value of a map."""
    inside: bool = False
    """Whether it is inside of an array or a map."""

    @property
    def name(self) -> str:
        """Physical path as shown in findings."""
        return ".".join(self.path)


def resolve_columns(file_schema: pa.Schema, schema: Struct, mapping: str | None) -> tuple[FileColumn, ...]:
    """Return the top-level columns of a table, in table order, with nested columns as members.

    Args:
        file_schema: `ParquetFile.schema_arrow` of the data file.
        schema: schema of the table.
        mapping: column mapping mode: `id`, `name` or None.

    Raises:
        UnresolvableColumns: two columns of the file match one column, or the mode is `id` and the file has no ids.
    """
    fields = list(file_schema)
    if mapping == "id" and fields and all(_get_field_id(each) is None for each in fields):
        raise UnresolvableColumns("the table maps columns by id and the file has no field ids (S30)")
    return _resolve_members(fields, schema, mapping, (), inside=False)


def _resolve_members(
    fields: list[pa.Field], struct: Struct, mapping: str | None, path: tuple[str, ...], *, inside: bool
) -> tuple[FileColumn, ...]:
    places = _Places(fields)
    by_id = mapping == "id" and places.by_id
    found = []
    for field in struct.fields:
        here = (*path, physical_name(field, mapping))
        place = places.find_id(column_id(field), here) if by_id else places.find_name(here)
        found.append(_resolve_column(fields, place, field, mapping, here, inside=inside))
    return tuple(found)


def _resolve_column(
    fields: list[pa.Field],
    place: int | None,
    field: Field,
    mapping: str | None,
    path: tuple[str, ...],
    *,
    inside: bool,
) -> FileColumn:
    file_type = None if place is None else fields[place].type
    members = _resolve_nested(file_type, field.type, mapping, path, inside=inside)
    return FileColumn(path, field.type, field.nullable, place, file_type, members, inside)


def _resolve_nested(
    file_type: pa.DataType | None, data_type: DataType, mapping: str | None, path: tuple[str, ...], *, inside: bool
) -> tuple[FileColumn, ...]:
    """Return the members of a nested column; if the file nests it differently, only the members of structs."""
    if isinstance(data_type, Struct):
        fields = list(file_type) if file_type is not None and pa.types.is_struct(file_type) else []
        return _resolve_members(fields, data_type, mapping, path, inside=inside)
    if file_type is None:
        return ()
    match data_type:
        case Array(element, contains_null) if is_list(file_type):
            fields = [file_type.value_field]
            member = Field("element", element, contains_null)
            return (_resolve_column(fields, 0, member, mapping, (*path, "element"), inside=True),)
        case Map(key, value, value_contains_null) if pa.types.is_map(file_type):
            fields = [file_type.key_field, file_type.item_field]
            first, second = Field("key", key, True), Field("value", value, value_contains_null)
            return (
                _resolve_column(fields, 0, first, mapping, (*path, "key"), inside=True),
                _resolve_column(fields, 1, second, mapping, (*path, "value"), inside=True),
            )
    return ()


class _Places:
    """The positions of fields by field id, by name, and by name in any case."""

    def __init__(self, fields: list[pa.Field]) -> None:
        self.by_id, self._by_name, self._by_folded = (defaultdict[Any, list[int]](list) for _ in range(3))
        for place, field in enumerate(fields):
            self._by_name[field.name].append(place)
            self._by_folded[field.name.casefold()].append(place)
            field_id = _get_field_id(field)
            if field_id is not None:
                self.by_id[field_id].append(place)

    def find_id(self, field_id: int | None, path: tuple[str, ...]) -> int | None:
        """Return the position of the only field with an id."""
        return _get_single(self.by_id.get(field_id, []), path)

    def find_name(self, path: tuple[str, ...]) -> int | None:
        """Return the position of the only field with the last name of a path, else with that name in another case."""
        name = path[-1]
        return _get_single(self._by_name.get(name) or self._by_folded.get(name.casefold(), []), path)


def _get_single(positions: list[int], path: tuple[str, ...]) -> int | None:
    if len(positions) > 1:
        raise UnresolvableColumns(f"expected one column {'.'.join(path)} in the file, found {len(positions)}")
    return positions[0] if positions else None


def _get_field_id(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(_FIELD_ID)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def map_entries_as_lists(array: pa.MapArray, part: pa.Array) -> pa.ListArray:
    """Return keys or values of a map as lists, because Arrow's list functions fail or abort on maps."""
    return pa.ListArray.from_arrays(pc.add(array.offsets, 0), part, mask=array.is_null())


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is a list of Arrow; maps are not."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of a type are strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether values of a type are plain bytes."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
