"""Statistics of a data file: record count, null counts, bounds. Source: Per-file Statistics.

Interpretations: only the name `nullCount` is valid (E09). Bounds stay as written, because the protocol does not define
the spelling of dates, decimals or NaN (S12). Entries of unknown columns are ignored (S13).
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from deltaspec.protocol.actions import Add, Remove, WireStruct
from deltaspec.protocol.json_values import JsonError, Number, parse_lossless, prune_deep_values
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Array, DataType, Map, Primitive, Struct


class StatisticsError(ValueError):
    """Statistics that do not have the documented form."""


class Statistics(WireStruct, frozen=True):
    """Statistics of the rows in a file; bounds and counts mirror the schema, by physical names."""

    num_records: int | None = None
    """Rows in the data file, including those that a deletion vector removes."""
    tight_bounds: bool | None = None
    """None counts as true. [Changed in current] Earlier revisions do not define None."""
    min_values: dict[str, Any] | None = None
    """JSON values as in `json_values`: numbers as written."""
    max_values: dict[str, Any] | None = None
    null_count: dict[str, Any] | None = None

    @property
    def has_tight_bounds(self) -> bool:
        """Whether bounds and null counts are exact for the rows that the deletion vector keeps."""
        return self.tight_bounds is not False


def parse_statistics(text: str) -> Statistics:
    """Parse the field `stats` of a file action; unknown keys, and values nested too deeply, are ignored.

    Raises:
        StatisticsError: The input is not JSON, or a known key has a value of the wrong type.
    """
    try:
        document = parse_lossless(prune_deep_values(text)).value
    except JsonError as fault:
        raise StatisticsError(str(fault)) from fault
    if not isinstance(document, dict):
        raise StatisticsError("statistics must be an object")
    return Statistics(
        num_records=_long(document.get("numRecords")),
        tight_bounds=_typed(document, "tightBounds", bool),
        min_values=_typed(document, "minValues", dict),
        max_values=_typed(document, "maxValues", dict),
        null_count=_typed(document, "nullCount", dict),
    )


def count_records(file: Add | Remove) -> int | None:
    """Return the number of records that the statistics of a file state; None if they do not, or are malformed."""
    try:
        return None if file.stats is None else parse_statistics(file.stats).num_records
    except StatisticsError:
        return None


def _long(value: Any) -> int | None:
    if value is None:
        return None
    number = parse_integer(value)
    if number is None or not -(2**63) <= number < 2**63:
        raise StatisticsError("numRecords is not a 64-bit integer")
    return number


def _typed(document: dict[str, Any], key: str, kind: Any) -> Any:
    value = document.get(key)
    if value is not None and not isinstance(value, kind):
        raise StatisticsError(f"{key} has the wrong type")
    return value


def parse_integer(value: Any) -> int | None:
    """Return a JSON integer as int, or None."""
    return int(value) if isinstance(value, Number) and value.is_integer and len(value) <= 20 else None


def iter_entries(values: dict[str, Any] | None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every entry that is not an object with its path; null entries count as missing."""
    for name, value in (values or {}).items():
        if isinstance(value, dict):
            yield from iter_entries(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def find_null_count_faults(statistics: Statistics) -> list[str]:
    """Describe impossible null counts: values that are not counts, or counts above the number of records.

    With wide bounds, a count that is neither 0 nor the number of records carries no information.
    """
    found: list[str] = []
    if not statistics.has_tight_bounds:
        return found
    for path, value in iter_entries(statistics.null_count):
        column = ".".join(path)
        count = parse_integer(value)
        if count is None or count < 0:
            found.append(f"nullCount of {column} is not a count")
        elif statistics.num_records is not None and count > statistics.num_records:
            found.append(f"nullCount of {column} is {count} of {statistics.num_records} records")
    return found


def proves_null(count: int, num_records: int | None, deleted_rows: int, *, has_tight_bounds: bool) -> bool:
    """Return whether a null count proves that a column is null in a row that the deletion vector keeps.

    A tight count may include deleted rows. With wide bounds, only the count of all records shows nulls. An impossible
    count proves nothing.
    """
    if num_records is not None and (count > num_records or num_records <= deleted_rows):
        return False
    return count > deleted_rows if has_tight_bounds else count == num_records


def find_null_columns(statistics: Statistics, deleted_rows: int) -> list[tuple[str, ...]]:
    """Return the physical paths of the columns that are null in a row, as far as null counts prove it.

    Args:
        statistics: Of a file.
        deleted_rows: Cardinality of its deletion vector.
    """
    counts = ((path, parse_integer(value)) for path, value in iter_entries(statistics.null_count))
    return [
        path
        for path, count in counts
        if count is not None
        and proves_null(count, statistics.num_records, deleted_rows, has_tight_bounds=statistics.has_tight_bounds)
    ]


class LeafColumn(msgspec.Struct, frozen=True):
    """A column with statistics: not a struct. Arrays, maps and variants count as one column each."""

    path: tuple[str, ...]
    """Physical names, as in statistics."""
    name: tuple[str, ...]
    """Logical names."""
    type: DataType


def list_leaf_columns(schema: Struct, mapping: str | None, partition_columns: list[str]) -> list[LeafColumn]:
    """Return the columns for which statistics may have entries, in the order of the schema.

    Partition columns and void columns are excluded (S13).

    Args:
        schema: Schema of the table.
        mapping: Mode from `column_mapping.get_mapping_mode`.
        partition_columns: Logical names.
    """
    kept = Struct(tuple(field for field in schema.fields if field.name not in partition_columns))
    return list(_leaves(kept, mapping, (), ()))


def _leaves(
    data_type: Struct, mapping: str | None, path: tuple[str, ...], name: tuple[str, ...]
) -> Iterator[LeafColumn]:
    for field in data_type.fields:
        here, called = (*path, physical_name(field, mapping)), (*name, field.name)
        if isinstance(field.type, Struct):
            yield from _leaves(field.type, mapping, here, called)
        elif field.type != Primitive("void"):
            yield LeafColumn(here, called, field.type)


def get_entry(values: dict[str, Any] | None, column: LeafColumn) -> Any:
    """Return the entry of `minValues`, `maxValues` or `nullCount` for a column, or None.

    Entries below arrays and maps are ignored, because the protocol does not define them.

    Raises:
        StatisticsError: The entry does not mirror the schema: not an object for a struct, or an object for another
            type.
    """
    here: Any = values
    for depth, step in enumerate(column.path):
        if here is None:
            return None
        if not isinstance(here, dict):
            raise StatisticsError(f"{'.'.join(column.path[:depth])} is a struct, but its entry is not an object")
        here = here.get(step)
    if isinstance(here, dict | list):
        if isinstance(column.type, Array | Map) or not here:
            return None
        raise StatisticsError(f"{'.'.join(column.path)} is not a struct, but its entry has members")
    return here
