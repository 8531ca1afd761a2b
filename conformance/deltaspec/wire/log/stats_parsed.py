"""Convert the typed columns of a checkpoint, `stats_parsed` and `partitionValues_parsed`, to JSON.

With statistics as JSON, every check of `stats` also holds for a checkpoint that has typed columns only. The stored
Arrow type decides the form of a value, not the type in the table. Source: Checkpoint Schema.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
import polars as pl
import pyarrow as pa

from deltaspec.protocol.files import ordering, z85
from deltaspec.protocol.schema.data_types import Primitive
from deltaspec.protocol.time_units import DAY_US
from deltaspec.wire import arrow_compute as pc
from deltaspec.wire.storage.interface import format_error

PARSED_STATISTICS, PARSED_PARTITION_VALUES = "stats_parsed", "partitionValues_parsed"
"""Members of an add action with typed copies."""

Path = tuple[str, ...]
_Names: TypeAlias = "dict[str, _Names] | None"
"""Names of columns to convert, with the names below each; None converts every column below."""

_DAYS = (-719_162, 2_932_896)
"""Years 1 to 9999, which need no sign."""
_MICROSECONDS = (_DAYS[0] * DAY_US, (_DAYS[1] + 1) * DAY_US - 1)
_MICROS_PER_UNIT = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}
_MAX_LONG = 2**63 - 1
_NEEDS_ESCAPE = r'[\x00-\x1f"\\]'
_VARIANT_MEMBERS = {"metadata", "value"}


class StoredForm(msgspec.Struct, frozen=True):
    """Facts about how a file stores columns that their Arrow types do not show."""

    int96_paths: frozenset[str] = frozenset()
    """Columns stored as INT96, joined by dots: they are instants although their Arrow type has no time zone."""
    first_unambiguous: Mapping[str, int] = msgspec.field(default_factory=dict)
    """As `legacy_calendar.find_first_unambiguous_values` returns it."""


class TypedColumns(msgspec.Struct, frozen=True):
    """Typed columns of some add actions, as stored."""

    statistics: pa.StructArray | None = None
    """`stats_parsed`; None if the file has no such struct."""
    partition_values: pa.StructArray | None = None
    """`partitionValues_parsed`; None if the file has no such struct."""
    form: StoredForm = StoredForm()
    unread: tuple[tuple[str, str], ...] = ()
    """Columns that cannot be decoded, each with the reason."""


def list_typed_columns(add: pa.DataType) -> list[str]:
    """Return the names of the typed columns in the Arrow type of the column `add`, repeated as they are there."""
    names = [member.name for member in add] if pa.types.is_struct(add) else []
    return [name for name in names if name in (PARSED_STATISTICS, PARSED_PARTITION_VALUES)]


def read_typed_columns(adds: pa.StructArray, form: StoredForm) -> TypedColumns | None:
    """Return the typed columns of add actions; None if there are none.

    Args:
        adds: the column `add`, without nulls.
        form: how the file stores the columns.
    """
    names = Counter(list_typed_columns(adds.type))
    if not names:
        return None
    unread = tuple((name, f"add.{name} exists {number} times") for name, number in names.items() if number > 1)
    statistics, values = (_struct_member(adds, name) for name in (PARSED_STATISTICS, PARSED_PARTITION_VALUES))
    return TypedColumns(statistics, values, form, unread)


def render_statistics(typed: TypedColumns, columns: Iterable[Path]) -> tuple[pl.Series, set[str]]:
    """Convert `stats_parsed` to JSON objects.

    Args:
        typed: typed columns with statistics.
        columns: physical paths of the columns to convert.

    Returns:
        JSON texts, null where the struct is null; and the reasons why values could not be converted.
    """
    reasons: set[str] = set()
    assert typed.statistics is not None
    renderer = _Renderer(typed.form, reasons)
    return renderer.render_statistics(typed.statistics, ("add", PARSED_STATISTICS), _build_names(columns)), reasons


def render_partition_values(typed: TypedColumns, columns: Iterable[str]) -> tuple[dict[str, pl.Series], set[str]]:
    """Convert `partitionValues_parsed` to JSON values.

    Args:
        typed: typed columns with partition values.
        columns: physical names of the columns to convert.

    Returns:
        JSON texts by physical name, null where a value is null; and the reasons why values could not be converted.
    """
    reasons: set[str] = set()
    assert typed.partition_values is not None
    renderer, path = _Renderer(typed.form, reasons, renders_binary=True), ("add", PARSED_PARTITION_VALUES)
    return dict(renderer.render_members(typed.partition_values, path, dict.fromkeys(columns))), reasons


def _build_names(columns: Iterable[Path]) -> _Names:
    """Return the columns as a tree."""
    names: dict[str, _Names] = {}
    for path in columns:
        here: _Names = names
        for step in path[:-1]:
            here = None if here is None else here.setdefault(step, {})
        if here is not None:
            here[path[-1]] = None
    return names


def _struct_member(array: pa.StructArray, name: str) -> pa.StructArray | None:
    if array.type.get_field_index(name) < 0:
        return None
    member = pc.struct_field(array, name)
    return member if pa.types.is_struct(member.type) else None


class _Renderer:
    """Converts arrays to JSON texts, and collects the reasons why values could not be converted."""

    def __init__(self, form: StoredForm, reasons: set[str], *, renders_binary: bool = False) -> None:
        """`renders_binary`: convert binary values to strings of one character per byte. Statistics have none."""
        self._form = form
        self._reasons = reasons
        self._renders_binary = renders_binary

    def render_statistics(self, statistics: pa.StructArray, path: Path, names: _Names) -> pl.Series:
        """Return statistics as JSON objects; null where the struct is null."""
        members = dict(self.render_members(statistics, path, dict.fromkeys(_STATISTICS, names)))
        texts = _join_members({name: members[name] for name in _STATISTICS if name in members}, len(statistics))
        return texts.set(~pc.to_series(pc.is_valid(statistics)), None)

    def render_members(self, array: pa.StructArray, path: Path, names: _Names) -> Iterable[tuple[str, pl.Series]]:
        """Yield each member of a struct by name; members with the same name cannot be distinguished."""
        for name, number in Counter(member.name for member in array.type).items():
            if names is not None and name not in names:
                continue
            if number > 1:
                self._reasons.add(f"{'.'.join((*path, name))} exists {number} times")
                continue
            below, here = None if names is None else names[name], (*path, name)
            try:
                texts = self._render(pc.struct_field(array, name), here, below)
            except (pa.ArrowException, pl.exceptions.PolarsError) as fault:
                self._reasons.add(f"{'.'.join(here)} cannot be converted: {format_error(fault)}")
                texts = _nulls(len(array))
            yield name, texts

    def _render(self, array: pa.Array, path: Path, names: _Names) -> pl.Series:
        """Return JSON values as text; null for null, for a struct without values, and for a statistic of another type.

        Another rule reports the type.
        """
        kind = array.type
        expected = _STATISTICS.get(path[2]) if path[1] == PARSED_STATISTICS else None
        if expected is not None and not pa.types.is_struct(kind) and not expected(kind):
            return _nulls(len(array))
        if pa.types.is_struct(kind):
            if _is_variant(kind):
                return self._render_variants(array, path)
            texts = _join_members(dict(self.render_members(array, path, names)), len(array))
            return texts.set(texts == "{}", None)
        if pa.types.is_dictionary(kind):
            array = array.dictionary_decode()
            kind = array.type
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
            return pc.to_series(pc.cast(array, pa.string()))
        if pa.types.is_floating(kind):
            return _render_floats(array)
        if pa.types.is_decimal(kind):
            return pc.to_series(pc.cast(array, pa.string()))
        if any(is_text(kind) for is_text in _TEXT_TYPES):
            return _quote(pc.to_series(array))
        if self._renders_binary and any(is_binary(kind) for is_binary in _BINARY_TYPES):
            values = [None if each is None else json.dumps(each.decode("latin-1")) for each in array.to_pylist()]
            return pl.Series(values, dtype=pl.String)
        if pa.types.is_date(kind):
            return self._render_dates(array, path)
        if pa.types.is_timestamp(kind):
            return self._render_timestamps(array, path)
        if array.null_count < len(array):
            self._reasons.add(f"{'.'.join(path)} has the type {kind}, whose values cannot be compared")
        return _nulls(len(array))

    def _render_dates(self, array: pa.Array, path: Path) -> pl.Series:
        days = pc.to_series(pc.cast(pc.cast(array, pa.date32()), pa.int32())).cast(pl.Int64)
        days = self._drop_ambiguous(days, "date", path)
        usual = days.set(~days.is_between(_DAYS[0], _DAYS[1]).fill_null(True), None)
        texts = usual.cast(pl.Int32).cast(pl.Date).dt.to_string("%Y-%m-%d")
        return '"' + _fill_unusual(texts, days, Primitive("date")) + '"'

    def _render_timestamps(self, array: pa.Array, path: Path) -> pl.Series:
        """Return timestamps with milliseconds, as engines write them, or with microseconds if they have some."""
        times, parts = _MICROS_PER_UNIT[array.type.unit]
        zoned = array.type.tz is not None or ".".join(path) in self._form.int96_paths
        stored = pc.to_series(pc.cast(array, pa.int64()))
        if times > 1 and (stored.abs() > _MAX_LONG // times).any():
            raise pa.ArrowInvalid("a timestamp is beyond 64 bits of microseconds")
        moments = self._drop_ambiguous(stored * times // parts, "timestamp" if zoned else "timestamp_ntz", path)
        usual = moments.set(~moments.is_between(_MICROSECONDS[0], _MICROSECONDS[1]).fill_null(True), None)
        times_of_day = usual.cast(pl.Datetime("us"))
        short, full = (times_of_day.dt.to_string(f"%Y-%m-%dT%H:%M:%S%.{digits}f") for digits in (3, 6))
        texts = short.zip_with((usual % 1000 == 0).fill_null(True), full)
        texts = _fill_unusual(texts, moments, Primitive("timestamp_ntz"))
        return '"' + texts + ('Z"' if zoned else '"')

    def _drop_ambiguous(self, values: pl.Series, kind: str, path: Path) -> pl.Series:
        """Set values to null that the file may store in another calendar."""
        first = self._form.first_unambiguous.get(kind)
        old = None if first is None else (values < first).fill_null(False)
        if old is None or not old.any():
            return values
        self._reasons.add(f"{'.'.join(path)} has old values, which its file may store in the Julian calendar")
        return values.set(old, None)

    def _render_variants(self, array: pa.StructArray, path: Path) -> pl.Series:
        if array.type.get_field_index("typed_value") >= 0:
            if array.null_count < len(array):
                self._reasons.add(f"{'.'.join(path)} has shredded variants, which cannot be compared")
            return _nulls(len(array))
        pairs = zip(*(pc.struct_field(array, name).to_pylist() for name in ("metadata", "value")), strict=True)
        return pl.Series([_render_variant(*pair) for pair in pairs], dtype=pl.String)


_TEXT_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BINARY_TYPES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
_STATISTICS: Mapping[str, Any] = {
    "numRecords": pa.types.is_integer,
    "minValues": None,
    "maxValues": None,
    "nullCount": pa.types.is_integer,
    "tightBounds": pa.types.is_boolean,
}
"""Statistics in the order in which engines write them, with the test of the Arrow type of their values; None for the
types of the table's columns."""


def _is_variant(kind: pa.StructType) -> bool:
    """Return whether a struct has the form of a variant column; bounds of binary columns have another."""
    members = {member.name: member.type for member in kind}
    return members.keys() - {"typed_value"} == _VARIANT_MEMBERS and all(
        any(is_binary(members[name]) for is_binary in _BINARY_TYPES) for name in _VARIANT_MEMBERS
    )


def _render_variant(metadata: bytes | None, value: bytes | None) -> str | None:
    """Return a variant as the text of statistics in JSON: metadata and value in Z85, padded to its groups."""
    if metadata is None or value is None:
        return None
    content = metadata + value
    return json.dumps(z85.encode(content + bytes(-len(content) % 4)))


def _render_floats(array: pa.Array) -> pl.Series:
    if pa.types.is_float16(array.type):
        array = pc.cast(array, pa.float32())
    numbers = pc.to_series(array)
    texts = numbers.cast(pl.String)
    if not numbers.is_finite().fill_null(True).all():
        words = pl.Series(['"NaN"', '"Infinity"', '"-Infinity"'], dtype=pl.String)
        for word, matches in zip(
            words, (numbers.is_nan(), numbers == float("inf"), numbers == float("-inf")), strict=True
        ):
            texts = texts.set(matches.fill_null(False), word)
    return texts


def _quote(texts: pl.Series) -> pl.Series:
    quoted = '"' + texts + '"'
    escaped = texts.str.contains(_NEEDS_ESCAPE).fill_null(False).arg_true()
    if len(escaped):
        values = [json.dumps(text, ensure_ascii=False) for text in texts.gather(escaped)]
        quoted = quoted.scatter(escaped, pl.Series(values, dtype=pl.String))
    return quoted


def _fill_unusual(texts: pl.Series, values: pl.Series, data_type: Primitive) -> pl.Series:
    """Fill the values outside of the years 1 to 9999."""
    unusual = (texts.is_null() & values.is_not_null()).arg_true()
    if not len(unusual):
        return texts
    return texts.scatter(
        unusual,
        pl.Series([ordering.format_lexeme(value, data_type) for value in values.gather(unusual)], dtype=pl.String),
    )


def _join_members(members: Mapping[str, pl.Series], length: int) -> pl.Series:
    """Return JSON objects of the members that are not null."""
    if not members:
        return pl.Series(["{}"], dtype=pl.String).new_from_index(0, length)
    entries = [
        (json.dumps(name, ensure_ascii=False) + ":" + values).alias(str(number))
        for number, (name, values) in enumerate(members.items())
    ]
    joined = pl.DataFrame(entries).select(pl.concat_str(pl.all(), separator=",", ignore_nulls=True)).to_series()
    return "{" + joined + "}"


def _nulls(length: int) -> pl.Series:
    return pl.Series([None], dtype=pl.String).new_from_index(0, length)
