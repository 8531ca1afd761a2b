"""Write the same rows as Parquet with the different options that writers use.

The encoding does not change the values. All encodings are legal in data files, except those that
`draw_parquet_encoding` draws only on request.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive, Struct
from deltaspec_generators.choices import Choices
from deltaspec_generators.data_files.legacy_nesting import LegacyForm, store_as
from deltaspec_generators.values.arrow_values import arrow_type

FIELD_ID = b"PARQUET:field_id"
COMPRESSIONS = ("snappy", "none", "gzip", "zstd", "brotli", "lz4")


class ParquetEncoding(msgspec.Struct, frozen=True):
    """Options of a Parquet writer; the defaults are close to Delta Spark."""

    compression: str = "snappy"
    encoding: Literal["dictionary", "plain", "delta", "lengths", "split"] = "dictionary"
    """Encoding of values: `delta` and `lengths` differ only for strings, `split` is BYTE_STREAM_SPLIT if supported."""
    page_version: Literal["1.0", "2.0"] = "1.0"
    format_version: Literal["1.0", "2.4", "2.6"] = "2.6"
    rows_per_group: int | None = None
    """Maximum rows of a row group; None for one group."""
    rows_per_page: int | None = None
    """Approximate maximum rows of a page; None for pyarrow's default. Used only with plain values, because pyarrow 26
    writes small pages of other encodings incorrectly if a chunk of a list has no value."""
    times: Literal["micros", "int96", "millis", "nanos"] = "micros"
    """Physical type of timestamps; the protocol does not list `millis` and `nanos`."""
    decimals_as_integers: bool = True
    """Whether decimals of up to 18 digits are INT32 or INT64; other decimals are fixed-length bytes."""
    list_element: Literal["element", "item", "array"] = "element"
    """Name of the element column of a list; `item` and `array` are older names."""
    required: bool = True
    """Whether columns that are not nullable are REQUIRED in Parquet."""
    reversed_columns: bool = False
    reversed_fields: bool = False
    """Whether fields inside structs are in reverse order."""
    field_ids: bool = True
    """Whether columns with an id have a Parquet field id."""
    statistics: bool = True
    page_index: bool = False
    checksums: bool = False
    arrow_schema: bool = False
    """Whether the footer also contains the Arrow schema."""
    partition_columns: bool = False
    """Whether the file also contains the partition columns."""
    extra_column: bool = False
    """Whether the file contains a column that is not in the table schema."""
    legacy: tuple[LegacyForm, ...] = ()
    """Legacy forms of its columns; never drawn."""


DELTA_SPARK = ParquetEncoding()


def draw_parquet_encoding(
    choices: Choices, *, times: Sequence[str] = ("micros", "int96"), nested: bool = True, rare: bool = True
) -> ParquetEncoding:
    """Draw an encoding; the simplest is the default.

    Args:
        choices: source of choices.
        times: physical types of timestamps that may be drawn.
        nested: whether list elements may have an older name.
        rare: whether to include Brotli and BYTE_STREAM_SPLIT.
    """

    def one_of(*options: Any) -> Any:
        return choices.pick(options)

    if one_of(True, False, False):
        return ParquetEncoding()
    encoding = one_of("dictionary", "plain", "delta", "lengths", *(("split",) if rare else ()))
    return ParquetEncoding(
        compression=one_of(*(name for name in COMPRESSIONS if rare or name != "brotli")),
        encoding=encoding,
        page_version=one_of("1.0", "2.0"),
        format_version=one_of("2.6", "2.4", "1.0"),
        rows_per_group=one_of(None, 1, 3),
        rows_per_page=one_of(None, 1, 2) if encoding == "plain" else None,
        times=one_of(*times),
        decimals_as_integers=one_of(True, False),
        list_element=one_of("element", *(("item", "array") if nested else ())),
        required=one_of(True, False),
        reversed_columns=one_of(False, True),
        reversed_fields=one_of(False, True),
        statistics=one_of(True, False),
        page_index=one_of(False, True),
        checksums=one_of(False, True),
        arrow_schema=one_of(False, True),
        partition_columns=one_of(False, False, True),
        extra_column=one_of(False, False, True),
    )


def to_physical_names(data_type: DataType, mapping: str | None) -> Any:
    """Replace field names by physical names at every depth; metadata is kept."""
    match data_type:
        case Struct(fields):
            return Struct(
                tuple(
                    Field(
                        column_mapping.physical_name(each, mapping),
                        to_physical_names(each.type, mapping),
                        each.nullable,
                        each.metadata,
                    )
                    for each in fields
                )
            )
        case Array(element, contains_null):
            return Array(to_physical_names(element, mapping), contains_null)
        case Map(key, value, value_contains_null):
            return Map(to_physical_names(key, mapping), to_physical_names(value, mapping), value_contains_null)
    return data_type


def build_parquet_fields(schema: Struct, parquet_encoding: ParquetEncoding) -> list[pa.Field]:
    """Build the Arrow fields of a physical schema with field ids from its metadata; void columns are left out."""
    fields = [_build_field(each, parquet_encoding) for each in schema.fields if each.type != Primitive("void")]
    return fields[::-1] if parquet_encoding.reversed_columns else fields


def _build_field(field: Field, parquet_encoding: ParquetEncoding) -> pa.Field:
    ids: dict[tuple[str, ...], int | None] = {(): column_mapping.column_id(field)}
    for name, number in column_mapping.read_nested_ids(field).items():
        # A physical name may contain dots itself, so only the prefix is removed.
        ids[tuple(name.removeprefix(field.name + ".").split("."))] = number

    def build_part(name: str, kind: pa.DataType, nullable: bool, path: tuple[str, ...]) -> pa.Field:
        number = ids.get(path) if parquet_encoding.field_ids else None
        metadata = None if number is None else {FIELD_ID: str(number).encode()}
        return pa.field(name, kind, nullable, metadata)

    def build_type(data_type: DataType, path: tuple[str, ...]) -> pa.DataType:
        match data_type:
            case Struct(fields):
                inner = [_build_field(each, parquet_encoding) for each in fields]
                return pa.struct(inner[::-1] if parquet_encoding.reversed_fields else inner)
            case Array(element, contains_null):
                here = (*path, "element")
                nullable = contains_null or not parquet_encoding.required
                return pa.list_(build_part(parquet_encoding.list_element, build_type(element, here), nullable, here))
            case Map(key, value, value_contains_null):
                in_key, in_value = (*path, "key"), (*path, "value")
                nullable = value_contains_null or not parquet_encoding.required
                return pa.map_(
                    build_part("key", build_type(key, in_key), False, in_key),
                    build_part("value", build_type(value, in_value), nullable, in_value),
                )
        return arrow_type(data_type)

    return build_part(field.name, build_type(field.type, ()), field.nullable or not parquet_encoding.required, ())


def write_parquet(table: pa.Table, parquet_encoding: ParquetEncoding | None = None) -> bytes:
    """Encode a table as a Parquet file.

    Raises:
        pyarrow.ArrowInvalid: `millis` or `nanos` cannot represent a timestamp exactly.
        ValueError: the table has no column that a legacy form applies to.
    """
    parquet_encoding = parquet_encoding or ParquetEncoding()
    leaves = {path: kind for field in table.schema for path, kind in _iter_leaves(field, (field.name,))}
    encodings = {".".join(path): _choose_encoding(kind, parquet_encoding) for path, kind in leaves.items()}
    sink = io.BytesIO()
    options: dict[str, Any] = {
        "compression": parquet_encoding.compression,
        "use_dictionary": parquet_encoding.encoding == "dictionary",
        "column_encoding": None if parquet_encoding.encoding == "dictionary" else encodings,
        "data_page_version": parquet_encoding.page_version,
        "version": parquet_encoding.format_version,
        "row_group_size": parquet_encoding.rows_per_group,
        "use_deprecated_int96_timestamps": parquet_encoding.times == "int96",
        "coerce_timestamps": {"millis": "ms"}.get(parquet_encoding.times),
        "store_decimal_as_integer": parquet_encoding.decimals_as_integers,
        "use_compliant_nested_type": parquet_encoding.list_element == "element",
        "write_statistics": parquet_encoding.statistics,
        "write_page_index": parquet_encoding.page_index and parquet_encoding.statistics,
        "write_page_checksum": parquet_encoding.checksums,
        "store_schema": parquet_encoding.arrow_schema,
    }
    if parquet_encoding.rows_per_page is not None:
        options |= {"data_page_size": 1, "write_batch_size": parquet_encoding.rows_per_page}
    if parquet_encoding.times == "nanos":
        table = table.cast(pa.schema([each.with_type(_to_nanoseconds(each.type)) for each in table.schema]))
    pq.write_table(table, sink, **options)
    return reduce(store_as, parquet_encoding.legacy, sink.getvalue())


def _iter_leaves(field: pa.Field, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """Yield path in the Parquet schema and type of every leaf column."""
    kind = field.type
    if pa.types.is_struct(kind):
        for each in kind:
            yield from _iter_leaves(each, (*path, each.name))
    elif pa.types.is_map(kind):
        yield from _iter_leaves(kind.key_field, (*path, "key_value", "key"))
        yield from _iter_leaves(kind.item_field, (*path, "key_value", "value"))
    elif pa.types.is_list(kind):
        name = kind.value_field.name
        yield from _iter_leaves(kind.value_field, (*path, "list", name))
    else:
        yield path, kind


def _choose_encoding(kind: pa.DataType, parquet_encoding: ParquetEncoding) -> str:
    """Return the requested encoding if the column type supports it, else PLAIN."""
    textual = pa.types.is_string(kind) or pa.types.is_binary(kind)
    integral = pa.types.is_integer(kind) or pa.types.is_date(kind)
    integral = integral or (pa.types.is_timestamp(kind) and parquet_encoding.times != "int96")
    fixed = pa.types.is_decimal(kind)
    small = fixed and kind.precision <= 18 and parquet_encoding.decimals_as_integers
    match parquet_encoding.encoding:
        case "delta" | "lengths":
            if textual:
                return "DELTA_BYTE_ARRAY" if parquet_encoding.encoding == "delta" else "DELTA_LENGTH_BYTE_ARRAY"
            if integral or small:
                return "DELTA_BINARY_PACKED"
            if fixed:
                return "DELTA_BYTE_ARRAY"
            return "RLE" if pa.types.is_boolean(kind) else "PLAIN"
        case "split":
            return "BYTE_STREAM_SPLIT" if integral or fixed or pa.types.is_floating(kind) else "PLAIN"
    return "PLAIN"


def _to_nanoseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ns", kind.tz)
    return _change_children(kind, _to_nanoseconds)


def _change_children(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Apply a change to the child types of a nested type."""
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(change(each.type)) for each in kind])
    if pa.types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(key.with_type(change(key.type)), item.with_type(change(item.type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(change(kind.value_type)))
    return kind


def build_rows_table(rows: Sequence[Mapping[str, Any]], fields: Sequence[pa.Field]) -> pa.Table:
    """Build a table with exactly these fields from rows of plain values; missing values are null."""
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(fields)))
