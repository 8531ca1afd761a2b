"""The rows of a data file as its table has them: chosen columns by the table's schema, as Arrow arrays of its types.

For engines that are handed rows and know nothing of files: what a file lacks is null, partition columns have the value
of the log, narrower types are widened, rows that a deletion vector takes away are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaspec.model.schema.data_types import (
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
from deltaspec.sql.expression_columns import ExpressionColumns, has_custom_order, resolve_column
from deltaspec.sql.terms import Undecided
from deltaspec.wire.data.column_aggregates import unwrap_array
from deltaspec.wire.data.column_resolution import FileColumn, is_bytes, is_list, is_text
from deltaspec.wire.parquet.row_batches import Batch, RowBatches, compute_remaining_rows, iter_empty_batches

_PRIMITIVES = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_INTEGERS = ("byte", "short", "integer", "long")
_DIGITS_OF_LONG = 19


def member_name(place: int) -> str:
    """What the member of a struct at a place is called in rows: names of a table are not told to an engine."""
    return f"f{place}"


def arrow_type(kind: DataType) -> pa.DataType:
    """The Arrow type in which an engine is handed values of a Delta type. Raises `Undecided` for types that it is not.

    Members of structs are called by `member_name`.
    """
    match kind:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(arrow_type(element))
        case Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields) if fields:
            return pa.struct([(member_name(place), arrow_type(each.type)) for place, each in enumerate(fields)])
        case Primitive(name) if name in _PRIMITIVES:
            return _PRIMITIVES[name]
    raise Undecided(f"values of type {get_type_name(kind)} are not handed to an engine")


def find_field(parts: tuple[str, ...], schema: Struct) -> Field:
    """The field of a name that can be handed to an engine. Raises `Undecided`."""
    kind: DataType = schema
    fields: list[Field] = []
    for place in resolve_column(parts, schema):
        assert isinstance(kind, Struct)
        fields.append(kind.fields[place])
        kind = fields[-1].type
    if any(map(has_custom_order, fields)) or any(has_custom_order(each) for _, each in iter_fields(kind)):
        raise Undecided(f"strings of {'.'.join(parts)} have a collation, or a fixed length")
    arrow_type(kind)
    return fields[-1]


@dataclass(frozen=True)
class LogicalRows:
    """Some rows of a file, in their order."""

    rows: pa.Array
    """Their indexes in the file, deleted rows counted, 64 bits."""
    columns: list[pa.Array]
    """As they were asked for, of `arrow_type`; null throughout where the file's cannot be told."""
    faults: dict[int, str]
    """Which columns cannot be told, from here on, with the reason; those of earlier batches are not told again."""


def iter_logical_rows(
    source: RowBatches, columns: ExpressionColumns, names: Sequence[tuple[str, ...]], deleted: BitMap64 | None
) -> Iterator[LogicalRows]:
    """The rows of a file that a deletion vector leaves.

    Args:
        source: the file.
        columns: where it has the columns of its table.
        names: of the columns, as `find_field` takes them.
        deleted: rows that a deletion vector takes away.

    Raises:
        UnreadableRows, StorageError: the rows cannot be read.
    """
    faults: dict[int, str] = {}
    wanted = [_wanted(columns, parts, number, faults) for number, parts in enumerate(names)]
    chosen = None if deleted is None else compute_remaining_rows(source.row_count, deleted)
    in_file = sorted({each.name for each in wanted if each.name is not None})
    batches = source.read(in_file, chosen) if in_file else iter_empty_batches(source.row_count, chosen)
    for batch in batches:
        arrays = [_values(columns, each, batch, faults) for each in wanted]
        if batch.rows or faults:
            yield LogicalRows(row_indexes(batch), arrays, dict(faults))
        faults.clear()


def row_indexes(batch: Batch) -> pa.Array:
    """The rows of the file that a batch holds."""
    places = pa.array(range(batch.rows), pa.int64()) if batch.kept is None else pc.indices_nonzero(batch.kept)
    return pc.add(places.cast(pa.int64()), batch.start)


@dataclass
class _Wanted:
    """One column that is asked for, of one file."""

    number: int
    type: pa.DataType
    name: str | None = None
    """The top-level column of the file that holds it; None where it is the same in all rows."""
    places: tuple[int, ...] = ()
    column: FileColumn | None = None
    value: Any = None
    """Of all rows, where it is the same."""
    first_unambiguous: Mapping[str, int] = field(default_factory=dict)


def _wanted(columns: ExpressionColumns, parts: tuple[str, ...], number: int, faults: dict[int, str]) -> _Wanted:
    places = resolve_column(parts, columns.schema)
    fields, column = columns.resolve_in_file(places)
    kind = fields[-1].type
    found = _Wanted(number, arrow_type(kind))
    partition = columns.get_partition_name(fields[0])
    if partition is not None:
        try:
            found.value = columns.get_partition_value(partition, kind)
        except Undecided as fault:
            faults[number] = str(fault)
    elif column is not None:
        found.name, found.places, found.column = columns.get_file_column(places), places, column
        found.first_unambiguous = columns.first_unambiguous
    return found


def _values(columns: ExpressionColumns, wanted: _Wanted, batch: Batch, faults: dict[int, str]) -> pa.Array:
    if wanted.column is None:
        return _repeated(wanted, batch.rows)
    try:
        array = columns.extract_values(batch.columns, wanted.places)
        return _Logical(wanted.first_unambiguous).of(array, wanted.column)
    except (Undecided, pa.ArrowException) as fault:
        faults[wanted.number] = str(fault)[:200]
        wanted.column = wanted.name = None
        return pa.nulls(batch.rows, wanted.type)


def _repeated(wanted: _Wanted, rows: int) -> pa.Array:
    if wanted.value is None:
        return pa.nulls(rows, wanted.type)
    if pa.types.is_date32(wanted.type):
        return pa.repeat(pa.scalar(wanted.value, pa.int32()), rows).cast(wanted.type)
    if pa.types.is_timestamp(wanted.type):
        return pa.repeat(pa.scalar(wanted.value, pa.int64()), rows).cast(wanted.type)
    return pa.repeat(pa.scalar(wanted.value, wanted.type), rows)


@dataclass(frozen=True)
class _Logical:
    """Values of a file as values of its table; `Undecided` and `ArrowException` where they are none."""

    first_unambiguous: Mapping[str, int]

    def of(self, stored: pa.Array, column: FileColumn) -> pa.Array:
        array, kind = unwrap_array(stored), column.kind
        match kind:
            case Struct() if pa.types.is_struct(array.type):
                return self._struct(array, column)
            case Array() if is_list(array.type) and column.members:
                (element,) = column.members
                lists = array.cast(pa.list_(array.type.value_field))
                values = self.of(lists.values, element)
                return pa.ListArray.from_arrays(_offsets(lists), values, arrow_type(kind), mask=lists.is_null())
            case Map() if pa.types.is_map(array.type) and column.members:
                key, value = (
                    self.of(part, each) for part, each in zip((array.keys, array.items), column.members, strict=True)
                )
                return pa.MapArray.from_arrays(_offsets(array), key, value, arrow_type(kind), mask=array.is_null())
            case Struct() | Array() | Map():
                raise Undecided(f"the file holds {array.type} for {get_type_name(kind)}")
        self._certain(array, kind)
        return _primitive(array, kind)

    def _struct(self, array: pa.StructArray, column: FileColumn) -> pa.Array:
        kind = arrow_type(column.kind)
        parts = array.flatten()
        members = [
            pa.nulls(len(array), kind.field(place).type) if each.place is None else self.of(parts[each.place], each)
            for place, each in enumerate(column.members)
        ]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=array.is_null())

    def _certain(self, array: pa.Array, kind: DataType) -> None:
        first = self.first_unambiguous.get(get_type_name(kind))
        if first is None or not (pa.types.is_date32(array.type) or pa.types.is_timestamp(array.type)):
            return
        numbers = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array.cast(pa.int64())
        least = pc.min(numbers).as_py()
        if least is not None and least < first:
            raise Undecided("it holds days or times in the calendar of Spark 2")


def _offsets(array: pa.Array) -> pa.Array:
    """Copied: Arrow takes no mask beside offsets that are part of others."""
    return pc.add(array.offsets, 0)


def _primitive(array: pa.Array, kind: DataType) -> pa.Array:
    stored, name, wanted = array.type, get_type_name(kind), arrow_type(kind)
    if isinstance(kind, Decimal):
        return _decimal(array, kind)
    is_integer = pa.types.is_signed_integer(stored)
    match name:
        case _ if name in _INTEGERS and is_integer:
            return array.cast(wanted)
        case "float" if pa.types.is_float32(stored):
            return array
        case "double" if pa.types.is_float32(stored) or pa.types.is_float64(stored):
            return array.cast(wanted)
        case "double" if is_integer and stored.bit_width <= 32:
            return array.cast(wanted)
        case "string" if is_text(stored):
            array.validate(full=True)
            return array.cast(wanted)
        case "binary" if is_bytes(stored):
            return array.cast(wanted)
        case "boolean" if pa.types.is_boolean(stored):
            return array
        case "date" if pa.types.is_date32(stored):
            return array
        case "timestamp_ntz" if pa.types.is_date32(stored):
            return array.cast(wanted)
        case "timestamp" if pa.types.is_timestamp(stored):
            return array.cast(pa.timestamp("us", stored.tz)).cast(pa.int64()).cast(wanted)
        case "timestamp_ntz" if pa.types.is_timestamp(stored) and stored.tz is None:
            return array.cast(wanted)
    raise Undecided(f"the file holds {stored} for {name}")


def _decimal(array: pa.Array, kind: Decimal) -> pa.Array:
    if pa.types.is_signed_integer(array.type):
        array = array.cast(pa.int64()).cast(pa.decimal128(_DIGITS_OF_LONG, 0))
    elif not pa.types.is_decimal(array.type) or array.type.bit_width > 128:
        raise Undecided(f"the file holds {array.type} for {get_type_name(kind)}")
    return array.cast(pa.decimal128(kind.precision, kind.scale))
