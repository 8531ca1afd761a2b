"""Faults in partition values."""

import math
import re
from decimal import Context
from decimal import Decimal as Exact
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.row_reader import FileRows, RowReader, UnreadableFile
from deltaspec.protocol.schema.column_mapping import get_partition_types, physical_name
from deltaspec.protocol.schema.data_types import DataType, Decimal, get_type_name
from deltaspec.selftest.mutants import Method, mutant

FROM_LOG = "add.partition-values-from-log"
_TIMES = ("timestamp", "timestamp_ntz")


@mutant(RowReader.parse_partition_value, "partition-values.empty-is-null", suites=("read",))
def null_read_as_empty_text(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Returns an empty string for a null partition value."""
    return "" if get_type_name(data_type) == "string" and not text else original(reader, text, data_type)


@mutant(RowReader.parse_partition_value, "partition-values.empty-is-null", suites=("read",))
def empty_text_kept(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Takes only null for null, and an empty text for an empty string."""
    return "" if get_type_name(data_type) == "string" and text == "" else original(reader, text, data_type)


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def every_text_true(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Reads every boolean that has a text as true."""
    return bool(text) or None if get_type_name(data_type) == "boolean" else original(reader, text, data_type)


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def longs_read_through_double(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Parses long values as floating-point numbers."""
    value = original(reader, text, data_type)
    is_long = get_type_name(data_type) == "long" and value is not None
    return max(-(2**63), min(2**63 - 1, int(float(value)))) if is_long else value


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def decimals_read_through_double(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Parses decimal values as floating-point numbers."""
    value = original(reader, text, data_type)
    if not isinstance(data_type, Decimal) or value is None:
        return value
    rounded = Exact(f"{float(value):.15g}")
    return rounded if abs(rounded) < Exact(10) ** (data_type.precision - data_type.scale) else value


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def decimals_need_all_digits(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Takes the digits of a decimal for its unscaled value, so that `1.5` with two places is read as 0.15."""
    if not isinstance(data_type, Decimal) or not text or "E" in text:
        return original(reader, text, data_type)
    return Exact(text.replace(".", "")).scaleb(-data_type.scale, Context(prec=100))


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",), origin="part-003")
def microseconds_cut(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Cuts timestamps to milliseconds."""
    value = original(reader, text, data_type)
    return value // 1000 * 1000 if get_type_name(data_type) in _TIMES and value is not None else value


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",), origin="part-003")
def only_timestamps_with_space_parsed(
    original: Method, reader: RowReader, text: str | None, data_type: DataType
) -> Any:
    """Takes timestamps with `T` for null."""
    is_other = get_type_name(data_type) in _TIMES and "T" in (text or "")
    return None if is_other else original(reader, text, data_type)


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def time_of_day_lost(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Reads only the date of a timestamp."""
    return original(
        reader, re.split("[ T]", text)[0] if text and get_type_name(data_type) in _TIMES else text, data_type
    )


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",), origin="path-001")
def texts_percent_decoded(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Decodes percent signs in values, as in paths."""
    return original(reader, unquote(text) if text else text, data_type)


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def texts_trimmed(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Removes blanks around values."""
    return original(reader, text.strip() if text else text, data_type)


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def special_floats_read_as_null(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Takes NaN and the infinities for null."""
    value = original(reader, text, data_type)
    return None if isinstance(value, float) and not math.isfinite(value) else value


@mutant(RowReader.parse_partition_value, FROM_LOG, suites=("read",))
def binary_read_as_latin_1(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Takes each character of a binary value for one byte."""
    is_binary = get_type_name(data_type) == "binary" and bool(text)
    return text.encode("latin-1", "replace") if is_binary and text else original(reader, text, data_type)


@mutant(RowReader.parse_partition_value, "type-widening.converted", suites=("read",), origin="cm-015")
def dates_no_timestamps(original: Method, reader: RowReader, text: str | None, data_type: DataType) -> Any:
    """Reads dates of a partition column that became a timestamp as null."""
    is_date = get_type_name(data_type) in _TIMES and re.fullmatch(r"[+-]?\d+-\d+-\d+", text or "")
    return None if is_date else original(reader, text, data_type)


@mutant(RowReader.read, FROM_LOG, suites=("read",), origin="path-001")
def values_taken_from_directories(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Takes strings from the names of directories, and from the log only without those."""
    state = reader.state
    types = get_partition_types(state.schema, state.partition_columns, state.mapping)
    texts = {name for name, kind in types.items() if get_type_name(kind) == "string"}
    parts = [part.partition("=") for part in action.path.split("/")[:-1] if "=" in part]
    values = {**(action.partition_values or {}), **{name: value for name, _, value in parts if name in texts}}
    rows: FileRows = original(reader, msgspec.structs.replace(action, partition_values=values), **options)
    return rows


@mutant(RowReader.build_columns, "column-mapping.log-read-by-physical-name", suites=("read",))
def values_looked_up_by_logical_name(
    original: Method, reader: RowReader, stored: pa.Table, partition_values: dict[str, str | None]
) -> list[pa.Array]:
    """Looks up partition values by the display names of columns."""
    state = reader.state
    values = {
        physical_name(each, state.mapping): partition_values.get(each.name)
        for each in state.schema.fields
        if each.name in state.partition_columns
    }
    columns: list[pa.Array] = original(reader, stored, values)
    return columns


@mutant(RowReader.build_columns, FROM_LOG, suites=("read",))
def values_assigned_by_position(
    original: Method, reader: RowReader, stored: pa.Table, partition_values: dict[str, str | None]
) -> list[pa.Array]:
    """Assigns partition values to columns in the order of the schema instead of by name."""
    state = reader.state
    names = [physical_name(each, state.mapping) for each in state.schema.fields if each.name in state.partition_columns]
    types = get_partition_types(state.schema, state.partition_columns, state.mapping)
    ordered = sorted(partition_values)
    values = {
        name: partition_values[other] if types.get(other) == types[name] else partition_values[name]
        for name, other in zip(names, ordered, strict=False)
        if name in partition_values
    }
    columns: list[pa.Array] = original(reader, stored, {**partition_values, **values})
    return columns


@mutant(RowReader.build_columns, "data-files.stored-partition-columns", suites=("read",))
def files_with_partition_columns_refused(
    original: Method, reader: RowReader, stored: pa.Table, partition_values: dict[str, str | None]
) -> list[pa.Array]:
    """Fails if a data file also stores a partition column."""
    if set(partition_values) & set(stored.column_names):
        raise UnreadableFile("a column is ambiguous")
    columns: list[pa.Array] = original(reader, stored, partition_values)
    return columns
