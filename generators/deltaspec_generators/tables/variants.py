"""Draw variants: their values, how to shred them, and columns that contain them."""

from typing import Any

import pyarrow as pa

from deltaspec_generators.bases.variant_encoder import (
    Shape,
    build_shredded_variants,
    build_variant_column,
    encode_variant,
)
from deltaspec_generators.tables.choices import Choices

NAMES = ("a", "b", "c")
_NO_NAMES = b"\x01\x00\x00"
"""Metadata of a variant without field names."""
_LONG = b"\x18" + (2**40).to_bytes(8, "little")
"""Encoded integer of 64 bits, which `variant_encoder` does not write."""


def draw_variant(choices: Choices, depth: int = 2) -> Any:
    """Draw the value of a variant: None is a variant null."""
    match choices.choose(6 if depth else 4):
        case 0:
            return None
        case 1:
            return bool(choices.choose(2))
        case 2:
            return choices.integer(0, 127) * choices.pick((1, -1))
        case 3:
            return choices.pick(("", "abc", "text"))
        case 4:
            return [draw_variant(choices, depth - 1) for _ in choices.repeat(0, 3)]
    return {name: draw_variant(choices, depth - 1) for name in choices.sample(NAMES, 0, 3)}


def draw_encoded_variant(choices: Choices) -> dict[str, bytes]:
    """Draw the two binaries of a variant."""
    if choices.chance(1, 8):
        return {"value": _LONG, "metadata": _NO_NAMES}
    metadata, value = encode_variant(draw_variant(choices))
    return {"value": value, "metadata": metadata}


def draw_shape(choices: Choices, depth: int = 2) -> Shape:
    """Draw the type of a typed column."""
    match choices.choose(5 if depth else 3):
        case 3:
            return [_draw_inner_shape(choices, depth)]
        case 4:
            return {name: _draw_inner_shape(choices, depth) for name in choices.sample(NAMES, 1, 3)}
    return choices.pick((pa.int64(), pa.string(), pa.bool_()))


def _draw_inner_shape(choices: Choices, depth: int) -> Shape:
    return None if choices.chance(1, 3) else draw_shape(choices, depth - 1)


def draw_variant_array(choices: Choices, values: list[Any]) -> pa.Array:
    """Draw a column of these values, shredded or not; None is a null of the column."""
    if choices.chance(2, 3):
        return build_shredded_variants(values, draw_shape(choices))
    return build_variant_column(values)
