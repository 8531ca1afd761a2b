"""What a column may hold in a file, as far as the file's action tells. Source: Per-file Statistics, Partition Value
Serialization; all revisions say the same.

Partition values say it exactly. Statistics say whether there are nulls, and between which bounds the rest is. Tight and
wide bounds serve alike, and so do null counts: one of no row and one of all rows mean the same in both, and any other
decides nothing.

Readings, each of them the one that allows more values:

- A maximum of a string may be the cut of a longer one (E50), so that whatever begins with it may be there.
- A maximum of a timestamp in whole milliseconds may have been cut down (E50).
- Bounds say nothing of NaN, which some engines leave out of them, and have none where they are NaN themselves (S12).
- Bounds in forms that the text does not settle decide nothing (S12): all of binary and of variants, timestamps without
  zone, and those of types that the text does not define.
- A partition value of a timestamp without zone is in the zone of the system that wrote it; where nobody tells which,
  it may be any.
- What is no sound statistics, or says the opposite of itself, decides nothing.
"""

import math
import struct
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from typing import Any, TypeAlias

from deltaspec.model.actions import Add
from deltaspec.model.rows.bounds import compute_upper_limit, read_bound
from deltaspec.model.rows.statistics import (
    LeafColumn,
    Statistics,
    StatisticsError,
    get_entry,
    parse_integer,
    parse_statistics,
)
from deltaspec.model.schema import partition_values
from deltaspec.model.schema.column_mapping import physical_name
from deltaspec.model.schema.data_types import DataType, Decimal, Field, Primitive, Struct, get_type_name
from deltaspec.model.schema.schema_string import SchemaError, read_type_changes

Column: TypeAlias = tuple[str, ...]
"""Logical names from the top level down through structs."""

_FRACTIONS = (Primitive("float"), Primitive("double"))
_WIDEST_ZONE = timedelta(hours=18)
"""No time zone is further from UTC."""
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time


class NoSuchColumn(ValueError):
    """A column that the table lacks."""


@dataclass(frozen=True)
class Values:
    """What the valid rows of a file may hold in a column; each claim errs on the side of too much."""

    may_be_null: bool = True
    may_have_value: bool = True
    """Whether it may hold a value that is neither null nor NaN, whatever its type."""
    may_be_nan: bool = False
    lowest: Any = None
    """No such value is below; None: there is no telling."""
    highest: Any = None
    """No such value is above, None: there is no telling."""
    highest_is_truncated: bool = False
    """Strings that begin with `highest` may be there as well."""

    def may_be_below(self, literal: Any) -> bool:
        """Whether a value below the literal may be there."""
        return self.may_have_value and (self.lowest is None or bool(self.lowest < literal))

    def may_be_above(self, literal: Any) -> bool:
        """Whether a value above the literal may be there."""
        if not self.may_have_value:
            return False
        return self.highest is None or bool(self.highest > literal) or self._may_go_on_from_highest(literal)

    def may_equal(self, literal: Any) -> bool:
        """Whether the literal itself may be there."""
        if not self.may_have_value or (self.lowest is not None and self.lowest > literal):
            return False
        return self.highest is None or bool(self.highest >= literal) or self._may_go_on_from_highest(literal)

    def _may_go_on_from_highest(self, literal: Any) -> bool:
        return self.highest_is_truncated and bool(literal.startswith(self.highest))


NULLS = Values(may_have_value=False)
ANYTHING = Values()


@dataclass(frozen=True)
class FileValues:
    """A file's action beside the schema that says what it is about."""

    add: Add
    schema: Struct
    """Of the table."""
    partition_columns: frozenset[str]
    """Logical names."""
    mapping: str | None
    """Column mapping in force."""
    writer_zone: tzinfo | None
    """Of partition values without zone; None: any."""

    def has_no_rows(self) -> bool:
        """Whether the file is empty, or its deletion vector takes all of its rows."""
        records = self.statistics.num_records
        gone = 0 if self.add.deletion_vector is None else self.add.deletion_vector.cardinality
        return records is not None and 0 <= records <= gone

    @cached_property
    def statistics(self) -> Statistics:
        """Empty where there are none, or none that can be read."""
        try:
            return Statistics() if self.add.stats is None else parse_statistics(self.add.stats)
        except StatisticsError:
            return Statistics()

    def fields(self, column: Column) -> list[Field]:
        """The fields on the way to a column, itself last. Raises `NoSuchColumn`."""
        found: list[Field] = []
        here: DataType = self.schema
        for name in column:
            members = {each.name: each for each in here.fields} if isinstance(here, Struct) else {}
            if name not in members:
                raise NoSuchColumn(f"the table has no column {'.'.join(column)}")
            found.append(members[name])
            here = members[name].type
        if not found:
            raise NoSuchColumn("a column has a name")
        return found

    def values(self, column: Column) -> Values:
        """What the file may hold in a column."""
        path = self.fields(column)
        if column[0] in self.partition_columns and len(column) == 1:
            return self._of_partition(path[0])
        kind = path[-1].type
        if kind == Primitive("void"):
            return NULLS
        unknown = replace(ANYTHING, may_be_nan=kind in _FRACTIONS)
        if isinstance(kind, Struct):
            return unknown  # null counts are of leaves
        leaf = LeafColumn(tuple(physical_name(each, self.mapping) for each in path), column, kind)
        return _bounded(_counted(unknown, self.statistics, leaf), self.statistics, leaf, path[-1])

    def _of_partition(self, field: Field) -> Values:
        """Exactly the value that the action names, or the moments that it may mean."""
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
            lowest, highest = _also_as_float(value, value, field)
        if get_type_name(kind) in ("timestamp", "timestamp_ntz"):
            lowest, highest = self._moments(value, text, zoned=kind == Primitive("timestamp"))
        if kind == Primitive("binary") and not text.isascii():
            lowest = highest = None  # whether such characters are bytes, or bytes their UTF-8, the text leaves open
        return Values(may_be_null=False, lowest=lowest, highest=highest)

    def _moments(self, value: int, text: str, *, zoned: bool) -> tuple[int | None, int | None]:
        """The first and the last moment that a partition value may mean."""
        if not zoned:  # a time with zone is no value of a timestamp without
            return (None, None) if partition_values.has_zone(text) else (value, value)
        if partition_values.has_zone(text):
            return value, value
        offsets = [-_WIDEST_ZONE, _WIDEST_ZONE] if self.writer_zone is None else _offsets(value, self.writer_zone)
        moments = [value - offset // _MICROSECOND for offset in offsets]
        return min(moments), max(moments)


def _offsets(local: int, zone: tzinfo) -> list[timedelta]:
    """What a zone may be ahead of UTC at a local time; twice a year there are two answers."""
    try:
        time = _EPOCH + local * _MICROSECOND
        found = [time.replace(fold=fold, tzinfo=zone).utcoffset() for fold in (0, 1)]
    except (OverflowError, ValueError):
        found = [None]
    return [each for each in found if each is not None] if None not in found else [-_WIDEST_ZONE, _WIDEST_ZONE]


def _counted(values: Values, statistics: Statistics, leaf: LeafColumn) -> Values:
    """With what the null count excludes: tight or wide, a count of none and one of all rows mean the same."""
    try:
        count = parse_integer(get_entry(statistics.null_count, leaf))
    except StatisticsError:
        return values
    if count == 0:
        return replace(values, may_be_null=False)
    if count is not None and count > 0 and count == statistics.num_records:
        return NULLS
    return values


def _bounded(values: Values, statistics: Statistics, leaf: LeafColumn, field: Field) -> Values:
    """With what the bounds exclude; where all rows are null they say nothing."""
    if not values.may_have_value:
        return values
    lowest, highest = (_bound(side, leaf) for side in (statistics.min_values, statistics.max_values))
    is_text = leaf.type == Primitive("string")
    if highest is not None:
        highest = compute_upper_limit(highest, leaf.type)
    if leaf.type == Primitive("double"):
        lowest, highest = _also_as_float(lowest, highest, field)
    found = replace(values, lowest=lowest, highest=highest, highest_is_truncated=is_text and bool(highest))
    if lowest is not None and highest is not None and not found.may_equal(lowest):
        return values
    return found


def _bound(side: dict[str, Any] | None, leaf: LeafColumn) -> Any:
    """A bound that the text settles the meaning of; None where there is none."""
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


def _also_as_float(lowest: float | None, highest: float | None, field: Field) -> tuple[float | None, float | None]:
    """Bounds of a double as they are, and as the float that an older file may mean by the same digits."""
    if not _was_float(field):
        return lowest, highest
    return (
        None if lowest is None else min(lowest, _single(lowest)),
        None if highest is None else max(highest, _single(highest)),
    )


def _was_float(field: Field) -> bool:
    """Whether older files may hold the column as float: their log spells no more digits than a float has."""
    try:
        return any(change.before == Primitive("float") for change in read_type_changes(field))
    except SchemaError:
        return True


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return value
