"""Read variant columns of a data file: encoded values as they are, and the types of shredded values."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltaspec.model.rows.variant_shredding import Pair, Typed
from deltaspec.model.schema.data_types import Primitive, Struct
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, is_list, resolve_columns, unwrap_type
from deltaspec.wire.parquet.file_opener import UnreadableRows, open_data_file
from deltaspec.wire.storage.interface import StorageError, format_error

_BATCH_ROWS = 1 << 13
_BATCH_BYTES = 32 << 20
_VARIANT = Primitive("variant")
_EMPTY_PAIR = Pair(None, None)


@dataclass(frozen=True)
class VariantRow:
    """A variant that is not null; its row may be deleted."""

    path: tuple[str, ...]
    """Physical names; array elements are `element`, map entries `key` and `value`."""
    metadata: bytes | None
    pair: Pair
    is_shredded: bool
    """Whether the column may store values in typed columns."""


def iter_variants(
    source: Any, size: int, schema: Struct, mapping: str | None, path: tuple[str, ...] | None = None
) -> Iterator[VariantRow]:
    """Yield every variant of a file, column by column.

    Args:
        source: input of `pyarrow.parquet.ParquetFile`.
        size: length of the file in bytes.
        schema: schema of the table.
        mapping: column mapping mode: `id`, `name` or None.
        path: physical names of the only column to read; None for all.

    Raises:
        UnreadableRows: the file cannot be decoded, or a column is not stored as a variant.
        StorageError: the file cannot be read.
    """
    parquet, value_bytes = open_data_file(source, size)
    try:
        columns = resolve_columns(parquet.schema_arrow, schema, mapping)
    except UnresolvableColumns as fault:
        raise UnreadableRows(str(fault)) from fault
    rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(value_bytes, 1)))
    for column in columns:
        if column.place is None or not _has_variant(column, path):
            continue
        name = parquet.schema_arrow.names[column.place]
        try:
            for batch in parquet.iter_batches(batch_size=rows, columns=[name], use_threads=False):
                yield from _iter_nested(batch.column(batch.schema.get_field_index(name)), column, path)
        except (StorageError, UnreadableRows):
            raise
        except Exception as fault:  # Arrow raises any type on corrupt bytes
            raise UnreadableRows(f"its pages cannot be decoded: {format_error(fault)}") from fault


def _has_variant(column: FileColumn, path: tuple[str, ...] | None) -> bool:
    if column.kind == _VARIANT:
        return path in (None, column.path)
    return any(member.place is not None and _has_variant(member, path) for member in column.members)


def _iter_nested(array: pa.Array, column: FileColumn, path: tuple[str, ...] | None) -> Iterator[VariantRow]:
    """Yield the variants in the values of a column."""
    if column.kind == _VARIANT:
        yield from _decode_variants(array, column.path)
        return
    kind = unwrap_type(array.type)
    if pa.types.is_map(kind):
        parts = [array.keys, array.items]
    elif is_list(kind):
        parts = [array.flatten()]
    elif pa.types.is_struct(kind):
        parts = array.flatten()
    else:
        raise UnreadableRows(f"{column.name} is stored as {kind}")
    for member in column.members:
        if member.place is not None and _has_variant(member, path):
            yield from _iter_nested(parts[member.place], member, path)


def _decode_variants(array: pa.Array, path: tuple[str, ...]) -> Iterator[VariantRow]:
    parts = _get_members(array, ".".join(path))
    if "metadata" not in parts:
        raise UnreadableRows(f"{'.'.join(path)} has no metadata")
    is_shredded = "typed_value" in parts or "value" not in parts
    pairs = _build_pairs(parts, len(array))
    rows = zip(array.is_valid().to_pylist(), parts["metadata"].to_pylist(), pairs, strict=True)
    for valid, metadata, pair in rows:
        if valid:
            yield VariantRow(path, metadata, pair, is_shredded)


def _get_members(array: pa.Array, name: str) -> dict[str, pa.Array]:
    """Return the members of a group, which are null where the group is."""
    if not pa.types.is_struct(array.type):
        raise UnreadableRows(f"{name} is stored as {array.type}, which is not a variant")
    names = [each.name for each in array.type]
    parts = dict(zip(names, array.flatten(), strict=True))
    for part in ("metadata", "value"):
        if part in parts and not pa.types.is_binary(parts[part].type):
            raise UnreadableRows(f"{part} of {name} is stored as {parts[part].type}")
    if len(parts) < len(names):
        raise UnreadableRows(f"{name} has two members of the same name")
    return parts


def _build_pairs(parts: dict[str, pa.Array], rows: int) -> list[Pair]:
    values: list[bytes | None] = parts["value"].to_pylist() if "value" in parts else [None] * rows
    typed: list[Typed] = _decode_typed(parts["typed_value"]) if "typed_value" in parts else [None] * rows
    return [Pair(value, other) for value, other in zip(values, typed, strict=True)]


def _decode_typed(array: pa.Array) -> list[Typed]:
    """Return the typed value of each row of a `typed_value` column."""
    valid = array.is_valid().to_pylist()
    if pa.types.is_struct(array.type):
        names = [each.name for each in array.type]
        fields = [
            _build_pairs(_get_members(part, name), len(part)) for name, part in zip(names, array.flatten(), strict=True)
        ]
        return [
            {name: each[row] for name, each in zip(names, fields, strict=True) if each[row] != _EMPTY_PAIR}
            if ok
            else None
            for row, ok in enumerate(valid)
        ]
    if is_list(array.type):
        items = array.flatten()
        elements = iter(_build_pairs(_get_members(items, "element"), len(items)))
        lengths = [length or 0 for length in array.value_lengths().to_pylist()]
        lists = [[next(elements) for _ in range(length)] for length in lengths]
        return [each if ok else None for each, ok in zip(lists, valid, strict=True)]
    kind = _name_type(array.type)
    return [kind if ok else None for ok in valid]


def _name_type(kind: pa.DataType) -> str:
    """Return the type name of a shredded scalar, as in `variant_bounds`."""
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return "exact number"
    if pa.types.is_timestamp(kind):
        name = "timestamp" if kind.tz else "timestamp_ntz"
        return f"{name} in nanoseconds" if kind.unit == "ns" else name
    for test, name in _NAMES:
        if test(kind):
            return name
    raise UnreadableRows(f"{kind} is not a type of shredded values")


_NAMES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time"),
    (pa.types.is_string, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_fixed_size_binary, "uuid"),
)
