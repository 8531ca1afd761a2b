"""Struct columns of a checkpoint: `stats_parsed` and `partitionValues_parsed`. Source: Checkpoint Schema."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from deltaspec.model.schema import partition_values
from deltaspec.model.schema.schema_string import parse_schema
from deltaspec_generators.logs.builder import LogBuilder
from deltaspec_generators.logs.columns import Column
from deltaspec_generators.logs.state import Body, TableState
from deltaspec_generators.logs.value_strategies import WITHOUT_BOUNDS, arrow_type


def build_types(builder: LogBuilder, state: TableState) -> dict[str, pa.DataType]:
    """Build the Arrow types of both columns for the schema of a version, with physical names."""
    partition, columns = _split_columns(builder, state)
    low = _build_struct_type(columns, bounds=True)
    statistics = [("numRecords", pa.int64()), ("tightBounds", pa.bool_())]
    if low.num_fields:
        statistics += [("minValues", low), ("maxValues", low)]
    statistics.append(("nullCount", _build_struct_type(columns, bounds=False)))
    found = {"stats_parsed": pa.struct(statistics)}
    if partition:
        found["partitionValues_parsed"] = pa.struct([(each.physical, arrow_type(each.kind)) for each in partition])
    return found


def build_values(builder: LogBuilder, state: TableState, add: Body) -> Body:
    """Build both columns for one add with the column types of this version; missing statistics are null."""
    partition, columns = _split_columns(builder, state)
    found: Body = {"stats_parsed": None}
    if "stats" in add:
        typed = dict(builder.parsed_stats[add["stats"]])
        for name in {"minValues", "maxValues"} & {*typed}:
            typed[name] = _widen_bounds(typed[name], columns)
        found["stats_parsed"] = typed
    if partition:
        kinds = {field.name: field.type for field in parse_schema(state.metadata["schemaString"]).fields}
        found["partitionValues_parsed"] = {
            each.physical: _to_datetime(
                partition_values.parse_partition_value(add["partitionValues"][each.physical], kinds[each.name]),
                each.kind,
            )
            for each in partition
        }
    return found


def _split_columns(builder: LogBuilder, state: TableState) -> tuple[list[Column], list[Column]]:
    """Return the partition columns of a version, in order, and the other columns."""
    columns = {each.name: each for each in builder.schemas[state.version]}
    names = state.metadata["partitionColumns"]
    return [columns[name] for name in names], [each for name, each in columns.items() if name not in names]


def _widen_bounds(bounds: Body, columns: Iterable[Column]) -> Body:
    """Convert bounds to the current column types; leave out bounds of dropped columns."""
    found: Body = {}
    for column in columns:
        value = bounds.get(column.physical)
        match value, column.kind:
            case None, _:
                continue
            case dict(), _:
                found[column.physical] = _widen_bounds(value, column.fields)
            case int(), "double":
                found[column.physical] = float(value)
            case int(), kind if kind.startswith("decimal"):
                found[column.physical] = Decimal(value)
            case date(), "timestamp_ntz" if not isinstance(value, datetime):
                found[column.physical] = datetime.combine(value, time())
            case _:
                found[column.physical] = value
    return found


def _build_struct_type(columns: Any, *, bounds: bool) -> pa.StructType:
    fields = []
    for each in columns:
        if each.kind == "void":
            continue
        if each.kind == "struct":
            inner = _build_struct_type(each.fields, bounds=bounds)
            if inner.num_fields:
                fields.append((each.physical, inner))
        elif not bounds:
            fields.append((each.physical, pa.int64()))
        elif each.kind not in WITHOUT_BOUNDS:
            fields.append((each.physical, arrow_type(each.kind)))
    return pa.struct(fields)


def _to_datetime(value: Any, kind: str) -> Any:
    """Convert days and microseconds since the epoch to dates and timestamps."""
    if value is None:
        return None
    match kind:
        case "date":
            return date(1970, 1, 1) + timedelta(days=value)
        case "timestamp" | "timestamp_ntz":
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
            return moment if kind == "timestamp" else moment.replace(tzinfo=None)
    return value
