"""Read variant columns of a data file: encoded values as they are, and shredded values."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.protocol.schema.data_types import Primitive, Struct
from deltaspec.protocol.variants.encoding import FieldNames, VariantError, read_metadata
from deltaspec.protocol.variants.shredding import Pair, Shape, Typed, find_encoding_faults, read_shredded_value
from deltaspec.protocol.variants.values import MISSING, NUMBER, STRING, Scalar, Value
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, is_list, resolve_columns
from deltaspec.wire.parquet.file_opener import UnreadableRows, open_data_file
from deltaspec.wire.storage.interface import StorageError, format_error

_BATCH_ROWS = 1 << 13
_BATCH_BYTES = 32 << 20
_CACHE_SIZE = 10_000
_VARIANT = Primitive("variant")


class VariantRow(msgspec.Struct, frozen=True):
    """A variant that is not null; its row may be deleted."""

    path: tuple[str, ...]
    """Physical names; array elements are `element`, map entries `key` and `value`."""
    position: int
    """Index of its row in the file; inside of arrays and maps, of its element or entry."""
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
    opened = open_data_file(source, size)
    parquet, value_bytes = opened.parquet, opened.value_bytes
    try:
        columns = resolve_columns(opened.schema, schema, mapping)
    except UnresolvableColumns as fault:
        raise UnreadableRows(str(fault)) from fault
    rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(value_bytes, 1)))
    for column in columns:
        if column.place is None or not _has_variant(column, path):
            continue
        name = opened.names[column.place]
        try:
            starts: dict[tuple[str, ...], int] = {}
            for batch in parquet.iter_batches(batch_size=rows, columns=[name], use_threads=False):
                yield from _iter_nested(batch.column(batch.schema.get_field_index(name)), column, path, starts)
        except (StorageError, UnreadableRows):
            raise
        except Exception as fault:  # Arrow raises any type on corrupt bytes
            raise UnreadableRows(f"its pages cannot be decoded: {format_error(fault)}") from fault


class VariantDecoder:
    """Decode variants, each distinct encoded one only once, as long as the cache has room."""

    def __init__(self) -> None:
        self._names: dict[bytes, FieldNames] = {}
        self._values: dict[tuple[bytes, bytes], Value] = {}

    def read(self, metadata: bytes | None, pair: Pair) -> Value:
        """Return the value of a variant that is not null; a missing value is a variant null.

        Raises:
            VariantError: the variant is not valid.
            VariantUndecided: a newer encoding may allow it, or it is nested too deeply.
        """
        key = (metadata or b"", pair.value or b"")
        if pair.typed is None and key in self._values:
            return self._values[key]
        names = self._read_names(metadata)
        fault = next(find_encoding_faults(pair, names), None)
        if fault is not None:
            raise VariantError(fault)
        value = read_shredded_value(pair, names)
        value = MISSING if value is None else value
        if pair.typed is None and len(self._values) < _CACHE_SIZE:
            self._values[key] = value
        return value

    def _read_names(self, metadata: bytes | None) -> FieldNames:
        if metadata is None:
            raise VariantError("the metadata of the variant is null")
        if metadata not in self._names:
            if len(self._names) >= _CACHE_SIZE:
                self._names.clear()
            self._names[metadata] = read_metadata(metadata)
        return self._names[metadata]


def _has_variant(column: FileColumn, path: tuple[str, ...] | None) -> bool:
    if column.kind == _VARIANT:
        return path in (None, column.path)
    return any(member.place is not None and _has_variant(member, path) for member in column.members)


def _iter_nested(
    array: pa.Array, column: FileColumn, path: tuple[str, ...] | None, starts: dict[tuple[str, ...], int]
) -> Iterator[VariantRow]:
    """Yield the variants in the values of a column; `starts` counts the values of earlier batches."""
    if column.kind == _VARIANT:
        start = starts.get(column.path, 0)
        starts[column.path] = start + len(array)
        is_shredded = _is_shredded(array.type)
        for position, found in enumerate(decode_variants(array, column.name), start):
            if found is not None:
                yield VariantRow(column.path, position, *found, is_shredded)
        return
    kind = array.type
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
            yield from _iter_nested(parts[member.place], member, path, starts)


def _is_shredded(kind: pa.DataType) -> bool:
    names = [each.name for each in kind] if pa.types.is_struct(kind) else []
    return "typed_value" in names or "value" not in names


def decode_variants(array: pa.Array, name: str) -> Iterator[tuple[bytes | None, Pair] | None]:
    """Yield metadata and pair of each value of a variant column; None for a null.

    Raises:
        UnreadableRows: the column is not stored as a variant.
    """
    parts = _get_members(array, name)
    if "metadata" not in parts:
        raise UnreadableRows(f"{name} has no metadata")
    pairs = zip(parts["metadata"].to_pylist(), _build_pairs(parts, len(array)), strict=True)
    for valid, pair in zip(array.is_valid().to_pylist(), pairs, strict=True):
        yield pair if valid else None


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
    if "typed_value" not in parts:
        return [Pair(value, None) for value in values]
    typed, shape = _decode_typed(parts["typed_value"])
    return [Pair(value, other, shape) for value, other in zip(values, typed, strict=True)]


def _decode_typed(array: pa.Array) -> tuple[list[Typed], Shape]:
    """Return the typed value of each row of a `typed_value` column."""
    valid = array.is_valid().to_pylist()
    if pa.types.is_struct(array.type):
        names = [each.name for each in array.type]
        fields = [
            _build_pairs(_get_members(part, name), len(part)) for name, part in zip(names, array.flatten(), strict=True)
        ]
        rows = zip(*fields, strict=True) if fields else iter([()] * len(array))
        objects: list[Typed] = [
            dict(zip(names, row, strict=True)) if ok else None for ok, row in zip(valid, rows, strict=True)
        ]
        return objects, Shape("object", frozenset(names))
    if is_list(array.type):
        items = array.flatten()
        elements = iter(_build_pairs(_get_members(items, "element"), len(items)))
        lengths = [length or 0 for length in array.value_lengths().to_pylist()]
        lists = [[next(elements) for _ in range(length)] for length in lengths]
        return [each if ok else None for each, ok in zip(lists, valid, strict=True)], Shape("array")
    return _decode_scalars(array), Shape("scalar")


def _decode_scalars(array: pa.Array) -> list[Typed]:
    for test, kind, convert in _SCALARS:
        if test(array.type):
            values = convert(array).to_pylist()
            return [None if value is None else Scalar(kind, value) for value in values]
    if pa.types.is_timestamp(array.type):
        factor = _NANOSECONDS[array.type.unit]
        kind = "timestamp" if array.type.tz else "timestamp_ntz"
        values = array.cast(pa.int64()).to_pylist()
        return [None if value is None else Scalar(kind, value * factor) for value in values]
    raise UnreadableRows(f"{array.type} is not a type of shredded values")


def _convert_to(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    return lambda array: array.cast(kind)


def _keep(array: pa.Array) -> pa.Array:
    return array


_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
_SCALARS: tuple[tuple[Callable[[pa.DataType], bool], str, Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_integer, NUMBER, _keep),
    (pa.types.is_decimal, NUMBER, _keep),
    (pa.types.is_boolean, "boolean", _keep),
    (pa.types.is_float32, "float", _keep),
    (pa.types.is_float64, "double", _keep),
    (pa.types.is_date32, "date", _convert_to(pa.int32())),
    (pa.types.is_time64, "time", _convert_to(pa.int64())),
    (pa.types.is_string, STRING, _convert_to(pa.binary())),
    (pa.types.is_binary, "binary", _keep),
    (pa.types.is_fixed_size_binary, "uuid", _keep),
)
"""Arrow types of shredded scalars, the kinds of their values, and their conversion to what `Scalar` holds."""
