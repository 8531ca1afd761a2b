"""All bytes of a string array are checked at once for ASCII."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.wire.data.string_bytes import is_ascii

texts = st.lists(st.none() | st.sampled_from(["", "a", "~\x7f", "\x80", "é", "\U0001f600"]), max_size=8)


@given(texts, st.integers(0, 8), st.integers(0, 8))
def test_slices_are_ascii_if_each_string_is(strings: list[str | None], start: int, length: int) -> None:
    array = pa.array(strings, pa.string()).slice(start, length)
    assert is_ascii(array) == "".join(text or "" for text in array.to_pylist()).isascii()


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.binary(), pa.int32()])
def test_other_types_are_not_known_to_be_ascii(kind: pa.DataType) -> None:
    assert not is_ascii(pa.array([], kind))
