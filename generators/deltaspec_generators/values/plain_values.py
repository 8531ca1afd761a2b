"""Draw plain values of every Delta type, with the edge values on which engines differ.

The simplest value of every type comes from choices that are all 0. `arrow_values` lists the plain values of each type.
"""

from __future__ import annotations

import math
import string
import struct
from collections.abc import Sequence
from typing import Any

from deltaspec.protocol.schema.data_types import INTEGER_BITS, Array, DataType, Decimal, Map, Primitive, Struct
from deltaspec.protocol.time_units import DAY_US
from deltaspec_generators.choices import Choices
from deltaspec_generators.values.arrow_values import (
    FIRST_DAY,
    FIRST_US,
    GREGORIAN_DAY,
    LAST_DAY,
    LAST_US,
    build_decimal,
)
from deltaspec_generators.values.variants import draw_encoded_variant

VOID = Primitive("void")
_LETTERS = string.ascii_lowercase
_CHARACTERS = _LETTERS + ' %é漢"\\\x7f\uffff\U00010000\U0010ffff'
_HIGHEST = "\U0010ffff"
_EDGE_TEXTS = (
    "",
    "e\u0301",
    "é",
    "\uffff",
    "\U00010000",
    "x" * 32,
    "x" * 33,
    "x" * 32 + "\uffff",
    "x" * 31 + "😀😀",
    "é" * 40,
    "\uffff" * 33,
    _HIGHEST * 33,
    "x" * 32 + _HIGHEST + "a",
)
_EDGE_BYTES = (b"", b"\x00", b"\xff" * 33, b"\xc3", b"\x80\x7f")
_EDGE_DAYS = (-1, GREGORIAN_DAY, GREGORIAN_DAY - 1, GREGORIAN_DAY - 11, FIRST_DAY, LAST_DAY)
_EDGE_MOMENTS = (
    -1,
    -999,
    -1001,
    1,
    1_600_000_000_123_456,
    GREGORIAN_DAY * DAY_US - 1,
    FIRST_US,
    LAST_US,
    -(2**53) - 1,
)
_HUGE = 1.7976931348623157e308
_TINY, _SINGLE_HUGE = 1.401298464324817e-45, 3.4028234663852886e38
_SINGLE_THIRD = struct.unpack("<f", struct.pack("<f", 3.4))[0]
_EDGE_FLOATS: dict[str, tuple[float, ...]] = {
    "double": (-0.0, 0.0, 3.4, math.nan, math.inf, -math.inf, 5e-324, -5e-324, _HUGE, -_HUGE),
    "float": (-0.0, 0.0, _SINGLE_THIRD, math.nan, math.inf, -math.inf, _TINY, -_TINY, _SINGLE_HUGE, -_SINGLE_HUGE),
}
_LARGE = 40
"""Maximum number of elements of a collection; few collections are that large."""


def draw_values(
    choices: Choices, data_type: DataType, count: int, *, nullable: bool = True, edges: bool = True
) -> list[Any]:
    """Draw `count` plain values of a type.

    Args:
        choices: source of choices.
        data_type: any type except types of proposals.
        count: number of values.
        nullable: whether values may be null; then none, some or all are.
        edges: whether to include values on which engines differ (NaN, type limits, unusual characters, old dates).
    """
    nulls = choices.pick(("none", "some", "none", "some", "all")) if nullable else "none"
    if nulls == "all" or data_type == VOID:
        return [None] * count
    return [
        None if nulls == "some" and not choices.choose(3) else draw_value(choices, data_type, edges=edges)
        for _ in range(count)
    ]


def draw_value(choices: Choices, data_type: DataType, *, edges: bool = True) -> Any:
    """Draw a plain value of a type that is not null; nested values may be null where their type allows."""
    match data_type:
        case Primitive(name):
            return _draw_primitive(choices, name, edges)
        case Decimal(precision, scale):
            limit = 10**precision - 1
            return build_decimal(_draw_number(choices, (-1, -limit, limit), -limit, limit, 999, edges), scale)
        case Array(element, contains_null):
            return [_draw_nullable(choices, element, contains_null, edges) for _ in _repeat_elements(choices, edges)]
        case Map(key, value, value_contains_null):
            entries = {}
            for _ in _repeat_elements(choices, edges):
                each = draw_value(choices, key, edges=edges)
                entries[_build_key(each)] = each, _draw_nullable(choices, value, value_contains_null, edges)
            return list(entries.values())
        case Struct(fields):
            return {each.name: _draw_nullable(choices, each.type, each.nullable, edges) for each in fields}
    raise ValueError(f"no values are defined for the type {data_type}")


def _repeat_elements(choices: Choices, edges: bool) -> Any:
    return choices.repeat(0, _LARGE if edges and choices.chance(1, 40) else 3)


def _build_key(value: Any) -> str:
    """Return the same text for keys that some engine may consider equal: 0.0 and -0.0."""
    return repr(value + 0.0 if isinstance(value, float) else value)


def _draw_nullable(choices: Choices, data_type: DataType, nullable: bool, edges: bool) -> Any:
    if data_type == VOID or (nullable and choices.chance(1, 4)):
        return None
    return draw_value(choices, data_type, edges=edges)


def _draw_primitive(choices: Choices, name: str, edges: bool) -> Any:
    match name:
        case "byte" | "short" | "integer" | "long":
            limit = 2 ** (INTEGER_BITS[name] - 1)
            edge_values = (-1, -limit, limit - 1, *((2**53 + 1, -(2**53) - 1) if name == "long" else ()))
            return _draw_number(choices, edge_values, -limit, limit - 1, 9, edges)
        case "double" | "float":
            return _draw_float(choices, name, edges)
        case "boolean":
            return bool(choices.choose(2))
        case "string":
            return _draw_text(choices, edges)
        case "binary":
            if edges and choices.chance(1, 2):
                return choices.pick(_EDGE_BYTES)
            return bytes(choices.choose(256) for _ in choices.repeat(0, 3))
        case "date":
            return _draw_number(choices, _EDGE_DAYS, FIRST_DAY, LAST_DAY, 20_000, edges)
        case "timestamp" | "timestamp_ntz":
            if edges and choices.chance(2, 3):
                return _draw_number(choices, _EDGE_MOMENTS, FIRST_US, LAST_US, 999, edges)
            return 1_600_000_000_000_000 + choices.integer(0, 2_000_000) * 1_000_000
        case "variant":
            return draw_encoded_variant(choices)
    raise ValueError(f"no values are defined for the type {name}")


def _draw_number(choices: Choices, edge_values: Sequence[int], low: int, high: int, ordinary: int, edges: bool) -> int:
    """Draw an ordinary number from 0 to `ordinary`, an edge value, or any number from `low` to `high`."""
    match choices.choose(3) if edges else 0:
        case 0:
            return choices.integer(0, min(ordinary, high))
        case 1:
            return choices.pick(edge_values)
    return _fold(choices.choose(high - low + 1), low, high)


def _fold(number: int, low: int, high: int) -> int:
    """Map 0, 1, 2, ... to 0, -1, 1, -2, ... as far as the range allows, so that small choices are near zero."""
    if low > 0:
        return low + number
    if number > 2 * min(-low, high):
        return number + low if high > -low else high - number
    return -(number + 1) // 2 if number % 2 else number // 2


def _draw_float(choices: Choices, name: str, edges: bool) -> float:
    match choices.choose(3) if edges else 0:
        case 0:
            return choices.integer(0, 20) / 4
        case 1:
            return choices.pick(_EDGE_FLOATS[name])
    width, code = (32, "If") if name == "float" else (64, "Qd")
    found = float(struct.unpack(f"<{code[1]}", struct.pack(f"<{code[0]}", choices.choose(2**width)))[0])
    return math.nan if math.isnan(found) else found  # platforms differ in the bits of other NaNs


def _draw_text(choices: Choices, edges: bool) -> str:
    match choices.choose(4) if edges else 0:
        case 2:
            return choices.pick(_EDGE_TEXTS)
        case 3:
            return "".join(choices.pick(_CHARACTERS) for _ in range(choices.integer(0, 40)))
    return "".join(choices.pick(_LETTERS) for _ in choices.repeat(0, 3))
