"""Statistics of a data file: record count, null counts, bounds. Source: Per-file Statistics.

Readings: only `nullCount` is its name (E09); bounds stay as written, since the text says nothing of how dates,
decimals or NaN are spelled (S12); entries of columns that the schema lacks are passed over (S13).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deltaspec.model.actions import WireStruct
from deltaspec.model.json_values import JsonError, Number, parse_lossless
from deltaspec.model.schema.column_mapping import physical_name
from deltaspec.model.schema.data_types import Array, DataType, Map, Primitive, Struct

MISSPELT_NULL_COUNT = "nullCounts"
"""E09: what examples of earlier texts call `nullCount`."""


class StatisticsError(ValueError):
    """A statistics text that is not of the documented form."""


class Statistics(WireStruct, frozen=True):
    """What a file action says of the rows in its file; bounds and counts mirror the schema, by physical names."""

    num_records: int | None = None
    """Rows in the data file, those that a deletion vector removes included."""
    tight_bounds: bool | None = None
    """None counts as true. [Changed in current] earlier texts say nothing of None."""
    min_values: dict[str, Any] | None = None
    """JSON values as in `json_values`: numbers as they are written."""
    max_values: dict[str, Any] | None = None
    null_count: dict[str, Any] | None = None

    @property
    def has_tight_bounds(self) -> bool:
        """Whether bounds and null counts are exact for the rows that the deletion vector leaves."""
        return self.tight_bounds is not False


def parse_statistics(text: str) -> Statistics:
    """The statistics that the field `stats` of a file action holds; unknown keys are passed over.

    Raises:
        StatisticsError: it is not JSON (or nested too deeply), or a known key has a value of the wrong type.
    """
    try:
        document = parse_lossless(text).value
    except JsonError as fault:
        raise StatisticsError(str(fault)) from fault
    if not isinstance(document, dict):
        raise StatisticsError("statistics are an object")
    return Statistics(
        num_records=_long(document.get("numRecords")),
        tight_bounds=_typed(document, "tightBounds", bool),
        min_values=_typed(document, "minValues", dict),
        max_values=_typed(document, "maxValues", dict),
        null_count=_typed(document, "nullCount", dict),
    )


def has_nonstandard_null_count(text: str) -> bool:
    """Whether statistics have the key `nullCounts`, which no reader looks at."""
    try:
        document = parse_lossless(text).value
    except JsonError:
        return False
    return isinstance(document, dict) and MISSPELT_NULL_COUNT in document


def _long(value: Any) -> int | None:
    if value is None:
        return None
    number = parse_integer(value)
    if number is None or not -(2**63) <= number < 2**63:
        raise StatisticsError("numRecords is no integer of 64 bits")
    return number


def _typed(document: dict[str, Any], key: str, kind: Any) -> Any:
    value = document.get(key)
    if value is not None and not isinstance(value, kind):
        raise StatisticsError(f"{key} has the wrong type")
    return value


def parse_integer(value: Any) -> int | None:
    """The integer that a JSON value is; None if it is none."""
    return int(value) if isinstance(value, Number) and value.is_integer and len(value) <= 20 else None


def iter_entries(values: dict[str, Any] | None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every entry that is no object, with its path; an entry that is null says as much as no entry."""
    for name, value in (values or {}).items():
        if isinstance(value, dict):
            yield from iter_entries(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def find_null_count_faults(statistics: Statistics) -> list[str]:
    """Null counts that no data file can have, in words: not a count, or more nulls than records.

    Holds for tight and wide bounds alike: nulls are counted among the rows of the data file.
    """
    found = []
    for path, value in iter_entries(statistics.null_count):
        place = ".".join(path)
        count = parse_integer(value)
        if count is None or count < 0:
            found.append(f"nullCount of {place} is no count")
        elif statistics.num_records is not None and count > statistics.num_records:
            found.append(f"nullCount of {place} is {count} of {statistics.num_records} records")
    return found


def is_all_null(statistics: Statistics, path: tuple[str, ...]) -> bool:
    """Whether the null count says that every valid row of a column is null.

    Says so for wide bounds too, where any count but this and zero carries no information.
    """
    count = dict(iter_entries(statistics.null_count)).get(path)
    return count is not None and statistics.num_records is not None and parse_integer(count) == statistics.num_records


@dataclass(frozen=True)
class LeafColumn:
    """A column that statistics speak of: what is no struct. An array, a map and a variant are one each."""

    path: tuple[str, ...]
    """Physical names, as statistics have them."""
    name: tuple[str, ...]
    """Logical names."""
    type: DataType


def list_leaf_columns(schema: Struct, mapping: str | None, partition_columns: list[str]) -> list[LeafColumn]:
    """The columns that the statistics of a table's files may have entries for, in the order of the schema.

    Neither partition columns, whose values no file has to hold, nor columns of type void, which hold none (S13).

    Args:
        schema: of the table.
        mapping: column mapping in force, as `column_mapping.mode` gives it.
        partition_columns: logical names.
    """
    kept = Struct(tuple(field for field in schema.fields if field.name not in partition_columns))
    return list(_leaves(kept, mapping, (), ()))


def _leaves(kind: Struct, mapping: str | None, path: tuple[str, ...], name: tuple[str, ...]) -> Iterator[LeafColumn]:
    for field in kind.fields:
        here, called = (*path, physical_name(field, mapping)), (*name, field.name)
        if isinstance(field.type, Struct):
            yield from _leaves(field.type, mapping, here, called)
        elif field.type != Primitive("void"):
            yield LeafColumn(here, called, field.type)


def get_entry(values: dict[str, Any] | None, column: LeafColumn) -> Any:
    """What `minValues`, `maxValues` or `nullCount` has for a column; None if nothing.

    Below arrays and maps, the text gives entries no form; they are passed over.

    Raises:
        StatisticsError: it does not mirror the schema: no object where the column is in a struct, or an object where
            the column is no struct.
    """
    here: Any = values
    for depth, step in enumerate(column.path):
        if here is None:
            return None
        if not isinstance(here, dict):
            raise StatisticsError(f"{'.'.join(column.path[:depth])} is a struct, its entry is none")
        here = here.get(step)
    if isinstance(here, dict | list):
        if isinstance(column.type, Array | Map) or not here:
            return None
        raise StatisticsError(f"{'.'.join(column.path)} is no struct, its entry has members")
    return here
