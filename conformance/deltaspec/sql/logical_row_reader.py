"""Read the logical rows of a data file: selected columns with the types of the table's schema, as Arrow arrays.

An engine that receives them needs no knowledge of the file. Missing columns are null, partition columns have the value
in the log, narrower types are widened, and deleted rows are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaspec.protocol.schema.data_types import (
    INTEGER_BITS,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    get_type_name,
    iter_fields,
)
from deltaspec.sql.file_columns import FileColumns, has_custom_order, resolve_column
from deltaspec.sql.terms import Undecided
from deltaspec.wire.data.arrow_types import ARROW_PRIMITIVES
from deltaspec.wire.data.column_resolution import FileColumn, is_bytes, is_list, is_text
from deltaspec.wire.parquet.row_batches import Batch, RowBatches, compute_remaining_rows, iter_empty_batches

_LONG_DIGITS = 19


def member_name(position: int) -> str:
    """Return the name of a struct member in rows: names of a table are not passed to an engine."""
    return f"f{position}"


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type in which an engine receives a Delta type. Raises `Undecided` for other types.

    `member_name` gives the names of struct members.
    """
    match data_type:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(arrow_type(element))
        case Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields) if fields:
            return pa.struct([(member_name(position), arrow_type(each.type)) for position, each in enumerate(fields)])
        case Primitive(name) if name in ARROW_PRIMITIVES:
            return ARROW_PRIMITIVES[name]
    raise Undecided(f"values of type {get_type_name(data_type)} are not passed to an engine")


def find_field(parts: tuple[str, ...], schema: Struct) -> Field:
    """Return the field of a name. Raises `Undecided` if its values cannot be passed to an engine."""
    kind: DataType = schema
    fields: list[Field] = []
    for position in resolve_column(parts, schema):
        assert isinstance(kind, Struct)
        fields.append(kind.fields[position])
        kind = fields[-1].type
    if any(map(has_custom_order, fields)) or any(has_custom_order(each) for _, each in iter_fields(kind)):
        raise Undecided(f"strings of {'.'.join(parts)} have a collation or a fixed length")
    arrow_type(kind)
    return fields[-1]


class LogicalRows(msgspec.Struct, frozen=True):
    """Consecutive rows of a file."""

    rows: pa.Array
    """64-bit indexes in the file; deleted rows count."""
    columns: list[pa.Array]
    """The requested columns, of `arrow_type`; all null if values of the file cannot be read."""
    faults: dict[int, str]
    """Columns that cannot be read from this batch on, with the reason. Each is reported once."""


def iter_logical_rows(
    source: RowBatches, columns: FileColumns, names: Sequence[tuple[str, ...]], deleted: BitMap64 | None
) -> Iterator[LogicalRows]:
    """Yield the rows of a file without deleted ones, batch by batch.

    Args:
        source: the file.
        columns: its columns.
        names: parts of the names of the requested columns, as for `find_field`.
        deleted: rows that a deletion vector removes.

    Raises:
        UnreadableRows, StorageError: the rows cannot be read.
    """
    faults: dict[int, str] = {}
    requests = [_resolve(columns, parts, number, faults) for number, parts in enumerate(names)]
    remaining = None if deleted is None else compute_remaining_rows(source.row_count, deleted)
    in_file = sorted({each.name for each in requests if each.name is not None})
    batches = source.read(in_file, remaining) if in_file else iter_empty_batches(source.row_count, remaining)
    for batch in batches:
        arrays = [_read_values(columns, each, batch, faults) for each in requests]
        if batch.rows or faults:
            yield LogicalRows(get_row_indexes(batch), arrays, dict(faults))
        faults.clear()


def get_row_indexes(batch: Batch) -> pa.Array:
    """Return the indexes in the file of the rows of a batch."""
    positions = pa.array(range(batch.rows), pa.int64()) if batch.kept is None else pc.indices_nonzero(batch.kept)
    return pc.add(positions.cast(pa.int64()), batch.start)


class _Request(msgspec.Struct):
    """One requested column of one file."""

    number: int
    type: pa.DataType
    name: str | None = None
    """The top-level column of the file that contains it; None if all rows have the same value."""
    positions: tuple[int, ...] = ()
    column: FileColumn | None = None
    value: Any = None
    """The value of all rows if `name` is None."""
    first_unambiguous: Mapping[str, int] = msgspec.field(default_factory=dict)


def _resolve(columns: FileColumns, parts: tuple[str, ...], number: int, faults: dict[int, str]) -> _Request:
    positions = resolve_column(parts, columns.schema)
    fields, column = columns.resolve_in_file(positions)
    kind = fields[-1].type
    request = _Request(number, arrow_type(kind))
    partition = columns.get_partition_name(fields[0])
    if partition is not None:
        try:
            request.value = columns.get_partition_value(partition, kind)
        except Undecided as error:
            faults[number] = str(error)
    elif column is not None:
        request.name, request.positions, request.column = columns.get_file_column(positions), positions, column
        request.first_unambiguous = columns.first_unambiguous
    return request


def _read_values(columns: FileColumns, request: _Request, batch: Batch, faults: dict[int, str]) -> pa.Array:
    if request.column is None:
        return repeat_value(request.value, request.type, batch.rows)
    try:
        array = columns.extract_values(batch.columns, request.positions)
        return convert_values(array, request.column, request.first_unambiguous)
    except (Undecided, pa.ArrowException) as error:
        faults[request.number] = str(error)[:200]
        request.column = request.name = None
        return pa.nulls(batch.rows, request.type)


def repeat_value(value: Any, data_type: pa.DataType, rows: int) -> pa.Array:
    """Return an array of one value, as `parse_partition_value` parses it."""
    if value is None:
        return pa.nulls(rows, data_type)
    if pa.types.is_date32(data_type):
        return pa.repeat(pa.scalar(value, pa.int32()), rows).cast(data_type)
    if pa.types.is_timestamp(data_type):
        return pa.repeat(pa.scalar(value, pa.int64()), rows).cast(data_type)
    return pa.repeat(pa.scalar(value, data_type), rows)


def convert_values(stored: pa.Array, column: FileColumn, first_unambiguous: Mapping[str, int]) -> pa.Array:
    """Convert values of a file to `arrow_type` of their column.

    Args:
        stored: values of the file.
        column: the column, at any depth.
        first_unambiguous: as in `FileColumns`.

    Raises:
        Undecided, ArrowException: the values do not convert.
    """
    return _Converter(first_unambiguous).convert(stored, column)


class _Converter(msgspec.Struct, frozen=True):
    """Converts values of a file to values of its table. Raises `Undecided` or `ArrowException` if that fails."""

    first_unambiguous: Mapping[str, int]

    def convert(self, stored: pa.Array, column: FileColumn) -> pa.Array:
        array, kind = stored, column.kind
        match kind:
            case Struct() if pa.types.is_struct(array.type):
                return self._convert_struct(array, column)
            case Array() if is_list(array.type) and column.members:
                (element,) = column.members
                lists = array.cast(pa.list_(array.type.value_field))
                values = self.convert(lists.values, element)
                return pa.ListArray.from_arrays(_copy_offsets(lists), values, arrow_type(kind), mask=lists.is_null())
            case Map() if pa.types.is_map(array.type) and column.members:
                key, value = (
                    self.convert(part, each)
                    for part, each in zip((array.keys, array.items), column.members, strict=True)
                )
                return pa.MapArray.from_arrays(_copy_offsets(array), key, value, arrow_type(kind), mask=array.is_null())
            case Struct() | Array() | Map():
                raise Undecided(f"the file stores {array.type} for {get_type_name(kind)}")
        check_calendar(array, kind, self.first_unambiguous)
        return _convert_primitive(array, kind)

    def _convert_struct(self, array: pa.StructArray, column: FileColumn) -> pa.Array:
        kind = arrow_type(column.kind)
        parts = array.flatten()
        members = [
            pa.nulls(len(array), kind.field(position).type)
            if each.place is None
            else self.convert(parts[each.place], each)
            for position, each in enumerate(column.members)
        ]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=array.is_null())


def check_calendar(array: pa.Array, data_type: DataType, first_unambiguous: Mapping[str, int]) -> None:
    """Raise `Undecided` if values of a leaf column may be in another calendar; see `legacy_calendar`."""
    first = first_unambiguous.get("date" if pa.types.is_date32(array.type) else get_type_name(data_type))
    if first is None or not (pa.types.is_date32(array.type) or pa.types.is_timestamp(array.type)):
        return
    numbers = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array.cast(pa.int64())
    least = pc.min(numbers).as_py()
    if least is not None and least < first:
        raise Undecided("it may have dates or timestamps in the calendar of Spark 2")


def _copy_offsets(array: pa.Array) -> pa.Array:
    """Return a copy of the offsets: Arrow does not accept a mask together with sliced offsets."""
    return pc.add(array.offsets, 0)


def _convert_primitive(array: pa.Array, data_type: DataType) -> pa.Array:
    stored, name, target = array.type, get_type_name(data_type), arrow_type(data_type)
    if isinstance(data_type, Decimal):
        return _convert_decimal(array, data_type)
    is_integer = pa.types.is_signed_integer(stored)
    match name:
        case _ if name in INTEGER_BITS and is_integer:
            return array.cast(target)
        case "float" if pa.types.is_float32(stored):
            return array
        case "double" if pa.types.is_float32(stored) or pa.types.is_float64(stored):
            return array.cast(target)
        case "double" if is_integer and stored.bit_width <= 32:
            return array.cast(target)
        case "string" if is_text(stored):
            array.validate(full=True)
            return array.cast(target)
        case "binary" if is_bytes(stored):
            return array.cast(target)
        case "boolean" if pa.types.is_boolean(stored):
            return array
        case "date" if pa.types.is_date32(stored):
            return array
        case "timestamp_ntz" if pa.types.is_date32(stored):
            return array.cast(target)
        case "timestamp" if pa.types.is_timestamp(stored):
            return array.cast(pa.timestamp("us", stored.tz)).cast(pa.int64()).cast(target)
        case "timestamp_ntz" if pa.types.is_timestamp(stored) and stored.tz is None:
            return array.cast(target)
    raise Undecided(f"the file stores {stored} for {name}")


def _convert_decimal(array: pa.Array, data_type: Decimal) -> pa.Array:
    if pa.types.is_signed_integer(array.type):
        array = array.cast(pa.int64()).cast(pa.decimal128(_LONG_DIGITS, 0))
    elif not pa.types.is_decimal(array.type) or array.type.bit_width > 128:
        raise Undecided(f"the file stores {array.type} for {get_type_name(data_type)}")
    return array.cast(pa.decimal128(data_type.precision, data_type.scale))
