"""Decode Z85 text in columns: five characters are four bytes."""

from array import array
from functools import reduce
from operator import or_

import polars as pl
import pyarrow as pa

from deltaspec.protocol.files.z85 import ALPHABET
from deltaspec.wire.arrow_compute import to_series

GROUP = 5
NO_DIGIT = 0xFF
DIGITS = bytes(ALPHABET.find(chr(byte)) & NO_DIGIT for byte in range(256))
"""Digit of base 85 of each byte; `NO_DIGIT` for bytes outside of the alphabet."""


def decode_words(text: bytes) -> tuple[pl.Series, pl.Series]:
    """Decode text to words.

    Args:
        text: a multiple of five bytes.

    Returns:
        Words of 32 bits (UInt32), the first byte as the lowest, and which of them (Boolean) are not Z85. Those
        have no useful value.
    """
    assert len(text) % GROUP == 0
    buffer = pa.py_buffer(text.translate(DIGITS))
    digits = to_series(pa.Array.from_buffers(pa.uint8(), len(text), [None, buffer]))
    places = [digits.gather_every(GROUP, place) for place in range(GROUP)]
    numbers = places[0].cast(pl.UInt64)
    for each in places[1:]:
        numbers = numbers * 85 + each.cast(pl.UInt64)
    is_wrong = reduce(or_, (each == NO_DIGIT for each in places), numbers >= 1 << 32)
    values = (numbers % (1 << 32)).cast(pl.UInt32).to_arrow().buffers()[1].to_pybytes()
    words = array("I", values[: 4 * len(numbers)])
    words.byteswap()
    return to_series(pa.Array.from_buffers(pa.uint32(), len(words), [None, pa.py_buffer(words)])), is_wrong
