"""Where a data file has the columns of its table: by name, or by field id where column mapping says so.

Source: Column Mapping, Reader Requirements. Readings: a name that the file has in other letters only is taken for the
column, as some engines do; a struct without any field id is read by names even in `id` mode.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.model.schema.column_mapping import column_id, physical_name
from deltaspec.model.schema.data_types import Array, DataType, Field, Map, Struct

_FIELD_ID = b"PARQUET:field_id"


class UnresolvableColumns(ValueError):
    """A file of which the text does not say which of its columns is which of the table's."""


@dataclass(frozen=True)
class FileColumn:
    """A column of the table, at any depth, and where a file has it."""

    path: tuple[str, ...]
    """Physical names; array elements are `element`, map entries `key` and `value`."""
    kind: DataType
    nullable: bool
    place: int | None
    """Position among the children of its parent in the file's Arrow schema; None if the file lacks it."""
    file_type: pa.DataType | None
    members: tuple["FileColumn", ...] = ()
    """Struct members; the element of an array, key and value of a map that the file has."""
    inside: bool = False
    """It is below an array or a map."""

    @property
    def name(self) -> str:
        """Its physical path as findings show it."""
        return ".".join(self.path)


def resolve_columns(file_schema: pa.Schema, schema: Struct, mapping: str | None) -> tuple[FileColumn, ...]:
    """The top-level columns of a table, in its order, with what is below them.

    Args:
        file_schema: `ParquetFile.schema_arrow` of the data file.
        schema: of the table.
        mapping: `id`, `name` or None, as `column_mapping.mode` has it.

    Raises:
        UnresolvableColumns: two columns of the file are the same column, or mapping is by id and the file has no ids.
    """
    fields = list(file_schema)
    if mapping == "id" and fields and all(_field_id(each) is None for each in fields):
        raise UnresolvableColumns("the table maps columns by id and the file has no field ids (S30)")
    return _members(fields, schema, mapping, (), inside=False)


def _members(
    fields: list[pa.Field], struct: Struct, mapping: str | None, path: tuple[str, ...], *, inside: bool
) -> tuple[FileColumn, ...]:
    by_id = mapping == "id" and any(_field_id(each) is not None for each in fields)
    found = []
    for field in struct.fields:
        here = (*path, physical_name(field, mapping))
        place = _place_of_id(fields, field, here) if by_id else _place_of_name(fields, here)
        found.append(_column(fields, place, field, mapping, here, inside=inside))
    return tuple(found)


def _column(
    fields: list[pa.Field],
    place: int | None,
    field: Field,
    mapping: str | None,
    path: tuple[str, ...],
    *,
    inside: bool,
) -> FileColumn:
    file_type = None if place is None else unwrap_type(fields[place].type)
    members = _below(file_type, field.type, mapping, path, inside=inside)
    return FileColumn(path, field.type, field.nullable, place, file_type, members, inside)


def _below(
    file_type: pa.DataType | None, kind: DataType, mapping: str | None, path: tuple[str, ...], *, inside: bool
) -> tuple[FileColumn, ...]:
    """What is below a column of a nested type; where the file has another nesting, only the members of structs."""
    if isinstance(kind, Struct):
        fields = list(file_type) if file_type is not None and pa.types.is_struct(file_type) else []
        return _members(fields, kind, mapping, path, inside=inside)
    if file_type is None:
        return ()
    match kind:
        case Array(element, contains_null) if is_list(file_type):
            fields = [file_type.value_field]
            member = Field("element", element, contains_null)
            return (_column(fields, 0, member, mapping, (*path, "element"), inside=True),)
        case Map(key, value, value_contains_null) if pa.types.is_map(file_type):
            fields = [file_type.key_field, file_type.item_field]
            first, second = Field("key", key, True), Field("value", value, value_contains_null)
            return (
                _column(fields, 0, first, mapping, (*path, "key"), inside=True),
                _column(fields, 1, second, mapping, (*path, "value"), inside=True),
            )
    return ()


def _place_of_id(fields: list[pa.Field], field: Field, path: tuple[str, ...]) -> int | None:
    wanted = column_id(field)
    return _only([place for place, each in enumerate(fields) if wanted is not None and _field_id(each) == wanted], path)


def _place_of_name(fields: list[pa.Field], path: tuple[str, ...]) -> int | None:
    exact = [place for place, each in enumerate(fields) if each.name == path[-1]]
    if exact:
        return _only(exact, path)
    folded = path[-1].casefold()
    return _only([place for place, each in enumerate(fields) if each.name.casefold() == folded], path)


def _only(places: list[int], path: tuple[str, ...]) -> int | None:
    if len(places) > 1:
        raise UnresolvableColumns(f"the file has {len(places)} columns that could be {'.'.join(path)}")
    return places[0] if places else None


def _field_id(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(_FIELD_ID)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def map_entries_as_lists(array: pa.MapArray, part: pa.Array) -> pa.ListArray:
    """Keys or values of a map as lists. Arrow's functions of lists take no map, and one of them aborts on it."""
    return pa.ListArray.from_arrays(pc.add(array.offsets, 0), part, mask=array.is_null())


def unwrap_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves: the storage of an extension, the values of a dictionary."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind):
            kind = kind.value_type
        else:
            return kind


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's lists; a map is none."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values of a type are bytes without a meaning."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
