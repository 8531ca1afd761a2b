"""Strategies for Arrow arrays of every Delta type, with the edge values on which engines differ.

Plain values by type:

| type | plain value |
|-|-|
| numbers, boolean, string, binary | int, float, `decimal.Decimal`, bool, str, bytes |
| date, timestamps | days and microseconds since the epoch, because Python has no year 0 and none after 9999 |
| struct, array, map | dict, list, list of pairs |
| variant | dict of its two binaries |

Everything shrinks towards few simple values.
"""

import math
import string
import struct
from collections.abc import Sequence
from decimal import Decimal as Exact
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.model.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct

PRIMITIVES = (
    "long",
    "string",
    "integer",
    "short",
    "byte",
    "double",
    "float",
    "boolean",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "variant",
)
"""Names of the primitive types, except `void`, which has no values."""
DECIMALS = (
    Decimal(10, 2),
    Decimal(38, 18),
    Decimal(38, 0),
    Decimal(1, 1),
    Decimal(9, 9),
    Decimal(18, 6),
    Decimal(19, 0),
)

_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_ARROW: dict[str, pa.DataType] = {
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
    "variant": pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)]),
}

FIRST_DAY, LAST_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31."""
GREGORIAN_DAY = -141427
"""1582-10-15, the first day of the Gregorian calendar; engines differ on earlier days."""
DAY_US = 86_400_000_000
FIRST_US, LAST_US = FIRST_DAY * DAY_US, LAST_DAY * DAY_US + DAY_US - 1

_HIGHEST = "\U0010ffff"
_CHARACTERS = string.ascii_lowercase + ' %é漢"\\\x7f\uffff\U00010000\U0010ffff'
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
_NO_NAMES = b"\x01\x00\x00"
"""Metadata of a variant without field names."""
_VARIANTS = (b"\x00", b"\x04", b"\x08", b"\x0c\x2a", b"\x18" + (2**40).to_bytes(8, "little"), b"\x0dabc")
"""Variant values: null, true, false, an integer of 8 and one of 64 bits, a short string."""


def arrow_type(kind: DataType) -> pa.DataType:
    """Return the Arrow type of a Delta type; nullability of fields, elements and map values is kept.

    Raises:
        ValueError: the type is from a proposal, for which no values are defined.
    """
    match kind:
        case Primitive(name):
            return _ARROW[name]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element, contains_null):
            return pa.list_(pa.field("element", arrow_type(element), contains_null))
        case Map(key, value, value_contains_null):
            return pa.map_(
                pa.field("key", arrow_type(key), False), pa.field("value", arrow_type(value), value_contains_null)
            )
        case Struct(fields):
            return pa.struct([pa.field(each.name, arrow_type(each.type), each.nullable) for each in fields])
    raise ValueError(f"no values are defined for the type {kind}")


def build_array(values: Sequence[Any], kind: DataType) -> pa.Array:
    """Convert plain values to an Arrow array."""
    return pa.array(values, arrow_type(kind))


def to_plain_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Convert an Arrow array to plain values; the inverse of `build_array`."""
    found: list[Any] = array.cast(_integer_type(array.type)).to_pylist()
    return found


def _integer_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with dates and timestamps replaced by integers, at every depth."""
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_map(kind):
        return pa.map_(
            kind.key_field.with_type(_integer_type(kind.key_type)),
            kind.item_field.with_type(_integer_type(kind.item_type)),
        )
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_integer_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_integer_type(each.type)) for each in kind])
    return kind


@st.composite
def column_values(
    draw: st.DrawFn, kind: DataType, *, rows: int | None = None, nullable: bool = True, edges: bool = True
) -> pa.Array:
    """Draw Arrow arrays of a type.

    Args:
        kind: any type except those of proposals.
        rows: length of the array; drawn from 0 to 8 if None.
        nullable: whether values may be null; then none, some or all are.
        edges: whether to include values on which engines differ (NaN, type limits, unusual characters, old dates).
    """
    count = draw(st.integers(0, 8)) if rows is None else rows
    return build_array(draw(value_lists(kind, count, nullable=nullable, edges=edges)), kind)


@st.composite
def value_lists(draw: st.DrawFn, kind: DataType, count: int, *, nullable: bool = True, edges: bool = True) -> list[Any]:
    """Draw `count` plain values of a type; arguments as in `column_values`."""
    nulls = draw(st.sampled_from(("none", "some", "none", "all"))) if nullable else "none"
    if nulls == "all" or kind == Primitive("void"):
        return [None] * count
    one = non_null_values(kind, edges=edges)
    if nulls == "some":
        one = st.none() | one
    return draw(st.lists(one, min_size=count, max_size=count))


@cache
def non_null_values(kind: DataType, *, edges: bool = True) -> st.SearchStrategy[Any]:
    """Draw plain values of a type that are not null; nested values may be null where their type allows."""
    match kind:
        case Primitive(name):
            return _primitives(name, edges)
        case Decimal(precision, scale):
            return _decimals(precision, scale, edges)
        case Array(element, contains_null):
            return st.lists(_nullable(element, contains_null, edges), max_size=3)
        case Map(key, value, value_contains_null):
            pair = st.tuples(non_null_values(key, edges=edges), _nullable(value, value_contains_null, edges))
            return st.lists(pair, max_size=2, unique_by=lambda each: repr(each[0]))
        case Struct(fields):
            values = st.tuples(*(_nullable(each.type, each.nullable, edges) for each in fields))
            return values.map(lambda found: {each.name: value for each, value in zip(fields, found, strict=True)})
    raise ValueError(f"no values are defined for the type {kind}")


def _nullable(kind: DataType, nullable: bool, edges: bool) -> st.SearchStrategy[Any]:
    if kind == Primitive("void"):
        return st.none()
    one = non_null_values(kind, edges=edges)
    return one | st.none() if nullable else one


def _primitives(name: str, edges: bool) -> st.SearchStrategy[Any]:
    match name:
        case "byte" | "short" | "integer" | "long":
            limit = 2 ** (_BITS[name] - 1)
            edge_values = (-1, -limit, limit - 1, *((2**53 + 1, -(2**53) - 1) if name == "long" else ()))
            return _with_edges(st.integers(0, 9), edges, st.sampled_from(edge_values), st.integers(-limit, limit - 1))
        case "double" | "float":
            return _floats(32 if name == "float" else 64, edges)
        case "boolean":
            return st.booleans()
        case "string":
            ordinary = st.text(string.ascii_lowercase, max_size=3)
            return _with_edges(ordinary, edges, st.sampled_from(_EDGE_TEXTS), st.text(_CHARACTERS, max_size=40))
        case "binary":
            odd_bytes = st.sampled_from((b"", b"\x00", b"\xff" * 33, b"\xc3", b"\x80\x7f"))
            return _with_edges(st.binary(max_size=3), edges, odd_bytes)
        case "date":
            edge_values = (-1, GREGORIAN_DAY, GREGORIAN_DAY - 1, GREGORIAN_DAY - 11, FIRST_DAY, LAST_DAY)
            return _with_edges(
                st.integers(0, 20_000), edges, st.sampled_from(edge_values), st.integers(FIRST_DAY, LAST_DAY)
            )
        case "timestamp" | "timestamp_ntz":
            return _timestamps(edges)
        case "variant":
            return st.sampled_from(_VARIANTS).map(lambda value: {"value": value, "metadata": _NO_NAMES})
    raise ValueError(f"no values are defined for the type {name}")


def _with_edges(
    ordinary: st.SearchStrategy[Any], edges: bool, *edge_strategies: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    return st.one_of(ordinary, *edge_strategies) if edges else ordinary


def _floats(width: int, edges: bool) -> st.SearchStrategy[float]:
    ordinary = st.integers(0, 20).map(lambda quarters: quarters / 4)
    tiny, huge = (5e-324, 1.7976931348623157e308) if width == 64 else (1.401298464324817e-45, 3.4028234663852886e38)
    third = struct.unpack("<f", struct.pack("<f", 3.4))[0] if width == 32 else 3.4
    edge_values = (-0.0, 0.0, third, math.nan, math.inf, -math.inf, tiny, -tiny, huge, -huge)
    every = st.floats(width=32) if width == 32 else st.floats(width=64)
    return _with_edges(ordinary, edges, st.sampled_from(edge_values), every)


def _decimals(precision: int, scale: int, edges: bool) -> st.SearchStrategy[Exact]:
    limit = 10**precision - 1
    unscaled = _with_edges(
        st.integers(0, min(limit, 999)), edges, st.sampled_from((-1, -limit, limit)), st.integers(-limit, limit)
    )
    return unscaled.map(lambda number: build_decimal(number, scale))


def build_decimal(unscaled: int, scale: int) -> Exact:
    """Build a decimal from its unscaled value, independent of the precision of Python's decimal context."""
    return Exact((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _timestamps(edges: bool) -> st.SearchStrategy[int]:
    ordinary = st.integers(0, 2_000_000).map(lambda seconds: 1_600_000_000_000_000 + seconds * 1_000_000)
    edge_values = (
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
    return _with_edges(ordinary, edges, st.sampled_from(edge_values), st.integers(FIRST_US, LAST_US))


@st.composite
def data_types(
    draw: st.DrawFn, *, names: Sequence[str] = PRIMITIVES, depth: int = 2, decimals: bool = True
) -> DataType:
    """Draw column types.

    Args:
        names: primitive types that may occur.
        depth: maximum nesting depth of structs, arrays and maps; 0 for none.
        decimals: whether decimals may occur.
    """
    shape = draw(st.sampled_from(("primitive",) * 4 + (("struct", "array", "map") if depth else ())))
    inner = data_types(names=names, depth=depth - 1, decimals=decimals)
    match shape:
        case "struct":
            kinds = draw(st.lists(inner, min_size=1, max_size=3))
            return Struct(tuple(Field(f"f{index}", kind, True) for index, kind in enumerate(kinds)))
        case "array":
            return Array(draw(inner), draw(st.booleans()))
        case "map":
            keys = [name for name in names if name in ("string", "integer", "date", "long")] or ["string"]
            return Map(Primitive(draw(st.sampled_from(keys))), draw(inner), draw(st.booleans()))
    ordinary = st.sampled_from(names).map(Primitive)
    return draw(ordinary | st.sampled_from(DECIMALS)) if decimals else draw(ordinary)
