"""Compute true statistics of rows in the formats that engines use.

They are computed from plain Python values with Python's comparison, which orders strings like their UTF-8 bytes. No
code is shared with the checks of statistics.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal as Exact
from typing import Any, Literal, TypeAlias

import msgspec
import pyarrow as pa

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Map, Primitive, Struct
from deltaspec_generators.choices import Choices
from deltaspec_generators.values.arrow_values import to_plain_values

_ASCII_END, _UNICODE_END = "\x7f", "\U0010ffff"
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EAST = timezone(timedelta(hours=1))
_NESTED_OR_OPAQUE = (Array, Map)
_UNORDERED = ("binary", "variant", "void")
"""Primitive types without interoperable bounds in JSON."""

Node: TypeAlias = "dict[str, Node] | str"
"""Statistics of a column: JSON text, or nodes by field name."""


class StatisticsStyle(msgspec.Struct, frozen=True):
    """Format options of statistics; the defaults are Delta Spark's."""

    content: Literal["none", "rows", "all"] = "all"
    """No statistics; only `numRecords`; also bounds and null counts."""
    bounds: bool = True
    """Whether to write minima and maxima."""
    null_counts: bool = True
    tightness: Literal["unsaid", "tight", "wide"] = "unsaid"
    """Value of `tightBounds`. Wide bounds cover all rows of the file, including deleted rows."""
    slack: bool = False
    """Whether wide bounds of longs are off by one and wide null counts are inexact."""
    first_columns: int | None = None
    """Number of leading leaf columns with statistics; None for all."""
    string_length: int | None = 32
    """Maximum characters of a string bound; None for no limit. A truncated maximum ends with a greater character."""
    times: Literal["milliseconds", "microseconds", "spaced", "zoned"] = "milliseconds"
    """Milliseconds; microseconds; a space instead of `T` without time zone; an offset of one hour."""
    nan: Literal["absent", "ignored", "text"] = "absent"
    """Bounds of a column with NaN: absent; without NaN; with NaN as the largest value."""
    infinity: Literal["text", "null", "absent"] = "text"
    singles: Literal["short", "double"] = "short"
    """Floats with the shortest unique digits, or with the digits of the equal double."""
    decimals: Literal["plain", "java", "short"] = "plain"
    """All digits; as in Java, with an exponent for small values (`0E-18`); or without zeros at the end."""
    booleans: bool = False
    """Whether to write bounds of booleans."""
    all_null: Literal["absent", "null"] = "absent"
    """Bounds of a column with only nulls."""

    def for_deleted(self) -> StatisticsStyle:
        """Return the style for a file with a deletion vector, which requires a row count."""
        return self if self.content != "none" else StatisticsStyle(content="rows")


def draw_statistics_style(
    choices: Choices, *, counted: bool = False, bounded: bool = False, exact: bool = False, non_conforming: bool = False
) -> StatisticsStyle:
    """Draw a style of statistics.

    Args:
        choices: source of choices.
        counted: whether `numRecords` is required.
        bounded: whether bounds and null counts of all columns are required.
        exact: whether bounds of floats need all digits of a double, because the type may be widened to it.
        non_conforming: whether to include styles that engines use although the protocol forbids them: bounds of
            columns with NaN, timestamps with all their digits.
    """
    contents: tuple[Any, ...] = ("rows", "all", "all", "all", *(() if counted else ("none",)))
    content: Any = "all" if bounded else choices.pick(contents)
    if content != "all":
        return StatisticsStyle(content=content)

    def one_of(*options: Any) -> Any:
        return choices.pick(options)

    tightness = one_of("unsaid", "tight", "wide")
    return StatisticsStyle(
        bounds=bounded or one_of(True, True, True, False),
        null_counts=bounded or one_of(True, True, True, False),
        tightness=tightness,
        slack=tightness == "wide" and one_of(False, True),
        first_columns=None if bounded else one_of(None, None, 1, 2),
        string_length=one_of(32, 5, None),
        times=one_of("milliseconds", "spaced", "zoned", *(("microseconds",) if non_conforming else ())),
        nan=one_of("absent", *(("ignored", "text") if non_conforming else ())),
        infinity=one_of("text", "null", "absent"),
        singles=one_of(*(() if exact else ("short",)), "double"),
        decimals=one_of("plain", "java"),
        booleans=one_of(False, True),
        all_null=one_of("absent", "null"),
    )


def compute_statistics(
    table: pa.Table,
    schema: Struct,
    deleted: Collection[int] = (),
    style: StatisticsStyle | None = None,
) -> str | None:
    """Compute the field `stats` of a file action; None for the style without statistics.

    Args:
        table: rows of the data file, including deleted rows; missing columns are null.
        schema: physical schema, without partition columns.
        deleted: row indexes that the deletion vector removes.
        style: format options; None for Delta Spark's.
    """
    style = style or StatisticsStyle()
    if style.content == "none":
        return None
    columns = {}
    if style.content == "all":
        counted = [index for index in range(table.num_rows) if style.tightness == "wide" or index not in deleted]
        for each in schema.fields:
            stored = each.name in table.column_names
            values = to_plain_values(table[each.name]) if stored else [None] * table.num_rows
            columns[each.name] = [values[index] for index in counted]
    return _build_statistics(table.num_rows, schema, columns, style)


def compute_row_statistics(
    rows: Sequence[Mapping[str, Any]], count: int, schema: Struct, style: StatisticsStyle
) -> str | None:
    """Compute the field `stats` of a file of `count` rows that is not written: the last of `rows` is repeated."""
    if style.content == "none":
        return None
    columns = {each.name: [row[each.name] for row in rows] for each in schema.fields} if style.content == "all" else {}
    return _build_statistics(count, schema, columns, style, repeated=count - len(rows))


def _build_statistics(
    count: int, schema: Struct, columns: Mapping[str, list[Any]], style: StatisticsStyle, *, repeated: int = 0
) -> str:
    """Build statistics of columns, whose last value occurs `repeated` more times."""
    found: dict[str, Node] = {"numRecords": str(count)}
    if style.content == "all":
        budget = iter(range(10**6 if style.first_columns is None else style.first_columns))
        low: dict[str, Node] = {}
        high: dict[str, Node] = {}
        nulls: dict[str, Node] = {}
        for each in schema.fields:
            parts = _compute_column(each.type, columns[each.name], style, budget, repeated)
            for target, part in zip((low, high, nulls), parts, strict=True):
                if part is not None:
                    target[each.name] = part
        found |= {"minValues": low, "maxValues": high} if style.bounds else {}
        found |= {"nullCount": nulls} if style.null_counts else {}
        found |= {} if style.tightness == "unsaid" else {"tightBounds": str(style.tightness != "wide").lower()}
    return _encode_node(found)


def _encode_node(node: Node) -> str:
    if isinstance(node, str):
        return node
    return "{" + ",".join(f"{_quote(name)}:{_encode_node(each)}" for name, each in node.items()) + "}"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _compute_column(
    data_type: DataType, values: Sequence[Any], style: StatisticsStyle, budget: Iterator[int], repeated: int
) -> tuple[Node | None, Node | None, Node | None]:
    """Compute minimum, maximum and null count of a column; None for absent statistics."""
    if isinstance(data_type, Struct):
        parts: tuple[dict[str, Node], ...] = ({}, {}, {})
        for each in data_type.fields:
            inner = [None if value is None else value[each.name] for value in values]
            for target, part in zip(parts, _compute_column(each.type, inner, style, budget, repeated), strict=True):
                if part is not None:
                    target[each.name] = part
        return parts[0], parts[1], parts[2]
    if next(budget, None) is None:
        return None, None, None
    present = [value for value in values if value is not None]
    more_nulls = repeated if values and values[-1] is None else 0
    nulls = str(_compute_null_count(len(values) + repeated, len(values) - len(present) + more_nulls, style))
    if isinstance(data_type, _NESTED_OR_OPAQUE) or _has_no_bounds(data_type, style):
        return None, None, nulls
    if not present:
        nothing = "null" if style.all_null == "null" else None
        return nothing, nothing, nulls
    return *_compute_bounds(data_type, present, style), nulls


def _has_no_bounds(data_type: DataType, style: StatisticsStyle) -> bool:
    match data_type:
        case Primitive("boolean"):
            return not style.booleans
        case Primitive(name):
            return name in _UNORDERED
    return False


def _compute_null_count(rows: int, nulls: int, style: StatisticsStyle) -> int:
    """Return the null count; with slack, another count that wide statistics allow."""
    if style.slack and 0 < nulls < rows and rows > 2:
        return nulls - 1 if nulls > 1 else nulls + 1
    return nulls


def _compute_bounds(
    data_type: DataType, values: Sequence[Any], style: StatisticsStyle
) -> tuple[str | None, str | None]:
    match data_type:
        case Primitive("float" | "double" as name):
            return _compute_float_bounds(name, values, style)
        case Primitive("string"):
            return _quote(_truncate(min(values), style)), _truncate_maximum(max(values), style)
        case Primitive("boolean"):
            return str(min(values)).lower(), str(max(values)).lower()
    format_value = _choose_format(data_type, style)
    low, high = min(values), max(values)
    if style.slack and data_type == Primitive("long"):
        low, high = max(low - 1, -(2**63)), min(high + 1, 2**63 - 1)
    return format_value(low), format_value(high)


def _choose_format(data_type: DataType, style: StatisticsStyle) -> Callable[[Any], str]:
    match data_type:
        case Decimal():
            formats: dict[str, Callable[[Any], str]] = {
                "plain": _format_decimal,
                "java": str,
                "short": lambda value: shorten_decimal(_format_decimal(value)),
            }
            return formats[style.decimals]
        case Primitive("date"):
            return lambda days: _quote(date.fromordinal(days + _EPOCH_DAY).isoformat())
        case Primitive("timestamp"):
            return lambda microseconds: _quote(_format_timestamp(microseconds, style))
        case Primitive("timestamp_ntz"):
            return lambda microseconds: _quote(_format_local_timestamp(microseconds, style))
    return str


def _format_decimal(value: Exact) -> str:
    return format(value, "f")


def shorten_decimal(text: str) -> str:
    """Return a number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _compute_float_bounds(name: str, values: Sequence[float], style: StatisticsStyle) -> tuple[str | None, str | None]:
    numbers = [value for value in values if not math.isnan(value)]
    has_nan = len(numbers) < len(values)
    if has_nan and (style.nan == "absent" or (style.nan == "ignored" and not numbers)):
        return None, None
    if has_nan and style.nan == "text":
        return _format_float(min(numbers, default=math.nan), name, style), '"NaN"'
    return _format_float(min(numbers), name, style), _format_float(max(numbers), name, style)


def _format_float(value: float, name: str, style: StatisticsStyle) -> str | None:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        text = '"Infinity"' if value > 0 else '"-Infinity"'
        return {"text": text, "null": "null", "absent": None}[style.infinity]
    return _format_single(value) if name == "float" and style.singles == "short" else repr(value)


def _format_single(value: float) -> str:
    """Format a float with the fewest digits that read back as the same 32-bit number."""
    for digits in range(1, 10):
        shorter = float(f"{value:.{digits}g}")
        try:
            if struct.pack("<f", shorter) == struct.pack("<f", value):
                return repr(shorter)
        except OverflowError:  # rounded up beyond the largest float
            continue
    return repr(value)


def _truncate(text: str, style: StatisticsStyle) -> str:
    return text[: style.string_length]


def _truncate_maximum(text: str, style: StatisticsStyle) -> str | None:
    """Truncate a string maximum to a string that is not smaller; None if there is none.

    The last character must be greater than the first character cut off, so the cut moves right past U+10FFFF.
    """
    length = style.string_length
    if length is None or len(text) <= length:
        return _quote(text)
    for at in range(length, min(len(text), 2 * length)):
        for end in (_ASCII_END, _UNICODE_END):
            if text[at] < end:
                return _quote(text[:at] + end)
    return None


def _format_timestamp(microseconds: int, style: StatisticsStyle) -> str:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    parts: Any = "microseconds" if style.times == "microseconds" else "milliseconds"
    if style.times == "zoned" and moment.year < 9999:
        return moment.astimezone(_EAST).isoformat(timespec=parts)
    return moment.replace(tzinfo=None).isoformat(timespec=parts) + "Z"


def _format_local_timestamp(microseconds: int, style: StatisticsStyle) -> str:
    moment = (_EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=None)
    parts: Any = "microseconds" if style.times == "microseconds" else "milliseconds"
    return moment.isoformat(" " if style.times == "spaced" else "T", parts)
