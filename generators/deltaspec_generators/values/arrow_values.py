"""Arrow arrays of every Delta type, and their plain values:

| type | plain value |
|-|-|
| numbers, boolean, string, binary | int, float, `decimal.Decimal`, bool, str, bytes |
| date, timestamps | days and microseconds since the epoch, because Python has no year 0 and none after 9999 |
| struct, array, map | dict, list, list of pairs |
| variant | dict of its two binaries |
"""

from collections.abc import Sequence
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Map, Primitive, Struct
from deltaspec.protocol.time_units import DAY_US
from deltaspec.wire.data.arrow_types import ARROW_PRIMITIVES

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

_ARROW = ARROW_PRIMITIVES | {
    "void": pa.null(),
    "variant": pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)]),
}

FIRST_DAY, LAST_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31."""
GREGORIAN_DAY = -141427
"""1582-10-15, the first day of the Gregorian calendar; engines differ on earlier days."""
FIRST_US, LAST_US = FIRST_DAY * DAY_US, LAST_DAY * DAY_US + DAY_US - 1


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of a Delta type; nullability of fields, elements and map values is kept.

    Raises:
        ValueError: the type is from a proposal, for which no values are defined.
    """
    match data_type:
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
    raise ValueError(f"no values are defined for the type {data_type}")


def build_array(values: Sequence[Any], data_type: DataType) -> pa.Array:
    """Convert plain values to an Arrow array."""
    return pa.array(values, arrow_type(data_type))


def to_plain_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Convert an Arrow array to plain values; the inverse of `build_array`."""
    found: list[Any] = array.cast(_integer_type(array.type)).to_pylist()
    return found


def _integer_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with dates and timestamps replaced by integers, and nullable fields, at every depth.

    Void becomes an integer too, because pyarrow 26 casts lists of structs with a field of type null incorrectly.
    """
    if pa.types.is_null(kind):
        return pa.int8()
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
        return pa.struct([each.with_type(_integer_type(each.type)).with_nullable(True) for each in kind])
    return kind


def build_decimal(unscaled: int, scale: int) -> Exact:
    """Build a decimal from its unscaled value, independent of the precision of Python's decimal context."""
    return Exact((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
