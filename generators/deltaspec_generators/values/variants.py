"""Draw variants: their values, how to shred them, and columns that contain them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.choices import Choices
from deltaspec_generators.values.variant_encoder import (
    Shape,
    build_shredded_variants,
    build_variant_column,
    encode_variant,
)

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


class EncodedVariant(dict[str, bytes]):
    """The two binaries of a variant, as a plain value of `arrow_values`."""

    decoded: Any = None
    """What they encode; None for null, and for a value that `variant_encoder` does not write."""


def draw_encoded_variant(choices: Choices) -> EncodedVariant:
    """Draw a variant."""
    if choices.chance(1, 8):
        return EncodedVariant(value=_LONG, metadata=_NO_NAMES)
    decoded = draw_variant(choices)
    metadata, value = encode_variant(decoded)
    found = EncodedVariant(value=value, metadata=metadata)
    found.decoded = decoded
    return found


def draw_shredding(choices: Choices, table: pa.Table, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Shred some variant columns of a table of these rows."""
    for index, field in enumerate(table.schema):
        values = [row.get(field.name) for row in rows]
        present = [each for each in values if each is not None]
        can_shred = all(isinstance(each, EncodedVariant) and each.decoded is not None for each in present)
        if present and can_shred and choices.chance(2, 3):
            decoded = [None if each is None else each.decoded for each in values]
            array = build_shredded_variants(decoded, draw_shape(choices))
            table = table.set_column(index, field.with_type(array.type), array)
    return table


def is_shredded(table: pa.Table) -> bool:
    """Return whether a column of a table is a shredded variant."""
    return any(pa.types.is_struct(each.type) and each.type.get_field_index("typed_value") >= 0 for each in table.schema)


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
