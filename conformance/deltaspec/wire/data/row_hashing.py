"""Hash complete rows, to compare two sets of rows without storing them: equal rows have equal hashes.

Rows of different files are equal if the columns of the table are. These do not matter:

- the order of columns and their names in the file, and narrower types from before a type was widened;
- whether a null column is missing from the file;
- the sign of zero, the bits of NaN, and the order of map entries;
- how variants are encoded and shredded;
- dates before 1582-10-15 (also in `timestamp_ntz`, which may be widened dates) and times before 1900, because
  files may store them in two calendars (`legacy_calendar`).

Hashes are comparable within one process only.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.protocol.schema.data_types import INTEGER_BITS, Array, DataType, Decimal, Map, Primitive, Struct
from deltaspec.protocol.time_units import DAY_US
from deltaspec.protocol.variants.encoding import VariantError, VariantUndecided
from deltaspec.protocol.variants.values import serialize_value
from deltaspec.wire.data.column_resolution import FileColumn, is_bytes, is_list, is_text, map_entries_as_lists
from deltaspec.wire.data.variant_reader import VariantDecoder, decode_variants
from deltaspec.wire.parquet.file_opener import UnreadableRows

HASH_MODULUS = 1 << 64
_NULL, _NAN = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
_ODD_FACTOR = 0x9FB21C651E98DF25
_FIRST_DAY, _FIRST_MOMENT_US = -141_427, -2_208_902_400_000_000
"""1582-10-15, and 1900-01-02 in UTC, when 1900 had begun in every time zone."""
_HASH_BYTES = 8
_NAN_BITS = 0x7FF8000000000000


LeafHash: TypeAlias = Callable[[DataType, pa.Array], pl.Series]
"""Hash of the values of a leaf column, one UInt64 for each row; hashes of nulls are arbitrary. May raise
`Incomparable`."""


class Incomparable(ValueError):
    """A column has values that do not convert to the table's type."""


def is_hashable(data_type: DataType) -> bool:
    """Return whether values of a type can be compared: types that the protocol does not define are unknown."""
    match data_type:
        case Struct(fields):
            return all(is_hashable(field.type) for field in fields)
        case Array(element):
            return is_hashable(element)
        case Map(key, value):
            return is_hashable(key) and is_hashable(value)
    return isinstance(data_type, (Primitive, Decimal))


def hash_rows(columns: Sequence[tuple[FileColumn, pa.Array | None]], rows: int, constant: str = "") -> pl.Series:
    """Return a hash of each row.

    Args:
        columns: columns of the table, in the same order for every file; the array is None if the file does not have the
            column.
        rows: number of rows.
        constant: text that is part of every row: the partition values.

    Returns:
        UInt64 series with one value per row.

    Raises:
        Incomparable: a column has values that do not convert to the table's type.
    """
    total = pl.Series([constant]).hash(1).new_from_index(0, rows)
    for number, (column, array) in enumerate(columns):
        hashes = hash_nulls(rows) if array is None else hash_column(column, array)
        total = total + hashes * _compute_factor(number)
    return total.hash(2)


def combine_hashes(columns: Sequence[pl.Series], rows: int) -> pl.Series:
    """Return a hash of each row from the hashes of its columns."""
    total = _repeat(0, rows)
    for number, hashes in enumerate(columns):
        total = total + hashes * _compute_factor(number)
    return total.hash(2)


def sum_hashes(hashes: pl.Series) -> int:
    """Return the sum of hashes modulo 2^64, which does not depend on their order."""
    return int(hashes.sum()) % HASH_MODULUS


def hash_nulls(rows: int) -> pl.Series:
    """Return the hash of null for a number of rows."""
    return _repeat(_NULL, rows)


def _repeat(value: int, rows: int) -> pl.Series:
    return pl.Series([value], dtype=pl.UInt64).new_from_index(0, rows)


def _compute_factor(number: int) -> int:
    return pow(_ODD_FACTOR, number + 1, HASH_MODULUS)


def hash_column(column: FileColumn, array: pa.Array, leaf: LeafHash | None = None) -> pl.Series:
    """Return a hash of each value of a column.

    Args:
        column: the column, at any depth.
        array: its values.
        leaf: hash of the leaves; None for `hash_leaf`.

    Raises:
        Incomparable: the values do not convert to the table's type.
    """
    match column.kind:
        case _ if pa.types.is_null(array.type) or column.kind == Primitive("void"):
            return hash_nulls(len(array))
        case Primitive("variant"):
            found = hash_variants(column, array)
        case Struct():
            found = _hash_struct(column, array, leaf)
        case Array():
            found = _hash_list(column, array, leaf)
        case Map():
            found = _hash_map(column, array, leaf)
        case _:
            found = (leaf or hash_leaf)(column.kind, array)
    if array.null_count == 0:
        return found
    valid = _to_series(array.is_valid())
    return found.zip_with(valid, hash_nulls(len(array)))


def _hash_struct(column: FileColumn, array: pa.Array, leaf: LeafHash | None) -> pl.Series:
    if not pa.types.is_struct(array.type):
        raise Incomparable(f"{column.name} is {array.type} in the file")
    if column.members and all(member.place is None for member in column.members):
        # Spark before 4.1 reads every such struct as null
        raise Incomparable(f"the file stores no member of {column.name}")
    children = array.flatten()
    members = [
        hash_nulls(len(array)) if member.place is None else hash_column(member, children[member.place], leaf)
        for member in column.members
    ]
    return combine_hashes(members, len(array))


def _hash_list(column: FileColumn, array: pa.Array, leaf: LeafHash | None) -> pl.Series:
    if not is_list(array.type):
        raise Incomparable(f"{column.name} is {array.type} in the file")
    lengths = _to_series(pc.list_value_length(array)).fill_null(0).cast(pl.UInt64)
    elements = hash_column(column.members[0], array.flatten(), leaf)
    ends = lengths.cum_sum()
    parents = _to_series(pc.list_parent_indices(array))
    positions = pl.Series(range(len(elements)), dtype=pl.UInt64) - (ends - lengths).gather(parents)
    return _sum_parts((elements + positions * _ODD_FACTOR).hash(3), ends, lengths)


def _hash_map(column: FileColumn, array: pa.Array, leaf: LeafHash | None) -> pl.Series:
    if not pa.types.is_map(array.type):
        raise Incomparable(f"{column.name} is {array.type} in the file")
    keys, items = map_entries_as_lists(array, array.keys), map_entries_as_lists(array, array.items)
    lengths = _to_series(pc.list_value_length(keys)).fill_null(0).cast(pl.UInt64)
    key, value = column.members
    entries = hash_column(key, keys.flatten(), leaf) + hash_column(value, items.flatten(), leaf) * _ODD_FACTOR
    return _sum_parts(entries.hash(4), lengths.cum_sum(), lengths)


def hash_variants(column: FileColumn, array: pa.Array) -> pl.Series:
    """Return hashes of the values, whatever their encoding; hashes of nulls are arbitrary."""
    decoder = VariantDecoder()
    hashes = []
    try:
        for found in decode_variants(array, column.name):
            value = b"" if found is None else serialize_value(decoder.read(*found))
            hashes.append(int.from_bytes(blake2b(value, digest_size=_HASH_BYTES).digest(), "little"))
    except (UnreadableRows, VariantError, VariantUndecided) as fault:
        raise Incomparable(f"{column.name}: {fault}") from fault
    return pl.Series(hashes, dtype=pl.UInt64)


def _sum_parts(parts: pl.Series, ends: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return the sum of the parts of each row, from its length and the end of its parts."""
    running = pl.concat([pl.Series([0], dtype=pl.UInt64), parts.cum_sum()])
    return (running.gather(ends) - running.gather(ends - lengths) + lengths * _ODD_FACTOR).hash(5)


def hash_leaf(data_type: DataType, array: pa.Array) -> pl.Series:
    """Hash the values of a leaf column, one hash for each row."""
    try:
        values = _normalize(data_type, array)
    except pa.ArrowException as fault:
        raise Incomparable(f"{array.type} has values outside of the table's type: {str(fault)[:100]}") from fault
    series = _to_series(values)
    if not pa.types.is_floating(values.type):
        return series.hash(6)
    hashes = (series + 0.0).hash(6)
    nan = series.is_nan().fill_null(False)
    return (
        hashes.zip_with(~nan, pl.Series([_NAN], dtype=pl.UInt64).new_from_index(0, len(series)))
        if nan.any()
        else hashes
    )


def hash_result_leaf(data_type: DataType, array: pa.Array) -> pl.Series:
    """Hash the values of a leaf column as results of engines are compared: -0.0 differs from 0.0, and no date is
    ambiguous. Raises `Incomparable`.

    Source: candidate protocol, "Comparing rows".
    """
    try:
        values = _normalize(data_type, array, is_exact=True)
    except pa.ArrowException as fault:
        raise Incomparable(f"{array.type} has values outside of the table's type: {str(fault)[:100]}") from fault
    if not pa.types.is_floating(values.type):
        return _to_series(values).hash(6)
    bits = pc.if_else(pc.is_nan(values), pa.scalar(_NAN_BITS, pa.int64()), values.view(pa.int64()))
    return _to_series(bits).hash(6)


def _normalize(data_type: DataType, array: pa.Array, *, is_exact: bool = False) -> pa.Array:
    """Convert the values to one Arrow type for each type of a table, unless `is_exact` without ambiguous dates."""
    source = array.type
    match data_type:
        case Primitive("string" | "binary") if is_text(source) or is_bytes(source):
            return array.cast(pa.large_binary())
        case Primitive(name) if name in INTEGER_BITS and pa.types.is_integer(source):
            return array.cast(pa.int64())
        case Primitive("float" | "double") if pa.types.is_floating(source) or pa.types.is_integer(source):
            return array.cast(pa.float64())
        case Primitive("boolean") if pa.types.is_boolean(source):
            return array
        case Primitive("date") if pa.types.is_date32(source):
            days = array.cast(pa.int32()).cast(pa.int64())
            return days if is_exact else _clamp(_FIRST_DAY, days)
        case Primitive("timestamp" | "timestamp_ntz") if pa.types.is_timestamp(source):
            microseconds = array.cast(pa.timestamp("us", source.tz), safe=False)
            if source.unit == "ns" and not microseconds.equals(
                pc.floor_temporal(array, unit="microsecond").cast(microseconds.type)
            ):
                raise Incomparable("fractions of microseconds before 1970 are rounded up by some readers")
            first = _FIRST_MOMENT_US if data_type == Primitive("timestamp") else _FIRST_DAY * DAY_US
            moments = microseconds.cast(pa.int64())
            return moments if is_exact else _clamp(first, moments)
        case Primitive("timestamp_ntz") if pa.types.is_date32(source):
            moments = pc.multiply(array.cast(pa.int32()).cast(pa.int64()), DAY_US)
            return moments if is_exact else _clamp(_FIRST_MOMENT_US, moments)
        case Decimal(_, scale) if pa.types.is_decimal(source) or pa.types.is_integer(source):
            decimals = array.cast(pa.decimal128(38, scale))
            return decimals if is_exact else decimals.cast(pa.string())
    raise Incomparable(f"{source} does not store the table's type")


def _clamp(first: int, values: pa.Array) -> pa.Array:
    """Replace values before the first one by the first one."""
    return pc.max_element_wise(values, pa.scalar(first, pa.int64()), skip_nulls=False)


def _to_series(array: pa.Array) -> pl.Series:
    found = pl.from_arrow(array)
    assert isinstance(found, pl.Series)
    return found
