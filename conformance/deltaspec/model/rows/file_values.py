"""Possible values of a column in a file, derived from the file's action.

Partition values are exact. Statistics state whether there are nulls, and the bounds of the other values. Tight and wide
bounds are used alike. Of null counts, only zero and the number of rows are used, because they mean the same in both
cases.

Each interpretation allows more values rather than fewer:

- The maximum of a string may be truncated (E50), so every string that starts with it is possible.
- The maximum of a timestamp in whole milliseconds may be truncated (E50).
- Bounds do not cover NaN, which some engines exclude. Bounds that are NaN are ignored (S12).
- Bounds in forms that the protocol does not define are ignored (S12): binary, variants, timestamps without zone, and
  undefined types.
- A partition value of a timestamp without zone is in the writer's zone; if that is unknown, any zone is possible.
- Malformed or contradictory statistics are ignored.

Source: Per-file Statistics, Partition Value Serialization; identical in all revisions.
"""

import math
import struct
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.actions import Add
from deltaspec.protocol.files import partition_values
from deltaspec.protocol.files.bounds import compute_upper_limit, read_bound
from deltaspec.protocol.files.statistics import (
    LeafColumn,
    Statistics,
    StatisticsError,
    get_entry,
    parse_integer,
    parse_statistics,
)
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import DataType, Decimal, Field, Primitive, Struct, get_type_name
from deltaspec.protocol.schema.schema_string import SchemaError, read_type_changes

Column: TypeAlias = tuple[str, ...]
"""Logical names from the top level down through structs."""

_FRACTIONS = (Primitive("float"), Primitive("double"))
_WIDEST_ZONE = timedelta(hours=18)
"""Largest offset of a time zone from UTC."""
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time


class NoSuchColumn(ValueError):
    """A column that the table does not have."""


class Values(msgspec.Struct, frozen=True):
    """Possible values of a column in the visible rows of a file; errs on the side of allowing more."""

    may_be_null: bool = True
    may_have_value: bool = True
    """Whether a value other than null and NaN is possible."""
    may_be_nan: bool = False
    lowest: Any = None
    """Lower bound of such values; None if unknown."""
    highest: Any = None
    """Upper bound of such values; None if unknown."""
    highest_is_truncated: bool = False
    """Whether strings that start with `highest` are possible too."""

    def may_be_below(self, literal: Any) -> bool:
        """Return whether a value below the literal is possible."""
        return self.may_have_value and (self.lowest is None or bool(self.lowest < literal))

    def may_be_above(self, literal: Any) -> bool:
        """Return whether a value above the literal is possible."""
        if not self.may_have_value:
            return False
        return self.highest is None or bool(self.highest > literal) or self._may_extend_highest(literal)

    def may_equal(self, literal: Any) -> bool:
        """Return whether the literal itself is possible."""
        if not self.may_have_value or (self.lowest is not None and self.lowest > literal):
            return False
        return self.highest is None or bool(self.highest >= literal) or self._may_extend_highest(literal)

    def _may_extend_highest(self, literal: Any) -> bool:
        return self.highest_is_truncated and bool(literal.startswith(self.highest))


NULLS = Values(may_have_value=False)
ANYTHING = Values()


class FileValues(msgspec.Struct, frozen=True, dict=True):
    """A file's action together with the table's schema."""

    add: Add
    schema: Struct
    """Schema of the table."""
    partition_columns: frozenset[str]
    """Logical names."""
    mapping: str | None
    """Column mapping mode."""
    writer_zone: tzinfo | None
    """Zone of partition values without zone; None means any zone."""

    def has_no_rows(self) -> bool:
        """Return whether the file is empty, or its deletion vector removes all rows."""
        records = self.statistics.num_records
        deleted = 0 if self.add.deletion_vector is None else self.add.deletion_vector.cardinality
        return records is not None and 0 <= records <= deleted

    @cached_property
    def statistics(self) -> Statistics:
        """Parsed statistics; empty if missing or unreadable."""
        try:
            return Statistics() if self.add.stats is None else parse_statistics(self.add.stats)
        except StatisticsError:
            return Statistics()

    def fields(self, column: Column) -> list[Field]:
        """Return the fields on the path to a column, the column last. Raises `NoSuchColumn`."""
        found: list[Field] = []
        here: DataType = self.schema
        for name in column:
            members = {each.name: each for each in here.fields} if isinstance(here, Struct) else {}
            if name not in members:
                raise NoSuchColumn(f"the table has no column {'.'.join(column)}")
            found.append(members[name])
            here = members[name].type
        if not found:
            raise NoSuchColumn("the column path is empty")
        return found

    def values(self, column: Column) -> Values:
        """Return the possible values of a column."""
        path = self.fields(column)
        if column[0] in self.partition_columns and len(column) == 1:
            return self._partition_values(path[0])
        kind = path[-1].type
        if kind == Primitive("void"):
            return NULLS
        unknown = replace(ANYTHING, may_be_nan=kind in _FRACTIONS)
        if isinstance(kind, Struct):
            return unknown  # null counts are of leaves
        leaf = LeafColumn(tuple(physical_name(each, self.mapping) for each in path), column, kind)
        return _apply_bounds(_apply_null_count(unknown, self.statistics, leaf), self.statistics, leaf, path[-1])

    def _partition_values(self, field: Field) -> Values:
        """Return exactly the partition value, or the range of instants that it may mean."""
        name, kind = physical_name(field, self.mapping), field.type
        unknown = replace(ANYTHING, may_be_nan=kind in _FRACTIONS)
        if name not in self.add.partition_values:
            return unknown
        text = self.add.partition_values[name]
        if text is None or text == "":
            return NULLS
        if not isinstance(kind, Primitive | Decimal) or kind == Primitive("variant"):
            return replace(unknown, may_be_null=False)
        try:
            value = partition_values.parse_partition_value(text, kind)
        except partition_values.PartitionValueError:
            return unknown
        if isinstance(value, float) and math.isnan(value):
            return Values(may_be_null=False, may_have_value=False, may_be_nan=True)
        lowest = highest = value
        if kind == Primitive("double"):
            lowest, highest = _include_float_rounding(value, value, field)
        if get_type_name(kind) in ("timestamp", "timestamp_ntz"):
            lowest, highest = self._instants(value, text, zoned=kind == Primitive("timestamp"))
        if kind == Primitive("binary") and not text.isascii():
            lowest = highest = None  # the protocol does not say whether such characters are bytes or UTF-8
        return Values(may_be_null=False, lowest=lowest, highest=highest)

    def _instants(self, value: int, text: str, *, zoned: bool) -> tuple[int | None, int | None]:
        """Return the first and last instant that a partition value may mean."""
        if not zoned:  # a value with a zone is not valid for timestamp_ntz
            return (None, None) if partition_values.has_zone(text) else (value, value)
        if partition_values.has_zone(text):
            return value, value
        offsets = [-_WIDEST_ZONE, _WIDEST_ZONE] if self.writer_zone is None else _offsets(value, self.writer_zone)
        instants = [value - offset // _MICROSECOND for offset in offsets]
        return min(instants), max(instants)


def _offsets(local: int, zone: tzinfo) -> list[timedelta]:
    """Return the possible UTC offsets of a zone at a local time; a clock change can make it ambiguous."""
    try:
        time = _EPOCH + local * _MICROSECOND
        found = [time.replace(fold=fold, tzinfo=zone).utcoffset() for fold in (0, 1)]
    except (OverflowError, ValueError):
        found = [None]
    return [each for each in found if each is not None] if None not in found else [-_WIDEST_ZONE, _WIDEST_ZONE]


def _apply_null_count(values: Values, statistics: Statistics, leaf: LeafColumn) -> Values:
    """Exclude what the null count rules out. Zero and all rows mean the same with tight and wide bounds."""
    try:
        count = parse_integer(get_entry(statistics.null_count, leaf))
    except StatisticsError:
        return values
    if count == 0:
        return replace(values, may_be_null=False)
    if count is not None and count > 0 and count == statistics.num_records:
        return NULLS
    return values


def _apply_bounds(values: Values, statistics: Statistics, leaf: LeafColumn, field: Field) -> Values:
    """Exclude what the bounds rule out; they are ignored if all rows are null."""
    if not values.may_have_value:
        return values
    lowest, highest = (_bound(side, leaf) for side in (statistics.min_values, statistics.max_values))
    is_text = leaf.type == Primitive("string")
    if highest is not None:
        highest = compute_upper_limit(highest, leaf.type)
    if leaf.type == Primitive("double"):
        lowest, highest = _include_float_rounding(lowest, highest, field)
    found = replace(values, lowest=lowest, highest=highest, highest_is_truncated=is_text and bool(highest))
    if lowest is not None and highest is not None and not found.may_equal(lowest):
        return values
    return found


def _bound(side: dict[str, Any] | None, leaf: LeafColumn) -> Any:
    """Return a bound with a defined meaning, or None."""
    if not isinstance(leaf.type, Primitive | Decimal) or leaf.type == Primitive("variant"):
        return None
    try:
        text = get_entry(side, leaf)
    except StatisticsError:
        return None
    if text is None:
        return None
    bound = read_bound(text, leaf.type)
    return None if bound.fault or bound.warning or bound.is_nan else bound.value


def _include_float_rounding(
    lowest: float | None, highest: float | None, field: Field
) -> tuple[float | None, float | None]:
    """Widen bounds of a double to the float that an older file may mean by the same digits."""
    if not _was_float(field):
        return lowest, highest
    return (
        None if lowest is None else min(lowest, _single(lowest)),
        None if highest is None else max(highest, _single(highest)),
    )


def _was_float(field: Field) -> bool:
    """Return whether older files may store the column as float, with bounds spelled with float precision."""
    try:
        return any(change.before == Primitive("float") for change in read_type_changes(field))
    except SchemaError:
        return True


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return value
