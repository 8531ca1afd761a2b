"""Strings that are read as dictionaries have the same bounds, nulls and violations as any other strings."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire.data_row_reading import LONG, STRING, fields, find_bounds, find_broken_checks, parquet_bytes, read_file_rows

from deltaspec.model.schema.data_types import Field, Struct
from deltaspec.wire.data import row_reader
from deltaspec.wire.data.row_reader import DataFileRows
from deltaspec.wire.parquet import dictionary_columns
from deltaspec.wire.parquet.dictionary_columns import open_dictionary_columns
from deltaspec.wire.parquet.file_opener import open_data_file
from deltaspec_generators.bases.single_file import build_string_array

REPEATS = 40
"""So many equal values in a row take less than a byte each."""


def find_names(data: bytes) -> set[str]:
    found = open_dictionary_columns(open_data_file(pa.BufferReader(data), len(data)))
    return set() if found is None else set(found.names)


def encode_repeated(values: Iterable[bytes | None], **options: Any) -> bytes:
    repeated = [value for value in values for _ in range(REPEATS)]
    return parquet_bytes(pa.table({"s": build_string_array(*repeated)}), **options)


def describe(rows: DataFileRows) -> list[object]:
    checks = [(each.check, each.violating_rows, each.first_row, each.found) for each in rows.checks]
    return [rows.leaves, rows.corrupt, rows.unread, checks]


def test_only_short_numbers_of_strings_are_read_as_dictionaries() -> None:
    few = pa.array(["amber", "basalt"] * 200)
    table = pa.table(
        {
            "few": few,
            "all": pa.array([f"value {number}" for number in range(400)]),
            "bytes": few.cast(pa.binary()),
            "number": pa.array([1, 2] * 200),
            "inside": pa.StructArray.from_arrays([few], ["few"]),
        }
    )
    assert find_names(parquet_bytes(table)) == {"few"}
    assert find_names(parquet_bytes(table, use_dictionary=False)) == set()
    # the second row group has other values
    mixed = pa.table({"few": pa.concat_arrays([few, pa.array([f"value {number}" for number in range(400)])])})
    assert find_names(parquet_bytes(mixed, row_group_size=400)) == set()
    assert find_names(parquet_bytes(pa.table({"few": few.slice(0, 0)}))) == set()


def test_files_with_many_column_chunks_are_read_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode_repeated([b"a", b"b"], row_group_size=REPEATS)
    assert find_names(data) == {"s"}
    monkeypatch.setattr(dictionary_columns, "_MAX_CHUNKS", 1)
    assert find_names(data) == set()


def test_values_that_only_deleted_rows_have_do_not_count() -> None:
    data = encode_repeated([b"a", b"m", b"z", b"\xff"])
    deleted = [*range(REPEATS), *range(2 * REPEATS, 4 * REPEATS)]
    rows = read_file_rows(data, fields(s=STRING), deleted=deleted)
    assert find_bounds(rows, "s") == ("m", "m")
    assert find_broken_checks(rows) == {}
    assert find_broken_checks(read_file_rows(data, fields(s=STRING), deleted=deleted[:-1])) == {
        ("UTF-8", "s"): (1, 4 * REPEATS - 1)
    }


def test_pages_that_cannot_be_decoded_are_reported_as_of_any_column() -> None:
    data = bytearray(encode_repeated([b"amber", b"basalt"], compression="none"))
    place = data.index(b"amber") - 4
    data[place : place + 4] = b"\xff\xff\xff\x7f"
    assert find_names(bytes(data)) == {"s"}
    assert set(read_file_rows(bytes(data), fields(s=STRING)).corrupt) == {"s"}


def test_a_struct_member_with_the_path_of_a_column_is_another_column() -> None:
    few = pa.array(["amber", "basalt"] * 200)
    table = pa.table({"a.b": few, "a": pa.StructArray.from_arrays([pa.array(range(400))], ["b"])})
    schema = Struct((Field("a.b", STRING, True), Field("a", fields(b=LONG), True)))
    rows = read_file_rows(table, schema)
    assert (find_bounds(rows, "a.b"), find_bounds(rows, "a", "b")) == (("amber", "basalt"), (0, 399))


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.sampled_from([b"", b"a", "é".encode(), b"\xff", b"b" * 9, None]), min_size=1, max_size=6),
    group_size=st.sampled_from([REPEATS, REPEATS + 7, 1 << 20]),
    deleted=st.sets(st.integers(0, 6 * REPEATS)),
    is_nullable=st.booleans(),
    partition=st.sampled_from([None, "a", ""]),
)
def test_rows_equal_those_of_plain_strings(
    values: list[bytes | None], group_size: int, deleted: set[int], is_nullable: bool, partition: str | None
) -> None:
    data = encode_repeated(values, row_group_size=group_size, data_page_size=32)
    schema = Struct((Field("s", STRING, is_nullable),))
    read = partial(
        read_file_rows,
        data,
        schema,
        deleted=sorted(deleted),
        partition=None if partition is None else {"s": partition},
    )
    found = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_reader, "open_dictionary_columns", lambda _: None)
        expected = read()
    assert describe(found) == describe(expected)
