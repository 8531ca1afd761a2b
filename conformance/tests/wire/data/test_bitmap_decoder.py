"""The native bitmap decoder and the model agree on valid and mutated bitmaps."""

from unittest.mock import patch

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import example, given
from hypothesis import strategies as st

from deltaspec.protocol.files import deletion_vectors as model
from deltaspec.protocol.files import z85
from deltaspec.protocol.files.deletion_vectors import MAGIC, DeletionVectorError, decode_z85_text, encode_bitmap
from deltaspec.wire.data import bitmap_decoder as native

MAX_ROWS = 1 << 20

row_indexes = st.one_of(
    st.integers(0, 300),
    st.integers(0, 1 << 33),
    st.sampled_from([0, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 63) - 1]),
)
runs_of_rows = st.tuples(row_indexes, st.integers(1, 3000)).map(lambda run: range(run[0], min(sum(run), 1 << 63)))


@st.composite
def row_sets(draw: st.DrawFn) -> set[int]:
    rows = set(draw(st.lists(row_indexes, max_size=8)))
    for run in draw(st.lists(runs_of_rows, max_size=2)):
        rows.update(run)
    if draw(st.integers(0, 8)) == 0:  # enough rows for a bitmap container
        rows.update(range(0, 10_000, 2))
    return rows


def encode_padded(data: bytes) -> str:
    return z85.encode(data + bytes(-len(data) % 4))


def decode_with_model(data: bytes) -> list[int] | None:
    try:
        return model.decode_bitmap(data, max_rows=MAX_ROWS)
    except DeletionVectorError:
        return None


def decode_natively(data: bytes) -> list[int] | None:
    try:
        return list(native.decode_bitmap(data))
    except DeletionVectorError:
        return None


@example_settings(60)
@given(rows=row_sets(), runs=st.booleans())
def test_valid_bitmaps_have_their_rows(rows: set[int], runs: bool) -> None:
    assert decode_natively(encode_bitmap(rows, runs=runs)) == sorted(rows)


@st.composite
def mutated_bitmaps(draw: st.DrawFn) -> bytes:
    """A bitmap with flipped, removed, repeated or inserted bytes."""
    data = bytearray(encode_bitmap(draw(row_sets()), runs=draw(st.booleans())))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(0, min(len(data) - 1, 80))))
        match draw(st.sampled_from(["flip", "cut", "insert", "end", "number"])):
            case "flip" if data:
                data[place] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[place : place + draw(st.integers(1, 8))]
            case "insert":
                data[place:place] = draw(st.binary(min_size=1, max_size=4))
            case "end":
                data += draw(st.binary(min_size=1, max_size=4))
            case _:
                data[place : place + 4] = draw(st.sampled_from([0, 1, 2, 65535, 2**31, 2**32 - 1])).to_bytes(
                    4, "little"
                )
    return bytes(data)


@example_settings(200)
@given(data=mutated_bitmaps())
@example(data=b"")
@example(data=MAGIC.to_bytes(4, "little"))
@example(data=MAGIC.to_bytes(4, "little") + bytes(8))
@example(data=MAGIC.to_bytes(4, "little") + bytes(9))
def test_mutated_bitmaps_are_decoded_or_refused_alike(data: bytes) -> None:
    assert decode_natively(data) == decode_with_model(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "too short"),
        (bytes(12), "magic number is 0"),
        (MAGIC.to_bytes(4, "little") + b"\xff" * 8, "more buckets than its bytes can contain"),
        (encode_bitmap([1]) + b"\0", "malformed"),
        (encode_bitmap([1])[:-1], "malformed"),
    ],
)
def test_refusal_has_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(DeletionVectorError, match=reason):
        native.decode_bitmap(data)


def test_too_large_bitmap_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "MAX_BITMAP_BYTES", 20)
    with pytest.raises(DeletionVectorError, match="more than the limit of 20 bytes"):
        native.decode_bitmap(encode_bitmap([1]))


def test_rows_have_at_most_63_bits() -> None:
    assert decode_natively(encode_bitmap([(1 << 63) - 1])) == [(1 << 63) - 1]
    assert decode_natively(_encode_one_row(high=1 << 31)) is None


def _encode_one_row(high: int) -> bytes:
    """Return a bitmap with row 0 of one bucket."""
    bucket = (
        (12346).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(4) + (16).to_bytes(4, "little") + bytes(2)
    )
    return MAGIC.to_bytes(4, "little") + (1).to_bytes(8, "little") + high.to_bytes(4, "little") + bucket


def test_single_row_is_decoded() -> None:
    assert decode_natively(_encode_one_row(high=0)) == [0]
    assert decode_natively(_encode_one_row(high=2)) == [2 << 32]


@pytest.mark.parametrize("text", ["abc", "~~~~~", "é" * 5])
def test_text_that_is_not_z85_is_refused(text: str) -> None:
    with pytest.raises(DeletionVectorError, match="Z85"):
        native.decode_inline_text(text)


@given(st.one_of(st.text(z85.ALPHABET, max_size=25), st.text(max_size=10), st.binary(max_size=24).map(encode_padded)))
@example("%nSc0")  # the largest number of 32 bits
@example("%nSc1")
@example("#####")
@example("\ud800" * 5)
@example("\x00" * 5)
def test_inline_text_is_decoded_as_by_the_model(text: str) -> None:
    try:
        expected: bytes | str = decode_z85_text(text)
    except DeletionVectorError as fault:
        expected = str(fault)
    try:
        found: bytes | str = native.decode_inline_text(text)
    except DeletionVectorError as fault:
        found = str(fault)
    assert found == expected


VALID_TEXTS = st.binary(max_size=24).map(encode_padded)


@given(st.lists(VALID_TEXTS), st.lists(st.text(max_size=10), max_size=1), st.integers(0, 40))
@example(["%nSc0"], ["%nSc1"], 1 << 20)
def test_texts_are_decoded_together_as_one_by_one(valid: list[str], other: list[str], length: int) -> None:
    with patch.object(native, "JOINED_BYTES", length):
        assert list(native.decode_inline_texts(valid)) == [
            None if is_last else native.decode_inline_text(text) for text, is_last in mark_last(valid, length)
        ]
        for text, found in zip([*valid, *other], native.decode_inline_texts([*valid, *other]), strict=True):
            assert found is None or found == decode_z85_text(text)


def mark_last(texts: list[str], length: int) -> list[tuple[str, bool]]:
    """Mark each text with which a batch exceeds its length; it is decoded alone."""
    marked, size = [], 0
    for text in texts:
        size += len(text)
        marked.append((text, size > length))
        size = 0 if size > length else size
    return marked
