"""Hashes of whole rows, so that two sets of rows are compared without holding either: equal rows have equal hashes.

Rows of different files are equal where their table's columns are: whatever the order of columns, their names in the
file, a narrower type from before the type was widened, or a column that one file lacks and that is null in another. NaN
equals NaN and 0.0 equals -0.0; entries of a map have no order; days before 1582-10-15 are all one, and so are moments
before 1900, since two files may hold them in two calendars (`legacy_calendar`). The hashes hold within one process.
"""

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.model.schema.data_types import Array, DataType, Decimal, Map, Primitive, Struct
from deltaspec.wire.data.column_aggregates import unwrap_array
from deltaspec.wire.data.column_resolution import FileColumn, is_bytes, is_list, is_text, map_entries_as_lists

HASH_MODULUS = 1 << 64
_NULL, _NAN = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
_ODD = 0x9FB21C651E98DF25
_DAY_US = 86_400_000_000
_FIRST_DAY, _FIRST_MOMENT_US = -141_427, -2_208_902_400_000_000
"""1582-10-15, and 1900-01-02 in UTC, when 1900 had begun in every zone."""
_INTEGERS = ("byte", "short", "integer", "long")
_NO_HASH = ("void", "variant")


class Incomparable(ValueError):
    """A file holds a column in a type that no value of the table's type is read from."""


def is_hashable(kind: DataType) -> bool:
    """Whether values of a type are compared: a variant has many spellings, and of proposed types nothing is known."""
    match kind:
        case Struct(fields):
            return all(is_hashable(field.type) for field in fields)
        case Array(element):
            return is_hashable(element)
        case Map(key, value):
            return is_hashable(key) and is_hashable(value)
        case Primitive(name):
            return name not in _NO_HASH
        case Decimal():
            return True
    return False


def hash_rows(columns: Sequence[tuple[FileColumn, pa.Array | None]], rows: int, constant: str = "") -> pl.Series:
    """A hash of each row.

    Args:
        columns: of the table, in the same order for every file; null where the file lacks one.
        rows: how many there are.
        constant: what all of them have in common beside, as text: the partition values.

    Returns:
        UInt64, one a row.

    Raises:
        Incomparable: a column has another type than its values can have.
    """
    total = pl.Series([constant]).hash(1).new_from_index(0, rows)
    for number, (column, array) in enumerate(columns):
        hashes = _nulls(rows) if array is None else _hash(column, array)
        total = total + hashes * _factor(number)
    return total.hash(2)


def sum_hashes(hashes: pl.Series) -> int:
    """The sum of hashes modulo 2^64, which does not depend on their order."""
    return int(hashes.sum()) % HASH_MODULUS


def _nulls(rows: int) -> pl.Series:
    return _all(_NULL, rows)


def _all(value: int, rows: int) -> pl.Series:
    return pl.Series([value], dtype=pl.UInt64).new_from_index(0, rows)


def _factor(number: int) -> int:
    return pow(_ODD, number + 1, HASH_MODULUS)


def _hash(column: FileColumn, array: pa.Array) -> pl.Series:
    array = unwrap_array(array)
    match column.kind:
        case _ if pa.types.is_null(array.type):
            return _nulls(len(array))
        case Struct():
            found = _hash_struct(column, array)
        case Array():
            found = _hash_list(column, array)
        case Map():
            found = _hash_map(column, array)
        case _:
            found = _hash_leaf(column.kind, array)
    if array.null_count == 0:
        return found
    valid = _series(array.is_valid())
    return found.zip_with(valid, _nulls(len(array)))


def _hash_struct(column: FileColumn, array: pa.Array) -> pl.Series:
    if not pa.types.is_struct(array.type):
        raise Incomparable(f"{column.name} is {array.type} in the file")
    children = array.flatten()
    columns = [(member, None if member.place is None else children[member.place]) for member in column.members]
    return hash_rows(columns, len(array))


def _hash_list(column: FileColumn, array: pa.Array) -> pl.Series:
    if not is_list(array.type):
        raise Incomparable(f"{column.name} is {array.type} in the file")
    lengths = _series(pc.list_value_length(array)).fill_null(0).cast(pl.UInt64)
    elements = _hash(column.members[0], array.flatten())
    ends = lengths.cum_sum()
    parents = _series(pc.list_parent_indices(array))
    places = pl.Series(range(len(elements)), dtype=pl.UInt64) - (ends - lengths).gather(parents)
    return _sums((elements + places * _ODD).hash(3), ends, lengths)


def _hash_map(column: FileColumn, array: pa.Array) -> pl.Series:
    if not pa.types.is_map(array.type):
        raise Incomparable(f"{column.name} is {array.type} in the file")
    keys, items = map_entries_as_lists(array, array.keys), map_entries_as_lists(array, array.items)
    lengths = _series(pc.list_value_length(keys)).fill_null(0).cast(pl.UInt64)
    key, value = column.members
    entries = _hash(key, keys.flatten()) + _hash(value, items.flatten()) * _ODD
    return _sums(entries.hash(4), lengths.cum_sum(), lengths)


def _sums(parts: pl.Series, ends: pl.Series, lengths: pl.Series) -> pl.Series:
    """The sum of the parts of each row, by its length and where it ends among all parts."""
    running = pl.concat([pl.Series([0], dtype=pl.UInt64), parts.cum_sum()])
    return (running.gather(ends) - running.gather(ends - lengths) + lengths * _ODD).hash(5)


def _hash_leaf(kind: DataType, array: pa.Array) -> pl.Series:
    try:
        values = _canonical(kind, array)
    except pa.ArrowException as fault:
        raise Incomparable(f"{array.type} holds what the table's type cannot: {str(fault)[:100]}") from fault
    series = _series(values)
    if not pa.types.is_floating(values.type):
        return series.hash(6)
    hashes = (series + 0.0).hash(6)
    nan = series.is_nan().fill_null(False)
    return (
        hashes.zip_with(~nan, pl.Series([_NAN], dtype=pl.UInt64).new_from_index(0, len(series)))
        if nan.any()
        else hashes
    )


def _canonical(kind: DataType, array: pa.Array) -> pa.Array:
    """The values in one type for each type of a table."""
    source = array.type
    match kind:
        case Primitive("string" | "binary") if is_text(source) or is_bytes(source):
            return array.cast(pa.large_binary())
        case Primitive(name) if name in _INTEGERS and pa.types.is_integer(source):
            return array.cast(pa.int64())
        case Primitive("float" | "double") if pa.types.is_floating(source) or pa.types.is_integer(source):
            return array.cast(pa.float64())
        case Primitive("boolean") if pa.types.is_boolean(source):
            return array
        case Primitive("date") if pa.types.is_date32(source):
            return _from(_FIRST_DAY, array.cast(pa.int32()).cast(pa.int64()))
        case Primitive("timestamp" | "timestamp_ntz") if pa.types.is_timestamp(source):
            return _from(_FIRST_MOMENT_US, array.cast(pa.timestamp("us", source.tz), safe=False).cast(pa.int64()))
        case Primitive("timestamp_ntz") if pa.types.is_date32(source):
            return _from(_FIRST_MOMENT_US, pc.multiply(array.cast(pa.int32()).cast(pa.int64()), _DAY_US))
        case Decimal(_, scale) if pa.types.is_decimal(source) or pa.types.is_integer(source):
            return array.cast(pa.decimal128(38, scale)).cast(pa.string())
    raise Incomparable(f"{source} is not how the table's type is stored")


def _from(first: int, values: pa.Array) -> pa.Array:
    """The values, all before the first one as that."""
    return pc.max_element_wise(values, pa.scalar(first, pa.int64()), skip_nulls=False)


def _series(array: pa.Array) -> pl.Series:
    found = pl.from_arrow(array)
    assert isinstance(found, pl.Series)
    return found
