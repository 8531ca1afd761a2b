"""The same rows as Parquet in the many forms that writers give them.

A spelling says nothing of the rows: every one of them holds the same values, and all are legal in data files, but for
those that `parquet_spellings` draws only when asked to.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from deltaspec.model import column_mapping
from deltaspec.model.data_types import Array, DataType, Field, Map, Primitive, Struct
from deltaspec_generators.data_values import arrow_type

FIELD_ID = b"PARQUET:field_id"
COMPRESSIONS = ("snappy", "none", "gzip", "zstd", "brotli", "lz4")


@dataclass(frozen=True)
class ParquetSpelling:
    """How a writer lays rows down; the default is close to what Delta Spark does."""

    compression: str = "snappy"
    encoding: Literal["dictionary", "plain", "delta", "lengths", "split"] = "dictionary"
    """Of values: `delta` and `lengths` differ for text only, `split` is BYTE_STREAM_SPLIT where there is one."""
    page_version: Literal["1.0", "2.0"] = "1.0"
    format_version: Literal["1.0", "2.4", "2.6"] = "2.6"
    rows_in_group: int | None = None
    """Most rows of a row group; None for one group."""
    rows_in_page: int | None = None
    """Most rows of a page, roughly; None for what the library does. With plain values only: pyarrow 26 writes small
    pages of other encodings wrongly where a chunk of a list holds no value."""
    times: Literal["micros", "int96", "millis", "nanos"] = "micros"
    """Physical form of timestamps; `millis` and `nanos` are not among those that the text names."""
    decimals_as_integers: bool = True
    """Whether decimals of up to 18 digits are INT32 or INT64, as all others are fixed bytes."""
    list_element: Literal["element", "item", "array"] = "element"
    """Name of the column below the repeated group of a list; only the first is today's."""
    required: bool = True
    """Whether columns that are not nullable are REQUIRED."""
    reversed_columns: bool = False
    field_ids: bool = True
    """Whether columns that have an id carry it."""
    statistics: bool = True
    page_index: bool = False
    checksums: bool = False
    arrow_schema: bool = False
    """Whether the library's own schema stands in the footer too."""
    partition_columns: bool = False
    """Whether the file holds the partition columns, though their values stand in the log."""
    extra_column: bool = False
    """Whether the file holds a column that the table does not have."""


@st.composite
def parquet_spellings(draw: st.DrawFn, *, times: Sequence[str] = ("micros", "int96"), nested: bool = True) -> Any:
    """Spellings; they shrink to the default.

    Args:
        times: physical forms of timestamps that may be drawn.
        nested: whether the elements of lists may have an older name.
    """

    def one_of(*choices: Any) -> Any:
        return draw(st.sampled_from(choices))

    if one_of(True, False, False):
        return ParquetSpelling()
    encoding = one_of("dictionary", "plain", "delta", "lengths", "split")
    return ParquetSpelling(
        compression=one_of(*COMPRESSIONS),
        encoding=encoding,
        page_version=one_of("1.0", "2.0"),
        format_version=one_of("2.6", "2.4", "1.0"),
        rows_in_group=one_of(None, 1, 3),
        rows_in_page=one_of(None, 1, 2) if encoding == "plain" else None,
        times=one_of(*times),
        decimals_as_integers=one_of(True, False),
        list_element=one_of("element", *(("item", "array") if nested else ())),
        required=one_of(True, False),
        reversed_columns=one_of(False, True),
        statistics=one_of(True, False),
        page_index=one_of(False, True),
        checksums=one_of(False, True),
        arrow_schema=one_of(False, True),
        partition_columns=one_of(False, False, True),
        extra_column=one_of(False, False, True),
    )


def physical(kind: DataType, mapping: str | None) -> Any:
    """The type with physical names for the names of its fields, at every depth; metadata stays."""
    match kind:
        case Struct(fields):
            return Struct(
                tuple(
                    Field(
                        column_mapping.physical_name(each, mapping),
                        physical(each.type, mapping),
                        each.nullable,
                        each.metadata,
                    )
                    for each in fields
                )
            )
        case Array(element, contains_null):
            return Array(physical(element, mapping), contains_null)
        case Map(key, value, value_contains_null):
            return Map(physical(key, mapping), physical(value, mapping), value_contains_null)
    return kind


def parquet_fields(schema: Struct, spelling: ParquetSpelling) -> list[pa.Field]:
    """Arrow fields of a physical schema, with field ids as its metadata has them; void columns are left out."""
    fields = [_field(each, spelling) for each in schema.fields if each.type != Primitive("void")]
    return fields[::-1] if spelling.reversed_columns else fields


def _field(field: Field, spelling: ParquetSpelling) -> pa.Field:
    ids: dict[tuple[str, ...], int | None] = {(): column_mapping.column_id(field)}
    for name, number in column_mapping.nested_ids(field).items():
        # A physical name may hold points itself, so the name below it is what follows it.
        ids[tuple(name.removeprefix(field.name + ".").split("."))] = number

    def numbered(name: str, kind: pa.DataType, nullable: bool, path: tuple[str, ...]) -> pa.Field:
        number = ids.get(path) if spelling.field_ids else None
        metadata = None if number is None else {FIELD_ID: str(number).encode()}
        return pa.field(name, kind, nullable, metadata)

    def below(kind: DataType, path: tuple[str, ...]) -> pa.DataType:
        match kind:
            case Struct(fields):
                return pa.struct([_field(each, spelling) for each in fields])
            case Array(element, contains_null):
                here = (*path, "element")
                nullable = contains_null or not spelling.required
                return pa.list_(numbered(spelling.list_element, below(element, here), nullable, here))
            case Map(key, value, value_contains_null):
                in_key, in_value = (*path, "key"), (*path, "value")
                nullable = value_contains_null or not spelling.required
                return pa.map_(
                    numbered("key", below(key, in_key), False, in_key),
                    numbered("value", below(value, in_value), nullable, in_value),
                )
        return arrow_type(kind)

    return numbered(field.name, below(field.type, ()), field.nullable or not spelling.required, ())


def write_parquet(table: pa.Table, spelling: ParquetSpelling | None = None) -> bytes:
    """A table as the bytes of a Parquet file.

    Raises:
        pyarrow.ArrowInvalid: a timestamp that `millis` or `nanos` cannot hold exactly.
    """
    spelling = spelling or ParquetSpelling()
    leaves = {path: kind for field in table.schema for path, kind in _leaves(field, (field.name,))}
    encodings = {".".join(path): _encoding(kind, spelling) for path, kind in leaves.items()}
    sink = io.BytesIO()
    options: dict[str, Any] = {
        "compression": spelling.compression,
        "use_dictionary": spelling.encoding == "dictionary",
        "column_encoding": None if spelling.encoding == "dictionary" else encodings,
        "data_page_version": spelling.page_version,
        "version": spelling.format_version,
        "row_group_size": spelling.rows_in_group,
        "use_deprecated_int96_timestamps": spelling.times == "int96",
        "coerce_timestamps": {"millis": "ms"}.get(spelling.times),
        "store_decimal_as_integer": spelling.decimals_as_integers,
        "use_compliant_nested_type": spelling.list_element == "element",
        "write_statistics": spelling.statistics,
        "write_page_index": spelling.page_index and spelling.statistics,
        "write_page_checksum": spelling.checksums,
        "store_schema": spelling.arrow_schema,
    }
    if spelling.rows_in_page is not None:
        options |= {"data_page_size": 1, "write_batch_size": spelling.rows_in_page}
    if spelling.times == "nanos":
        table = table.cast(pa.schema([each.with_type(_in_nanoseconds(each.type)) for each in table.schema]))
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _leaves(field: pa.Field, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """Every column that holds values, by its path in the Parquet schema."""
    kind = field.type
    if pa.types.is_struct(kind):
        for each in kind:
            yield from _leaves(each, (*path, each.name))
    elif pa.types.is_map(kind):
        yield from _leaves(kind.key_field, (*path, "key_value", "key"))
        yield from _leaves(kind.item_field, (*path, "key_value", "value"))
    elif pa.types.is_list(kind):
        name = kind.value_field.name
        yield from _leaves(kind.value_field, (*path, "list", name))
    else:
        yield path, kind


def _encoding(kind: pa.DataType, spelling: ParquetSpelling) -> str:
    """The encoding of the spelling where a column of this type can have it, PLAIN elsewhere."""
    text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    whole = pa.types.is_integer(kind) or pa.types.is_date(kind)
    whole = whole or (pa.types.is_timestamp(kind) and spelling.times != "int96")
    fixed = pa.types.is_decimal(kind)
    small = fixed and kind.precision <= 18 and spelling.decimals_as_integers
    match spelling.encoding:
        case "delta" | "lengths":
            if text:
                return "DELTA_BYTE_ARRAY" if spelling.encoding == "delta" else "DELTA_LENGTH_BYTE_ARRAY"
            if whole or small:
                return "DELTA_BINARY_PACKED"
            if fixed:
                return "DELTA_BYTE_ARRAY"
            return "RLE" if pa.types.is_boolean(kind) else "PLAIN"
        case "split":
            return "BYTE_STREAM_SPLIT" if whole or fixed or pa.types.is_floating(kind) else "PLAIN"
    return "PLAIN"


def _in_nanoseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ns", kind.tz)
    return _inside(kind, _in_nanoseconds)


def _inside(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A nested type with its children's types changed."""
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(change(each.type)) for each in kind])
    if pa.types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(key.with_type(change(key.type)), item.with_type(change(item.type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(change(kind.value_type)))
    return kind


def rows_table(rows: Sequence[Mapping[str, Any]], fields: Sequence[pa.Field]) -> pa.Table:
    """Rows of plain values as a table with exactly these fields; a value that a row lacks is null."""
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(fields)))
