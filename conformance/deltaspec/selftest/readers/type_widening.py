"""Faults with files that store a narrower type than the table has."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.candidates.reference.row_reader import RowReader, UnreadableFile, arrow_type
from deltaspec.protocol.property_names import TYPE_CHANGES
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, get_type_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.data.column_resolution import FileColumn

CONVERTED = "type-widening.converted"
_WIDER = {"short", "integer", "long", "double", "timestamp_ntz"}


def _is_narrower(array: pa.Array, data_type: DataType) -> bool:
    target = arrow_type(data_type)
    if pa.types.is_decimal(target):
        return not array.type.equals(target)
    if get_type_name(data_type) == "long":
        return bool(pa.types.is_integer(array.type) and array.type.bit_width < 64)
    return get_type_name(data_type) in ("double", "timestamp_ntz") and array.type in (pa.float32(), pa.date32())


@mutant(RowReader.convert_primitive, CONVERTED, suites=("read",))
def narrower_types_refused(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Fails if a file stores a narrower type."""
    if _is_narrower(array, data_type):
        raise UnreadableFile("the file has another type")
    return original(reader, array, data_type)


@mutant(RowReader.convert, CONVERTED, suites=("read",))
def narrower_types_read_as_null(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns nulls if a file stores a narrower type."""
    if column.path[-1] != "key" and _is_primitive(column.kind) and _is_narrower(array, column.kind):
        return pa.nulls(len(array), arrow_type(column.kind))
    return original(reader, array, column, field)


@mutant(RowReader.convert, CONVERTED, suites=("read",), origin="cm-015")
def elements_not_widened(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Fails if elements of an array, or keys or values of a map, have a narrower type."""
    kind = column.kind
    inner: list[tuple[pa.Array, DataType]] = []
    if isinstance(kind, Array) and pa.types.is_list(array.type):
        inner = [(array.values, kind.element)]
    elif isinstance(kind, Map) and pa.types.is_map(array.type):
        inner = [(array.keys, kind.key), (array.items, kind.value)]
    if any(_is_primitive(each) and _is_narrower(values, each) for values, each in inner):
        raise UnreadableFile("an element has another type")
    return original(reader, array, column, field)


def _is_primitive(kind: Any) -> bool:
    return isinstance(kind, Decimal) or get_type_name(kind) in _WIDER


@mutant(RowReader.convert_primitive, CONVERTED, suites=("read",))
def integers_taken_for_unscaled_decimals(
    original: Method, reader: RowReader, array: pa.Array, data_type: DataType
) -> pa.Array:
    """Takes integers of a widened column for unscaled decimals."""
    found = original(reader, array, data_type)
    if isinstance(data_type, Decimal) and pa.types.is_integer(array.type):
        return pa.array(
            [None if each is None else each.scaleb(-data_type.scale) for each in found.to_pylist()], found.type
        )
    return found


@mutant(RowReader.convert_primitive, CONVERTED, suites=("read",))
def scale_of_stored_decimals_ignored(
    original: Method, reader: RowReader, array: pa.Array, data_type: DataType
) -> pa.Array:
    """Reads the unscaled digits of a decimal with the scale of the table."""
    found = original(reader, array, data_type)
    if not (isinstance(data_type, Decimal) and pa.types.is_decimal(array.type)) or array.type.scale == data_type.scale:
        return found
    shift = array.type.scale - data_type.scale
    return pa.array([None if each is None else each.scaleb(shift) for each in found.to_pylist()], found.type)


@mutant(RowReader.convert_primitive, CONVERTED, suites=("read",))
def floats_widened_by_their_digits(
    original: Method, reader: RowReader, array: pa.Array, data_type: DataType
) -> pa.Array:
    """Parses the shortest digits of a float to make a double, which is another number."""
    if get_type_name(data_type) != "double" or not pa.types.is_float32(array.type):
        return original(reader, array, data_type)
    return array.cast(pa.string()).cast(pa.float64())


@mutant(RowReader.convert_primitive, CONVERTED, suites=("read",), origin="cm-015")
def days_taken_for_milliseconds(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Takes the days of a widened date for milliseconds of a timestamp."""
    if get_type_name(data_type) != "timestamp_ntz" or not pa.types.is_date32(array.type):
        return original(reader, array, data_type)
    return pc.multiply(array.cast(pa.int32()).cast(pa.int64()), 1000).cast(pa.timestamp("us"))


@mutant(RowReader.convert_primitive, CONVERTED, suites=("read",))
def widened_longs_cut(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Reads a column that was widened to long with 32 bits, as its first files."""
    widened = any(each.type == data_type and TYPE_CHANGES in each.metadata for each in reader.state.schema.fields)
    found = original(reader, array, data_type)
    if get_type_name(data_type) == "long" and widened:
        return found.cast(pa.int32(), safe=False).cast(pa.int64())
    return found
