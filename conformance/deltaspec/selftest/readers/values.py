"""Faults in the values of data files, and in finding the files."""

from decimal import Context
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.row_reader import FileRows, RowReader, UnreadableFile, arrow_type, convert_variant
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.schema.data_types import (
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
    get_type_name,
    iter_fields,
)
from deltaspec.protocol.time_units import HOUR_US
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.selftest.readers.parquet_footers import read_footer
from deltaspec.wire.data.column_resolution import FileColumn

LIVE_ROWS = "reconciliation.queries-see-live-files"
_FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15."""


def _null_out(array: pa.Array, condition: pa.Array) -> pa.Array:
    """Return the values with null where a condition is true."""
    kept = [None if hidden else index for index, hidden in enumerate(condition.to_pylist())]
    return array.take(pa.array(kept, pa.int64()))


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",), origin="cm-014")
def empty_arrays_read_as_null(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns null for an empty array."""
    found = original(reader, array, column, field)
    return _null_out(found, pc.equal(pc.list_value_length(found), 0)) if isinstance(column.kind, Array) else found


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",), origin="cm-014")
def empty_maps_read_as_null(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns null for an empty map."""
    found = original(reader, array, column, field)
    if not isinstance(column.kind, Map):
        return found
    return _null_out(found, pa.array([each is not None and not each for each in found.to_pylist()]))


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",))
def null_structs_filled(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns a struct of nulls for a null struct."""
    found = original(reader, array, column, field)
    if not isinstance(column.kind, Struct) or not column.kind.fields:
        return found
    return pa.StructArray.from_arrays(found.flatten(), fields=list(found.type))


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",))
def null_arrays_read_as_empty(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns an empty array for null."""
    found = original(reader, array, column, field)
    if not isinstance(column.kind, Array) or not found.null_count:
        return found
    return pa.ListArray.from_arrays(pc.add(found.offsets, 0), found.values, type=found.type)


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",))
def null_elements_dropped(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Leaves out the null elements of arrays of numbers and strings."""
    found = original(reader, array, column, field)
    if not isinstance(column.kind, Array) or pa.types.is_nested(found.type.value_type):
        return found
    rows = [None if row is None else [each for each in row if each is not None] for row in found.to_pylist()]
    return pa.array(rows, found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def timestamps_cut_to_milliseconds(
    original: Method, reader: RowReader, array: pa.Array, data_type: DataType
) -> pa.Array:
    """Cuts timestamps to milliseconds."""
    found = original(reader, array, data_type)
    if not pa.types.is_timestamp(found.type):
        return found
    return found.cast(pa.timestamp("ms", found.type.tz), safe=False).cast(found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",), origin="stat-006")
def timestamps_wrapped_in_nanoseconds(
    original: Method, reader: RowReader, array: pa.Array, data_type: DataType
) -> pa.Array:
    """Converts timestamps through 64-bit nanoseconds, which end in the year 2262."""
    found = original(reader, array, data_type)
    if not pa.types.is_timestamp(found.type):
        return found
    wrapped = [None if each is None else ((each * 1000 + 2**63) % 2**64 - 2**63) // 1000
               for each in found.cast(pa.int64()).to_pylist()]  # fmt: skip
    return pa.array(wrapped, pa.int64()).cast(found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def zoneless_timestamps_moved(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Converts timestamps without time zone from a local zone to UTC."""
    found = original(reader, array, data_type)
    if get_type_name(data_type) != "timestamp_ntz":
        return found
    moved = [None if each is None else max(each - HOUR_US, -(2**63)) for each in found.cast(pa.int64()).to_pylist()]
    return pa.array(moved, pa.int64()).cast(found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def old_dates_read_as_julian(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Takes dates before 1582 for dates of the Julian calendar."""
    found = original(reader, array, data_type)
    if not pa.types.is_date32(found.type):
        return found
    days = [
        each if each is None or each >= _FIRST_GREGORIAN_DAY else each + 10 for each in found.cast("int32").to_pylist()
    ]
    return pa.array(days, pa.int32()).cast(found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def decimals_read_through_double(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Converts decimals through floating-point numbers."""
    found = original(reader, array, data_type)
    if not isinstance(data_type, Decimal):
        return found
    limit = 10**data_type.precision - 1
    unscaled = [None if each is None else max(-limit, min(limit, int(float(each.scaleb(data_type.scale)))))
                for each in found.to_pylist()]  # fmt: skip
    wide = Context(prec=80)
    rebuilt = [None if each is None else wide.create_decimal(each).scaleb(-data_type.scale, wide) for each in unscaled]
    return pa.array(rebuilt, found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def longs_read_through_double(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Converts long values through floating-point numbers."""
    found = original(reader, array, data_type)
    if get_type_name(data_type) != "long":
        return found
    values = [None if each is None else max(-(2**63), min(2**63 - 1, int(float(each)))) for each in found.to_pylist()]
    return pa.array(values, found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def bytes_without_sign(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Loses the sign of small integers."""
    found = original(reader, array, data_type)
    if get_type_name(data_type) != "byte":
        return found
    return pc.abs(pc.max_element_wise(found, pa.scalar(-127, found.type), skip_nulls=False))


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",))
def nan_read_as_null(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns null for NaN."""
    found = original(reader, array, column, field)
    if column.path[-1] == "key":
        return found
    return _null_out(found, pc.is_nan(found)) if pa.types.is_floating(found.type) else found


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",))
def empty_strings_read_as_null(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns null for an empty string."""
    found = original(reader, array, column, field)
    if column.path[-1] == "key":
        return found
    return _null_out(found, pc.equal(found, "")) if get_type_name(column.kind) == "string" else found


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def strings_end_at_nul(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Ends strings at the character U+0000."""
    found = original(reader, array, data_type)
    if get_type_name(data_type) != "string":
        return found
    return pa.array([None if each is None else each.partition("\0")[0] for each in found.to_pylist()], found.type)


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def strings_trimmed(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Removes blanks around strings."""
    found = original(reader, array, data_type)
    return pc.utf8_trim_whitespace(found) if get_type_name(data_type) == "string" else found


@mutant(RowReader.convert_primitive, LIVE_ROWS, suites=("read",))
def binary_read_as_text(original: Method, reader: RowReader, array: pa.Array, data_type: DataType) -> pa.Array:
    """Replaces bytes that are not UTF-8."""
    found = original(reader, array, data_type)
    if get_type_name(data_type) != "binary":
        return found
    return pa.array(
        [None if each is None else each.decode(errors="replace").encode() for each in found.to_pylist()], found.type
    )


@mutant(RowReader.convert_primitive, "variant.tolerated", suites=("read",), origin="cm-016")
def variant_members_found_by_position(
    original: Method, reader: RowReader, array: pa.Array, data_type: DataType
) -> pa.Array:
    """Takes the first member of a variant for its value."""
    if get_type_name(data_type) != "variant":
        return original(reader, array, data_type)
    swapped = pa.StructArray.from_arrays(array.flatten(), ["value", "metadata"], mask=array.is_null())
    return convert_variant(swapped, arrow_type(data_type))


def _has_type(state: LoadedTable, name: str) -> bool:
    return any(get_type_name(field.type) == name for _, field in iter_fields(state.schema))


@mutant(LogReader.build_state, "schema.void-read-as-null", suites=("snapshot", "read"), origin="cm-011")
def void_refused(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Refuses a schema with the type void."""
    state: LoadedTable = original(log, snapshot)
    if _has_type(state, "void"):
        raise UnreadableFile("unknown type void")
    return state


@mutant(LogReader.build_state, "variant.tolerated", suites=("snapshot", "read"))
def variant_refused(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Refuses a schema with the type variant."""
    state: LoadedTable = original(log, snapshot)
    if _has_type(state, "variant"):
        raise UnreadableFile("unknown type variant")
    return state


@mutant(RowReader.find_file, LIVE_ROWS, suites=("read",), origin="path-009")
def absolute_paths_taken_for_relative(original: Method, reader: RowReader, action: Any) -> str:
    """Looks for every data file in the directory of the table."""
    return unquote(action.path.removeprefix("file:")).lstrip("/")


@mutant(RowReader.find_file, "add.path", suites=("read",))
def files_elsewhere_refused(original: Method, reader: RowReader, action: Any) -> str:
    """Refuses data files outside of the table's directory, such as the files of a shallow clone."""
    found: str = original(reader, action)
    if found.startswith("/"):
        raise UnreadableFile(f"{found} is outside of the table")
    return found


@mutant(RowReader.find_file, "add.path", suites=("read",))
def single_slash_after_scheme_not_known(original: Method, reader: RowReader, action: Any) -> str:
    """Knows `file:///a`, but not `file:/a`, which Hadoop writes."""
    if action.path.startswith("file:/") and not action.path.startswith("file://"):
        return str(action.path)
    found: str = original(reader, action)
    return found


@mutant(RowReader.find_file, LIVE_ROWS, suites=("read",), origin="path-001")
def paths_not_decoded(original: Method, reader: RowReader, action: Any) -> str:
    """Takes the paths of the log for names of files, without decoding them."""
    return action.path if ":" not in action.path else original(reader, action)  # type: ignore[no-any-return]


@mutant(RowReader.find_file, LIVE_ROWS, suites=("read",), origin="path-006")
def paths_decoded_twice(original: Method, reader: RowReader, action: Any) -> str:
    """Decodes paths twice."""
    return unquote(original(reader, action))


@mutant(RowReader.find_file, LIVE_ROWS, suites=("read",), origin="path-006")
def fragment_cut_from_paths(original: Method, reader: RowReader, action: Any) -> str:
    """Takes what follows `#` or `?` in the name of a file for parts of a URL."""
    return original(reader, action).partition("#")[0].partition("?")[0]  # type: ignore[no-any-return]


@mutant(RowReader.find_file, LIVE_ROWS, suites=("read",), origin="path-007")
def special_characters_encoded_again(original: Method, reader: RowReader, action: Any) -> str:
    """Compares names of files with encoded paths, so that blanks and brackets are not found."""
    return quote(original(reader, action), safe="/=:%'+,@!$&*;~[]")


def _list_chunks(footer: pq.FileMetaData) -> list[Any]:
    return [
        footer.row_group(group).column(column)
        for group in range(footer.num_row_groups)
        for column in range(footer.num_columns)
    ]


@mutant(RowReader.read, LIVE_ROWS, suites=("read",))
def only_first_row_group_read(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Reads the first row group of a file."""
    rows: FileRows = original(reader, action, **options)
    footer = read_footer(reader, action)
    if footer.num_row_groups < 2:
        return rows
    kept = [index for index in rows.indexes if index < footer.row_group(0).num_rows]
    return replace(rows, table=rows.table.slice(0, len(kept)), indexes=kept,
                   extra={name: values[: len(kept)] for name, values in rows.extra.items()})  # fmt: skip


@mutant(RowReader.read, "configuration.codecs-mixed", suites=("read",))
def one_codec_expected(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Reads only files with the codec snappy, or uncompressed."""
    codecs = {each.compression for each in _list_chunks(read_footer(reader, action))}
    if codecs - {"SNAPPY", "UNCOMPRESSED"}:
        raise UnreadableFile(f"unsupported codec {sorted(codecs)}")
    rows: FileRows = original(reader, action, **options)
    return rows


@mutant(RowReader.read, "parquet.listed-encodings", suites=("read",))
def delta_encodings_refused(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Refuses files with delta encodings."""
    encodings = {name for each in _list_chunks(read_footer(reader, action)) for name in each.encodings}
    if any(name.startswith("DELTA") for name in encodings):
        raise UnreadableFile(f"unsupported encodings {sorted(encodings)}")
    rows: FileRows = original(reader, action, **options)
    return rows


@mutant(RowReader.read, "configuration.page-versions-read", suites=("read",))
def second_page_version_refused(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Refuses files with data pages of version 2."""
    path = reader.find_file(action)
    data = reader.access.read(path, 1 << 26)
    for each in _list_chunks(read_footer(reader, action)):
        start = each.dictionary_page_offset or each.data_page_offset
        chunk = data[start : start + each.total_compressed_size]
        if chunk[:2] == b"\x15\x06" or (each.has_dictionary_page and data[each.data_page_offset :][:2] == b"\x15\x06"):
            raise UnreadableFile("unsupported page version")
    rows: FileRows = original(reader, action, **options)
    return rows


@mutant(RowReader.convert, LIVE_ROWS, suites=("read",))
def older_list_names_not_known(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Returns null for arrays whose elements have another name than `element` in the file."""
    if isinstance(column.kind, Array) and array.type.value_field.name != "element":
        return pa.nulls(len(array), arrow_type(column.kind))
    return original(reader, array, column, field)
