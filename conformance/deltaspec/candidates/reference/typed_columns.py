"""Typed columns of a checkpoint, `stats_parsed` and `partitionValues_parsed`. Source: Checkpoint Schema.

A value that cannot have the type of its column is left out: readers then take it for unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.log_reader import LoadedTable
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features.table_properties import is_property_true, writes_json_statistics
from deltaspec.protocol.files.bounds import read_bound
from deltaspec.protocol.files.partition_values import PartitionValueError, parse_partition_value
from deltaspec.protocol.files.statistics import Statistics, StatisticsError, parse_integer, parse_statistics
from deltaspec.protocol.property_names import STATS_AS_STRUCT
from deltaspec.protocol.schema.column_mapping import get_partition_types, physical_name
from deltaspec.protocol.schema.data_types import DataType, Decimal, Field, Primitive, Struct
from deltaspec.wire.data.arrow_types import ARROW_PRIMITIVES

_MIN_WRITER_VERSION = 3
"""The first writer version that must follow the properties."""
_MAX_LONG = 2**63 - 1
_Leaf = Callable[[Any, DataType], Any]


class StatisticsForm(msgspec.Struct, frozen=True):
    """How the add actions of a checkpoint have statistics and partition values."""

    as_json: bool = True
    """Whether they have the text `stats`."""
    types: Mapping[str, pa.DataType] = {}
    """Types of the typed columns by name; empty if there are none."""
    columns: tuple[Field, ...] = ()
    """Data columns of the table with physical names."""
    partition_types: Mapping[str, DataType] = {}
    """Types of the partition columns by physical name."""

    def complete(self, add: Add, encoded: dict[str, Any]) -> dict[str, Any]:
        """Return an encoded add action with its typed columns, and without JSON statistics if there are to be none."""
        found = {name: value for name, value in encoded.items() if self.as_json or name != "stats"}
        if "stats_parsed" in self.types:
            found["stats_parsed"] = self._build_statistics(add)
        if "partitionValues_parsed" in self.types:
            values = {name: add.partition_values.get(name) for name in self.partition_types}
            found["partitionValues_parsed"] = {
                name: _parse_partition_value(text, self.partition_types[name]) for name, text in values.items()
            }
        return found

    def _build_statistics(self, add: Add) -> dict[str, Any] | None:
        try:
            stated = None if add.stats is None else parse_statistics(add.stats)
        except StatisticsError:
            return None
        return None if stated is None else self._convert(stated)

    def _convert(self, stated: Statistics) -> dict[str, Any]:
        return {
            "numRecords": stated.num_records,
            "tightBounds": stated.tight_bounds,
            "minValues": _convert(stated.min_values, self.columns, _parse_bound),
            "maxValues": _convert(stated.max_values, self.columns, _parse_bound),
            "nullCount": _convert(stated.null_count, self.columns, _parse_count),
        }


JSON_ONLY = StatisticsForm()


def choose_form(state: LoadedTable) -> StatisticsForm:
    """Return the form that the properties of a table ask for, from writer version 3 on. Source: Checkpoint Schema.

    Raises:
        ValueError: a column has a type without an Arrow type.
    """
    configuration = state.metadata.configuration
    if state.protocol.min_writer_version < _MIN_WRITER_VERSION:
        return JSON_ONLY
    as_json = writes_json_statistics(configuration)
    if not is_property_true(configuration, STATS_AS_STRUCT):
        return StatisticsForm(as_json)
    partition_types = get_partition_types(state.schema, state.partition_columns, state.mapping)
    columns = tuple(
        _rename(each, state.mapping) for each in state.schema.fields if each.name not in state.partition_columns
    )
    bounds, counts = _build_type(columns, _get_bound_type), _build_type(columns, lambda _: pa.int64())
    members = [("numRecords", pa.int64()), ("tightBounds", pa.bool_())]
    members += [("minValues", bounds), ("maxValues", bounds)] if bounds.num_fields else []
    members += [("nullCount", counts)] if counts.num_fields else []
    types: dict[str, pa.DataType] = {"stats_parsed": pa.struct(members)}
    if partition_types:
        types["partitionValues_parsed"] = pa.struct(
            [(name, _require_arrow_type(kind)) for name, kind in partition_types.items()]
        )
    return StatisticsForm(as_json, types, columns, partition_types)


def list_statistics_columns(state: LoadedTable) -> list[tuple[str, ...]]:
    """Return the physical paths of the columns that statistics may have."""
    return list(_iter_leaves(tuple(_rename(each, state.mapping) for each in state.schema.fields), ()))


def _iter_leaves(columns: tuple[Field, ...], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for each in columns:
        here = (*path, each.name)
        if isinstance(each.type, Struct):
            yield from _iter_leaves(each.type.fields, here)
        else:
            yield here


def _rename(field: Field, mapping: str | None) -> Field:
    """Return a field with physical names at every depth that statistics have."""
    kind = field.type
    if isinstance(kind, Struct):
        kind = Struct(tuple(_rename(each, mapping) for each in kind.fields))
    return Field(physical_name(field, mapping), kind, field.nullable)


def _build_type(columns: tuple[Field, ...], leaf: Callable[[DataType], pa.DataType | None]) -> pa.StructType:
    members: list[tuple[str, pa.DataType]] = []
    for each in columns:
        if isinstance(each.type, Struct):
            inner = _build_type(each.type.fields, leaf)
            members += [(each.name, inner)] if inner.num_fields else []
        elif each.type != Primitive("void") and (kind := leaf(each.type)) is not None:
            members.append((each.name, kind))
    return pa.struct(members)


def _get_arrow_type(kind: DataType) -> pa.DataType | None:
    match kind:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Primitive(name):
            return ARROW_PRIMITIVES.get(name)
    return None


def _get_bound_type(kind: DataType) -> pa.DataType | None:
    return None if kind == Primitive("binary") else _get_arrow_type(kind)


def _require_arrow_type(kind: DataType) -> pa.DataType:
    found = _get_arrow_type(kind)
    if found is None:
        raise ValueError(f"partitionValues_parsed has no form for the type {kind}")
    return found


def _convert(stated: Any, columns: tuple[Field, ...], leaf: _Leaf) -> dict[str, Any] | None:
    """Convert the statistics of each column; None if there are none."""
    if not isinstance(stated, dict):
        return None
    found: dict[str, Any] = {}
    for each in columns:
        value = stated.get(each.name)
        if isinstance(each.type, Struct):
            found[each.name] = _convert(value, each.type.fields, leaf)
        elif value is not None:
            found[each.name] = leaf(value, each.type)
    return found


def _parse_count(value: Any, _: DataType) -> int | None:
    number = parse_integer(value)
    return number if number is not None and 0 <= number <= _MAX_LONG else None


def _parse_bound(value: Any, kind: DataType) -> Any:
    arrow = _get_bound_type(kind)
    return None if arrow is None else _fit(read_bound(value, kind).value, arrow)


def _parse_partition_value(text: str | None, kind: DataType) -> Any:
    try:
        return _fit(parse_partition_value(text, kind), _require_arrow_type(kind))
    except PartitionValueError:
        return None


def _fit(value: Any, kind: pa.DataType) -> Any:
    """Return a value that the type can store; None for any other."""
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
    return value
