"""Strategies for values: column types, serialized partition values, bounds, file paths.

Every strategy shrinks to its simplest value.
"""

import string
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.model.log import paths
from deltaspec.model.revisions import Revision

TYPES = (
    "long",
    "string",
    "integer",
    "short",
    "byte",
    "double",
    "float",
    "decimal(10,2)",
    "decimal(38,18)",
    "boolean",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
)
"""Primitive types to draw; `timestamp_ntz` needs its feature."""

NESTED: dict[str, Any] = {
    "array": {"type": "array", "elementType": "string", "containsNull": True},
    "map": {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
    "array of short": {"type": "array", "elementType": "short", "containsNull": True},
    "array of long": {"type": "array", "elementType": "long", "containsNull": True},
    "map of short": {"type": "map", "keyType": "short", "valueType": "string", "valueContainsNull": True},
    "map of long": {"type": "map", "keyType": "long", "valueType": "string", "valueContainsNull": True},
}
"""Nested types to draw besides `struct`, as in schemas."""

NARROW = (
    "float",
    "date",
    "short",
    "float",
    "date",
    "byte",
    "integer",
    "decimal(10,2)",
    "array of short",
    "map of short",
)
"""Types that can be widened; `float` and `date` twice, because they have only one wider type."""

NEVER_PARTITIONED = ("struct", *NESTED, "variant", "void")
WITHOUT_BOUNDS = ("boolean", "binary", *NESTED, "variant")
"""Types without minimum and maximum in statistics."""

_ARROW = {
    "long": pa.int64(),
    "string": pa.string(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of a primitive type."""
    return pa.decimal128(*parse_decimal_type(kind)) if kind.startswith("decimal") else _ARROW[kind]


def parse_decimal_type(kind: str) -> tuple[int, int]:
    """Parse precision and scale of a decimal type."""
    precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


_BITS = {"long": 64, "integer": 32, "short": 16, "byte": 8}
_ODD = " %+#é漢=&'{}\\\"^:?😀"
_EXACT = Context(prec=38)
"""Decimal context without rounding at 28 digits, the default of Python."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - values of timestamp_ntz have no zone


@cache
def scalars(kind: str) -> st.SearchStrategy[Any]:
    """Draw Python values of a type: int, str, finite float, Decimal, bool, bytes, date, naive datetime."""
    if kind.startswith("decimal"):
        precision, scale = parse_decimal_type(kind)
        unscaled = st.integers(-(10**precision) + 1, 10**precision - 1)
        return unscaled.map(lambda value: Decimal(value).scaleb(-scale, _EXACT))
    match kind:
        case "long" | "integer" | "short" | "byte":
            bits = _BITS[kind]
            return st.integers(0, 9) | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        case "double" | "float":
            return st.floats(allow_nan=False, allow_infinity=False, width=64 if kind == "double" else 32)
        case "boolean":
            return st.booleans()
        case "binary":
            return st.binary(max_size=4)
        case "date":
            return st.dates(date(1, 1, 2), date(9999, 12, 30))
        case "timestamp" | "timestamp_ntz":
            start = -30_000_000 if kind == "timestamp" else 0
            seconds = st.integers(start, 10**9)
            return st.builds(
                lambda second, micro: _EPOCH + timedelta(seconds=second, microseconds=micro),
                seconds,
                st.sampled_from((0, 1000, 123456)),
            )
    return st.text(st.sampled_from(string.ascii_lowercase + _ODD), max_size=6)


@cache
def serialized_values(kind: str, revision: Revision = Revision.CURRENT) -> st.SearchStrategy[str | None]:
    """Draw serialized partition values of a type, including null and the empty string for SQL NULL.

    Timestamps are ISO 8601 in UTC in the current revision, which recommends it, and without a zone before.
    """
    return st.one_of(_serialized_values(kind, revision), st.sampled_from((None, "")))


def _serialized_values(kind: str, revision: Revision) -> st.SearchStrategy[str]:
    match kind:
        case "double" | "float":
            return st.one_of(
                st.sampled_from(("0.0", "1.5", "-0.0", "1.0E10", "NaN", "Infinity", "-Infinity")),
                scalars(kind).map(repr),
            )
        case "boolean":
            return st.sampled_from(("false", "true"))
        case "binary":
            return st.text(st.sampled_from("ab\x01\x7f"), min_size=1, max_size=4)
        case "date":
            return scalars(kind).map(date.isoformat)
        case "timestamp":
            return scalars(kind).map(_format_iso_8601 if revision is Revision.CURRENT else _format_spaced)
        case "timestamp_ntz":
            return scalars(kind).map(_format_spaced)
    return scalars(kind).map(_format_plain).filter(bool)


def _format_plain(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _format_spaced(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S}" + (f".{value.microsecond:06d}" if value.microsecond else "")


def _format_iso_8601(value: datetime) -> str:
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"


@cache
def bounds(kind: str) -> st.SearchStrategy[tuple[Any, Any]]:
    """Draw a minimum and a maximum; timestamps in whole milliseconds, as in statistics."""
    one = scalars(kind)
    if kind.startswith("timestamp"):
        one = one.map(lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000))
    return st.tuples(one, one).map(lambda pair: (min(pair), max(pair)))


def encode_bound(value: Any, kind: str) -> Any:
    """Encode a bound as a JSON value of statistics."""
    match kind:
        case "date":
            return value.isoformat()
        case "timestamp" | "timestamp_ntz":
            zone = "Z" if kind == "timestamp" else ""
            return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}{zone}"
    return value


_ODD_TEXTS = st.text(st.sampled_from(string.ascii_letters + _ODD), min_size=1, max_size=5)
_PATH_STYLES = st.sampled_from(("plain", "odd", "folder", "s3", "file"))


def draw_data_file_path(draw: st.DrawFn, prefix: str, number: int) -> str:
    """Draw the path of a data file as in the log, unique by its number: plain, unusual, in a directory, absolute."""
    plain = f"{prefix}-{number:05d}.parquet"
    match draw(_PATH_STYLES):
        case "odd":
            return paths.encode(f"x{draw(_ODD_TEXTS)}y-{plain}")
        case "folder":
            return paths.encode(f"a={draw(_ODD_TEXTS)}/{plain}")
        case "s3":
            return f"s3://other/table/{plain}"
        case "file":
            return f"file:///other/table/{plain}"
    return plain
