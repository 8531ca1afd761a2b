"""Compute bounds and null counts of one column, batch by batch.

Bounds are Python values of any size. Timestamps and dates are numbers, because Python's types have a smaller range.
"""

from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.protocol.schema.data_types import (
    INTEGER_BITS,
    Array,
    DataType,
    Decimal,
    Map,
    Primitive,
    Struct,
    UndefinedType,
)
from deltaspec.protocol.time_units import DAY_MS
from deltaspec.wire.data.column_resolution import FileColumn, is_bytes, is_text
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec.wire.parquet.dictionary_columns import select_distinct_values

_TIMESTAMPS = ("timestamp", "timestamp_ntz")
_NULLS_ONLY = ("variant", "void")
_MICROSECONDS = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}


def type_limits(data_type: DataType) -> tuple[Any, Any] | None:
    """Return the smallest and largest value of a type; None if the stored type ensures them."""
    match data_type:
        case Primitive(name) if name in INTEGER_BITS:
            beyond = 2 ** (INTEGER_BITS[name] - 1)
            return -beyond, beyond - 1
        case Decimal(precision, scale):
            greatest = Exact((0, (9,) * precision, -scale))
            return greatest.copy_negate(), greatest
    return None


def compute_bounds(array: pa.Array) -> tuple[Any, Any] | None:
    """Return the smallest and largest value of an array without NaN; None if it has no values.

    Values are as in `LeafValues`, but strings are bytes.
    """
    if array.null_count == len(array):
        return None
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        array = array.view(pa.binary() if pa.types.is_string(kind) else pa.large_binary())
    elif is_text(kind) or pa.types.is_binary_view(kind):
        array = array.cast(pa.binary())
    elif pa.types.is_float16(kind):
        array = array.cast(pa.float32())
    elif pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
    found = pc.min_max(array)
    low, high = to_python_value(found["min"]), to_python_value(found["max"])
    # if all values are NaN, both ends are, or infinity is the smallest with PyArrow 22
    return (low, high) if low <= high else None


def to_python_value(scalar: pa.Scalar) -> Any:
    """Return a Python value; dates as days, timestamps as microseconds since the epoch, null as None."""
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if pa.types.is_timestamp(kind):
        times, parts = _MICROSECONDS[kind.unit]
        return scalar.value * times // parts
    if pa.types.is_date64(kind):
        return scalar.value // DAY_MS
    if pa.types.is_date32(kind):
        return scalar.value
    return scalar.as_py()


def find_delta_type(kind: pa.DataType) -> DataType | None:
    """Return the Delta type of a stored type; None if there is none, or it is nested."""
    if pa.types.is_signed_integer(kind):
        return Primitive({8: "byte", 16: "short", 32: "integer", 64: "long"}[kind.bit_width])
    if pa.types.is_decimal(kind):
        return Decimal(kind.precision, kind.scale)
    named = {
        "float": pa.types.is_float32(kind),
        "double": pa.types.is_float64(kind),
        "boolean": pa.types.is_boolean(kind),
        "date": pa.types.is_date(kind),
        "timestamp": pa.types.is_timestamp(kind),
        "string": is_text(kind),
        "binary": is_bytes(kind),
    }
    return next((Primitive(name) for name, fits in named.items() if fits), None)


def find_conversion(data_type: DataType, file_type: pa.DataType) -> tuple[str | None, DataType | None]:
    """Determine how stored values convert to the table's type.

    Returns:
        Why they do not convert, or None; and the Delta type of the stored values if it differs from the table's.
    """
    stored = find_delta_type(file_type)
    match data_type, stored:
        case (Struct() | Array() | Map() | UndefinedType(), _) | (Primitive("variant" | "void"), _):
            return None, None
        case Primitive(name), Primitive(other) if name in INTEGER_BITS and other in INTEGER_BITS:
            return None, None
        case Primitive(name), Primitive("timestamp") if name in _TIMESTAMPS:
            return None, None
        case Primitive("string" | "binary"), Primitive("string" | "binary"):
            return None, None
        case Primitive("double"), Primitive(other) if other in INTEGER_BITS or other == "float":
            return None, stored
        case Primitive("timestamp_ntz"), Primitive("date"):
            return None, stored
        case Decimal(), Primitive(other) if other in INTEGER_BITS:
            return None, stored
        case Decimal(), Decimal():
            return None, None if stored == data_type else stored
    return (None if stored == data_type else f"the file stores {file_type}"), None


class LeafAggregate:
    """Bounds and nulls of one leaf of a data file so far. See `LeafValues`."""

    def __init__(self, column: FileColumn, unread: str | None = None) -> None:
        """`unread`: why its values are unknown, if that is known in advance."""
        self.column = column
        self.unread = unread
        self._nulls = 0
        self._valid_nulls = 0
        self._bounds: tuple[Any, Any] | None = None
        self._has_nan = False
        self._type: DataType | None = None
        self._nulls_only = _has_no_bounds(column.kind)
        if column.file_type is not None:
            self.unread, self._type = find_conversion(column.kind, column.file_type)

    def take(
        self, array: pa.Array, keep: pa.BooleanArray | None, distinct: pa.Array | None = None
    ) -> tuple[Any, Any] | None:
        """Add a batch, in which rows with a null parent are null; return its bounds.

        Args:
            array: every row of the batch.
            keep: whether each row is not deleted; None if none is.
            distinct: `select_distinct_values` of `array`, where it is known.
        """
        valid = array if keep is None else array.filter(keep)
        self._nulls += array.null_count
        self._valid_nulls += valid.null_count
        if self._nulls_only or self.unread is not None:
            return None
        if pa.types.is_floating(array.type) and pc.any(pc.is_nan(valid)).as_py():
            self._has_nan = True
        found = compute_bounds(select_distinct_values(valid) if distinct is None or keep is not None else distinct)
        if found is not None:
            before = self._bounds or found
            self._bounds = min(before[0], found[0]), max(before[1], found[1])
        return found

    def values(self, rows: int, valid_rows: int) -> LeafValues:
        """Return the result for a file with `rows` rows."""
        path = self.column.path
        if self.unread is not None:
            return LeafValues(path, rows, valid_rows, unread=self.unread)
        if self.column.place is None:
            return LeafValues(path, rows, valid_rows, nulls=rows, valid_nulls=valid_rows)
        try:
            low, high = map(self._convert_bound, self._bounds or (None, None))
        except UnicodeDecodeError:  # a separate check reports it
            return LeafValues(path, rows, valid_rows, unread="the file stores a string that is not UTF-8")
        return LeafValues(path, rows, valid_rows, self._nulls, self._valid_nulls, low, high, self._has_nan, self._type)

    def _convert_bound(self, value: Any) -> Any:
        """Return str for strings and bytes for binary, for any stored type."""
        if isinstance(value, bytes) and self.column.kind == Primitive("string"):
            return value.decode()
        return value


def _has_no_bounds(data_type: DataType) -> bool:
    return isinstance(data_type, (Struct, Array, Map, UndefinedType)) or data_type in [
        Primitive(name) for name in _NULLS_ONLY
    ]
