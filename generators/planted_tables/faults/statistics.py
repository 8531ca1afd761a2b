"""Planted faults of statistics that are false or not allowed, visible at level `rows`.

Data files are valid; only the statistics of the last add are broken.
"""

import json
import math
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.protocol.files import z85
from deltaspec_generators.small_tables import build_table_with_data, build_table_with_stored_vectors
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action
from planted_tables.faults.registry import draw_one, planted_fault

_TIMESTAMP_US = 1_704_164_645_123_000
"""2024-01-02T03:04:05.123Z."""


def _build_table(kind: str, arrow: pa.DataType, *values: Any, features: tuple[str, ...] = ()) -> TableFiles:
    """Build a table of one column `c`; its last file has these values, the others are empty."""
    rows = pa.table({"c": pa.array(values, arrow)})
    empty = rows.slice(0, 0)
    needed = protocol_action(3, 7, list(features), list(features)) if features else None
    return build_table_with_data(fields=[("c", kind)], tables=(empty, empty, rows), protocol=needed)


def _replace_statistics(files: TableFiles, low: Any = None, high: Any = None, **more: Any) -> TableFiles:
    """Replace the statistics of the last add with these JSON bounds of `c`; `more` sets other fields."""
    body = get_action(files, 2, "add")
    records = json.loads(body["stats"])["numRecords"]
    bounds = {name: {"c": value} for name, value in (("minValues", low), ("maxValues", high)) if value is not None}
    body["stats"] = json.dumps({"numRecords": records, **bounds, **more})
    return files


def _build_long_table() -> TableFiles:
    return _build_table("long", pa.int64(), 3, None, 5, 9)


_BOUNDS_BY_TYPE: tuple[tuple[str, pa.DataType, Any, Any, Any], ...] = (
    ("long", pa.int64(), 2**53, 2**53 - 1, 2**53 + 1),
    ("byte", pa.int8(), 0, -1, 1),
    ("float", pa.float32(), 0.5, 0.25, 0.75),
    ("double", pa.float64(), 0.0, -5e-324, 5e-324),
    ("decimal(38,2)", pa.decimal128(38, 2), Exact("0.10"), "-0.01", "0.11"),
    ("string", pa.string(), "é", "b", "\U00010000"),
    ("date", pa.date32(), -141428, "1582-10-03", "1582-10-15"),
    ("timestamp", pa.timestamp("us", "UTC"), -1, "1969-12-31T23:59:59.998Z", "1970-01-01T00:00:00.001Z"),
    ("boolean", pa.bool_(), False, False, True),
)
"""Type, Arrow type, a value, and bounds below and above it; booleans have none below."""


@planted_fault("statistics.minimum-bounds-data", "rows")
def minimum_too_high(draw: st.DrawFn) -> TableFiles:
    kind, arrow, value, _, above = draw_one(draw, *_BOUNDS_BY_TYPE)
    return _replace_statistics(
        _build_table(kind, arrow, value, None), low=above, **draw_one(draw, {}, {"tightBounds": False})
    )


@planted_fault("statistics.maximum-bounds-data", "rows")
def maximum_too_low(draw: st.DrawFn) -> TableFiles:
    kind, arrow, value, below, _ = draw_one(draw, *_BOUNDS_BY_TYPE[:-1])
    return _replace_statistics(
        _build_table(kind, arrow, value, None), high=below, **draw_one(draw, {}, {"tightBounds": False})
    )


@planted_fault("statistics.maximum-bounds-data", "rows")
def maximum_of_hidden_plane_too_low(draw: st.DrawFn) -> TableFiles:
    """The tie-breaker is greater than the truncated character in UTF-16 order, but smaller in UTF-8 order."""
    files = _build_table("string", pa.string(), "x" * 32 + "\U0001f33c")
    return _replace_statistics(files, high="x" * 32 + draw_one(draw, "\x7f", "\ufffd"))


@planted_fault("statistics.tight-bounds", "rows")
def tight_bound_is_loose(draw: st.DrawFn) -> TableFiles:
    kind, arrow, value, below, above = draw_one(draw, *_BOUNDS_BY_TYPE[:-1])
    bound = draw_one(draw, {"low": below}, {"high": above})
    return _replace_statistics(_build_table(kind, arrow, value, value), **bound, tightBounds=True)


@planted_fault("statistics.tight-bounds", "rows")
def tight_bounds_of_deleted_rows(draw: st.DrawFn) -> TableFiles:
    """A vector deletes the first or the last row, but the bounds are still marked tight."""
    files = build_table_with_stored_vectors(((draw_one(draw, 0, 9),), (2,)))
    body = get_action(files, 3, "add")
    body["stats"] = json.dumps({**json.loads(body["stats"]), "tightBounds": True})
    return files


@planted_fault("statistics.tight-by-default", "rows")
def loose_bound_without_flag(draw: st.DrawFn) -> TableFiles:
    kind, arrow, value, below, above = draw_one(draw, *_BOUNDS_BY_TYPE[:-1])
    return _replace_statistics(
        _build_table(kind, arrow, value, value), **draw_one(draw, {"low": below}, {"high": above})
    )


@planted_fault("statistics.tight-null-count", "rows")
def null_count_wrong(draw: st.DrawFn) -> TableFiles:
    return _replace_statistics(
        _build_long_table(), 3, 9, nullCount={"c": draw_one(draw, 0, 2, 4)}, **draw_one(draw, {}, {"tightBounds": True})
    )


@planted_fault("statistics.tight-null-count", "rows")
def null_count_without_null_structs(draw: st.DrawFn) -> TableFiles:
    """The null count of a field ignores rows whose struct is null."""
    kind = pa.struct([("x", pa.int64())])
    rows = pa.table({"s": pa.array([None, {"x": None}, {"x": draw(st.integers(0, 9))}], kind)})
    empty = rows.slice(0, 0)
    nested = {
        "type": "struct",
        "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}],
    }
    files = build_table_with_data(fields=[("s", nested)], tables=(empty, empty, rows))
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = '{"numRecords":0}'
    get_action(files, 2, "add")["stats"] = '{"numRecords":3,"nullCount":{"s":{"x":1}}}'
    return files


@planted_fault("statistics.tight-by-default", "rows")
def null_count_wrong_beside_vector(draw: st.DrawFn) -> TableFiles:
    """Two of ten names are null, and the vector deletes neither."""
    files = build_table_with_stored_vectors()
    get_action(files, 3, "add")["stats"] = json.dumps(
        {"numRecords": 10, "nullCount": {"name": draw_one(draw, 0, 1, 3, 10)}}
    )
    return files


@planted_fault("statistics.wide-null-count", "rows")
def wide_null_count_of_none_or_all(draw: st.DrawFn) -> TableFiles:
    return _replace_statistics(_build_long_table(), 3, 9, nullCount={"c": draw_one(draw, 0, 4)}, tightBounds=False)


@planted_fault("statistics.mirrors-schema", "rows")
def entry_with_members(draw: st.DrawFn) -> TableFiles:
    chosen: TableFiles = draw_one(
        draw,
        _replace_statistics(_build_long_table(), {"x": 3}, 9),
        _replace_statistics(_build_long_table(), 3, [9]),
        _replace_statistics(_build_long_table(), 3, 9, nullCount={"c": {"x": 1}}),
    )
    return chosen


@planted_fault("statistics.mirrors-schema", "rows")
def bound_of_no_such_type(draw: st.DrawFn) -> TableFiles:
    text = _build_table("string", pa.string(), "a", "b")
    chosen: TableFiles = draw_one(
        draw,
        _replace_statistics(_build_long_table(), "x", 9),
        _replace_statistics(_build_long_table(), 3, 9.5),
        _replace_statistics(_build_long_table(), 3, True),
        _replace_statistics(text, 1, "b"),
        _replace_statistics(_build_table("decimal(3,1)", pa.decimal128(3, 1), Exact("1.5")), 1.5, 100.0),
        _replace_statistics(_build_table("decimal(3,1)", pa.decimal128(3, 1), Exact("1.5")), "-1e2", "1.5"),
    )
    return chosen


@planted_fault("statistics.bound-form", "rows")
def bound_oddly_spelled(draw: st.DrawFn) -> TableFiles:
    moments = _build_table("timestamp", pa.timestamp("us", "UTC"), _TIMESTAMP_US)
    local = _build_table("timestamp_ntz", pa.timestamp("us"), _TIMESTAMP_US, features=("timestampNtz",))
    chosen: TableFiles = draw_one(
        draw,
        _replace_statistics(_build_long_table(), "3", 9),
        _replace_statistics(_build_table("binary", pa.binary(), b"\x80"), "\u0080"),
        _replace_statistics(_build_table("date", pa.date32(), 0), "1 January 1970"),
        _replace_statistics(moments, "2024-01-02T03:04:05.123"),
        _replace_statistics(local, "2024-01-02T03:04:05.123Z", "2024-01-02T03:04:05.123Z"),
    )
    return chosen


@planted_fault("statistics.bounds-of-nan", "rows")
def bound_not_a_number(draw: st.DrawFn) -> TableFiles:
    kind, arrow = draw_one(draw, ("double", pa.float64()), ("float", pa.float32()))
    return _replace_statistics(_build_table(kind, arrow, 1.0, math.nan), 1.0, "NaN")


@planted_fault("statistics.bounds-of-nan", "rows")
def maximum_beside_nan(draw: st.DrawFn) -> TableFiles:
    return _replace_statistics(_build_table("double", pa.float64(), 1.0, math.nan, None), 1.0, draw_one(draw, 1.0, 2.0))


@planted_fault("statistics.string-prefix", "rows")
def string_maximum_without_tie_breaker(draw: st.DrawFn) -> TableFiles:
    longest = "x" * 32 + draw_one(draw, "y", "\uffff", "\U0010ffff")
    return _replace_statistics(_build_table("string", pa.string(), "a", longest), "a", "x" * 32)


@planted_fault("statistics.timestamp-milliseconds", "rows")
def timestamp_bound_with_microseconds(draw: st.DrawFn) -> TableFiles:
    files = _build_table("timestamp", pa.timestamp("us", "UTC"), _TIMESTAMP_US + 456)
    text = "2024-01-02T03:04:05.123456Z"
    return _replace_statistics(files, draw_one(draw, text, "2024-01-02T03:04:05.123Z"), text)


_NUMBER, _TEXT = b"\x0c\x05", b"\x0dabc"
_NO_NAMES = b"\x01\x00\x00"


def _encode_bound(path: str, value: bytes) -> str:
    """Encode a variant object with one field in Z85."""
    name = path.encode()
    data = bytes([1, 1, 0, len(name)]) + name + bytes([2, 1, 0, 0, len(value)]) + value
    return z85.encode(data + bytes(-len(data) % 4))


def _build_variant_table(shredding: bool = True) -> TableFiles:
    features = ("variantType", "variantShredding") if shredding else ("variantType",)
    kind = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
    return _build_table("variant", kind, {"metadata": _NO_NAMES, "value": _NUMBER}, features=features)


@planted_fault("statistics.variant-bounds-need-shredding", "rows")
def variant_bounds_too_early(draw: st.DrawFn) -> TableFiles:
    return _replace_statistics(
        _build_variant_table(shredding=False), **{draw_one(draw, "low", "high"): _encode_bound("$", _NUMBER)}
    )


@planted_fault("statistics.variant-bounds", "rows")
def variant_bound_of_odd_path(draw: st.DrawFn) -> TableFiles:
    bound = draw_one(
        draw, _encode_bound("a", _NUMBER), _encode_bound("$.a", _NUMBER), 5, z85.encode(_NO_NAMES + b"\x00")
    )
    return _replace_statistics(_build_variant_table(), bound)


@planted_fault("statistics.variant-leaves", "rows")
def variant_bound_of_an_object(draw: st.DrawFn) -> TableFiles:
    return _replace_statistics(
        _build_variant_table(), high=_encode_bound("$", draw_one(draw, b"\x02\x00\x00", b"\x03\x00\x00"))
    )


@planted_fault("statistics.variant-bound-encoding", "rows")
def variant_bound_with_value_first(draw: st.DrawFn) -> TableFiles:
    """Value before metadata, as in the protocol's example, or a length that is invalid in Z85."""
    reversed_parts = b"\x02\x01\x00\x00\x02" + _NUMBER + b"\x01\x01\x00\x01$"
    bound = draw_one(draw, z85.encode(reversed_parts), _encode_bound("$", _NUMBER)[:-1])
    return _replace_statistics(_build_variant_table(), bound)


@planted_fault("statistics.variant-types", "rows")
def variant_bounds_differ_in_type(draw: st.DrawFn) -> TableFiles:
    first, second = draw_one(draw, (_NUMBER, _TEXT), (_TEXT, _NUMBER))
    return _replace_statistics(_build_variant_table(), _encode_bound("$", first), _encode_bound("$", second))


@planted_fault("statistics.variant-paths-on-their-own", "rows")
def variant_bound_that_excludes_a_value(draw: st.DrawFn) -> TableFiles:
    """The minimum is above the value, the maximum below it, or a bound has another type."""
    low, high = draw_one(
        draw, (b"\x0c\x06", None), (None, b"\x0c\x04"), (b"\x10\x06\x00", b"\x0c\x09"), (_TEXT, None), (None, _TEXT)
    )
    bounds = [None if each is None else _encode_bound("$", each) for each in (low, high)]
    return _replace_statistics(_build_variant_table(), *bounds)


@planted_fault("statistics.variant-paths-on-their-own", "rows")
def tight_variant_bound_that_is_loose(draw: st.DrawFn) -> TableFiles:
    name, value = draw_one(draw, ("low", b"\x0c\x04"), ("high", b"\x10\x06\x00"), ("high", b"\x20\x01\x33\x00\x00\x00"))
    return _replace_statistics(_build_variant_table(), **{name: _encode_bound("$", value)}, tightBounds=True)
