"""Planted faults of rows in data files, visible at level `rows`."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import TableFiles
from planted_tables.bases.nested_types import struct_type
from planted_tables.bases.single_file import (
    build_cents_array,
    build_required_field,
    build_single_file_table,
    build_string_array,
)
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("data-files.readable-pages", "rows")
def page_damaged(draw: st.DrawFn) -> TableFiles:
    """The last byte of a page with checksum is changed, or a page header is garbage."""
    damage = draw_one(draw, "checksum", "header")
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": damage == "checksum"}
    files = build_table_with_data(parquet_options=options)
    column_index = draw_one(draw, 0, 1, 2)
    data = files.data["b.parquet"]
    assert isinstance(data, bytes)
    chunk = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0).column(column_index)
    damaged = bytearray(data)
    if damage == "checksum":
        damaged[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 1
    else:
        damaged[chunk.data_page_offset : chunk.data_page_offset + 8] = b"\xff" * 8
    files.data["b.parquet"] = bytes(damaged)
    return files


@planted_fault("data-files.required-columns", "rows")
def required_column_null(draw: st.DrawFn) -> TableFiles:
    """In a top-level column, or in a struct that is not null in that row."""
    null_index = draw(st.integers(0, 9))
    values = [None if each == null_index else each for each in range(10)]
    if draw(st.booleans()):
        return build_single_file_table(
            pa.table({"id": pa.array(values, pa.int64())}), [build_required_field("id", "long")]
        )
    inner = pa.array([{"x": each, "y": 1} for each in values], pa.struct([("x", pa.int64()), ("y", pa.int32())]))
    kind = struct_type(build_required_field("x", "long"), ("y", "integer"))
    return build_single_file_table(
        pa.table({"s": inner}), [("s", kind)] if draw(st.booleans()) else [build_required_field("s", kind)]
    )


@planted_fault("data-files.utf-8", "rows")
def string_of_other_bytes(draw: st.DrawFn) -> TableFiles:
    bad = draw_one(draw, b"\xff", b"Stra\xdfe", b"\xed\xa0\x80", b"\xc0\x80", b"cut \xe2\x82")
    strings = build_string_array(b"a", None, bad, "Straße".encode())
    if draw(st.booleans()):
        return build_single_file_table(pa.table({"s": strings}), [("s", "string")])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 4], pa.int32()), strings)
    kind = {"type": "array", "elementType": "string", "containsNull": True}
    return build_single_file_table(pa.table({"l": lists}), [("l", kind)])


@planted_fault("data-files.value-ranges", "rows")
def decimal_of_more_digits(draw: st.DrawFn) -> TableFiles:
    beyond = draw_one(draw, 100_000, -100_000, 8_000_000)
    options = {"store_decimal_as_integer": draw(st.booleans())}
    table = pa.table({"price": build_cents_array([1, beyond, 99_999], 5)})
    return build_single_file_table(table, [("price", "decimal(5,2)")], parquet_options=options)


@planted_fault("data-files.stored-partition-columns", "rows")
def stored_partition_value_other(draw: st.DrawFn) -> TableFiles:
    choices: tuple[tuple[str, str | None, Any], ...] = (
        ("string", "a", pa.array(["a", "b", "a"])),
        ("string", None, pa.array([None, "b", None], pa.string())),
        ("string", "a", pa.array(["a", "a", None])),
        ("long", "1", pa.array([1, 1, 2])),
        ("double", "0.5", pa.array([0.5, float("nan"), 0.5])),
        ("date", "1500-01-01", pa.array([-171_664, -171_663, -171_664], pa.date32())),
        ("timestamp", "2024-01-01T00:00:00Z", pa.array([1_704_067_200_000_001] * 3, pa.timestamp("us", "UTC"))),
        ("boolean", "true", pa.array([True, True, False])),
    )
    kind, text, column = draw_one(draw, *choices)
    table = pa.table({"id": [1, 2, 3], "p": column})
    return build_single_file_table(table, [("id", "long"), ("p", kind)], partition={"p": text})


@planted_fault("data-files.required-columns", "rows")
def null_in_container(draw: st.DrawFn) -> TableFiles:
    ints = pa.list_(pa.int64())
    pairs = pa.map_(pa.string(), pa.int64())
    structs = pa.list_(pa.struct([("x", pa.int64())]))
    kind, column = draw_one(
        draw,
        (
            {"type": "array", "elementType": "long", "containsNull": False},
            pa.array([[1, 2], None, [], [3, None]], ints),
        ),
        (
            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": False},
            pa.array([[("a", 1)], None, [("b", None)], []], pairs),
        ),
        (
            {"type": "array", "elementType": struct_type(build_required_field("x", "long")), "containsNull": True},
            pa.array([[{"x": 1}, None], [{"x": None}], None, []], structs),
        ),
    )
    return build_single_file_table(pa.table({"c": column}), [("c", kind)])
