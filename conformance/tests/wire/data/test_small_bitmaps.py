"""Small vectors that are summarized in columns have the facts that the model finds; all others are left to it."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from deltaspec.protocol.files import z85
from deltaspec.protocol.files.deletion_vectors import (
    DeletionVectorError,
    build_inline_descriptor,
    decode_bitmap,
    decode_z85_text,
    encode_bitmap,
)
from deltaspec.wire.data import small_bitmaps
from deltaspec.wire.data.small_bitmaps import summarize_small_vectors

Vector = tuple[str | None, int | None]
"""`pathOrInlineDv` and `sizeInBytes`."""


@pytest.fixture(autouse=True, scope="module")
def few_vectors_are_summarized() -> Iterator[None]:
    with patch.object(small_bitmaps, "FEWEST_VECTORS", 1):
        yield


def build_vector(rows: list[int]) -> Vector:
    descriptor = build_inline_descriptor(rows)
    return descriptor.path_or_inline_dv, descriptor.size_in_bytes


def summarize(vectors: list[Vector]) -> dict[int, dict[str, Any]]:
    texts, sizes = zip(*vectors, strict=True)
    found = summarize_small_vectors(pl.Series(texts, dtype=pl.String), pl.Series(sizes, dtype=pl.Int64))
    assert found["row"].to_list() == sorted(found["row"].to_list())
    return {each.pop("row"): each for each in found.to_dicts()}


def find_facts(vector: Vector) -> dict[str, Any] | None:
    """Return what the model finds; None if it refuses the vector."""
    text, size = vector
    if text is None or size is None or size < 0:
        return None
    try:
        data = decode_z85_text(text)
        rows = decode_bitmap(data[:size])
    except DeletionVectorError:
        return None
    return {
        "decoded_size": len(data),
        "padding_is_zero": not any(data[size:]),
        "decoded_cardinality": len(rows),
        "decoded_last_row": rows[-1] if rows else None,
    }


small_rows = st.builds(
    lambda base, rows: [base * 65536 + row for row in sorted(rows)],
    st.sampled_from([0, 1, 65535, 65536, (1 << 47) - 1]),
    st.sets(st.integers(0, 65535), min_size=1, max_size=small_bitmaps.MOST_ROWS),
)
any_rows = st.lists(st.integers(0, (1 << 63) - 1) | st.integers(0, 200_000), max_size=200, unique=True)


@example_settings(60)
@given(sets=st.lists(small_rows, min_size=1, max_size=20))
@example(sets=[[0], [65535], [0, 1], [0, 65535], [5, 6, 7]])
def test_small_vectors_are_summarized(sets: list[list[int]]) -> None:
    vectors = [build_vector(rows) for rows in sets]
    found = summarize(vectors)
    assert found == dict(enumerate(map(find_facts, vectors)))
    assert [each["decoded_last_row"] for each in found.values()] == [rows[-1] for rows in sets]


@st.composite
def changed_vectors(draw: st.DrawFn) -> Vector:
    """A vector with changed bytes, characters or size."""
    data = bytearray(encode_bitmap(draw(small_rows | any_rows), runs=draw(st.booleans())))
    size = len(data)
    data += bytes(-size % 4)
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, min(len(data) - 1, 50)) | st.integers(max(0, len(data) - 4), len(data) - 1))
        data[place] = draw(st.integers(0, 255) | st.just(data[place] ^ 1))
    data += draw(st.sampled_from([b"", b"", b"", bytes(4), b"\1\0\0\0"]))
    size += draw(st.sampled_from([0, 0, 0, -1, 1, 2, -2, 4, -size - 1]))
    text = z85.encode(bytes(data))
    if draw(st.integers(0, 4)) == 0:
        place, other = draw(st.integers(0, len(text) - 1)), draw(st.sampled_from(['"', "#", "~", "é", "€", ""]))
        text = text[:place] + other + text[place + 1 :]
    return draw(st.sampled_from([(text, size)] * 8 + [(None, size), (text, None), ("", size)]))


@example_settings(200)
@given(vectors=st.lists(changed_vectors(), min_size=1, max_size=6))
def test_a_summary_is_what_the_model_finds(vectors: list[Vector]) -> None:
    assert {row: find_facts(vectors[row]) for row in summarize(vectors)} == summarize(vectors)


def test_a_defect_leaves_the_other_vectors_alone() -> None:
    text, size = build_vector([1, 300])
    assert text is not None
    assert size is not None
    data = encode_bitmap([1, 300])
    beyond_63_bits = bytearray(data)
    beyond_63_bits[15] |= 0x80
    wrong = [
        *((text[:place] + '"' + text[place + 1 :], size) for place in range(len(text))),
        *((text[:place] + "#####" + text[place + 5 :], size) for place in range(0, len(text), 5)),
        (z85.encode(bytes(beyond_63_bits)), size),
        (z85.encode(data + bytes(4)), size),
        (z85.encode(data + b"\1\0\0\0"), size),
        (text, 0),
        build_vector([]),
        build_vector(list(range(1000))),
    ]
    vectors = [(text, size), *(vector for each in wrong for vector in (each, (text, size)))]
    assert [*summarize(vectors)] == [*range(0, len(vectors), 2)]


def test_rows_that_do_not_ascend_are_left_to_the_model() -> None:
    rows = [7, 8, 300, 301, 65535]
    data = encode_bitmap(rows)
    places = [data[32 + 2 * n : 34 + 2 * n] for n in range(len(rows))]
    for first in range(len(rows) - 1):
        swapped = [*places[:first], places[first + 1], places[first], *places[first + 2 :]]
        repeated = [*places[: first + 1], places[first], *places[first + 2 :]]
        for each in (swapped, repeated):
            text = z85.encode(data[:32] + b"".join(each) + bytes(2))
            assert summarize([build_vector([3]), (text, len(data)), build_vector([4, 5])]).keys() == {0, 2}, (
                f"{first=}, {each=}"
            )


def test_many_vectors_keep_their_places(monkeypatch: Any) -> None:
    monkeypatch.setattr(small_bitmaps, "VECTORS_AT_ONCE", 7)
    vectors: list[Vector] = [build_vector([n, n + 3]) if n % 3 else ("", 0) for n in range(50)]
    found = summarize(vectors)
    assert {row: each["decoded_last_row"] for row, each in found.items()} == {n: n + 3 for n in range(50) if n % 3}


def test_few_vectors_have_no_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, sizes = pl.Series([build_vector([3])[0], None]), pl.Series([34, 34])
    found = summarize_small_vectors(texts, sizes)
    assert len(found) == 1
    monkeypatch.setattr(small_bitmaps, "FEWEST_VECTORS", 2)
    assert_frame_equal(summarize_small_vectors(texts, sizes), found.clear())
    assert_frame_equal(summarize_small_vectors(texts.clear(), sizes.clear()), found.clear())
