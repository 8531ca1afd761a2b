"""Struct columns of a checkpoint: `stats_parsed` and `partitionValues_parsed`. Source: Checkpoint Schema."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa

from deltaspec.protocol.files import partition_values
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec_generators.table_state import Body, WrittenState
from deltaspec_generators.values.arrow_values import arrow_type

_WITHOUT_BOUNDS = ("boolean", "binary", "variant")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def build_types(state: WrittenState) -> dict[str, pa.DataType]:
    """Build the Arrow types of both columns for the schema of a version, with physical names."""
    partition, columns = _split_columns(state)
    low = _build_struct_type(columns, bounds=True)
    statistics = [("numRecords", pa.int64()), ("tightBounds", pa.bool_())]
    if low.num_fields:
        statistics += [("minValues", low), ("maxValues", low)]
    statistics.append(("nullCount", _build_struct_type(columns, bounds=False)))
    found = {"stats_parsed": pa.struct(statistics)}
    if partition:
        found["partitionValues_parsed"] = pa.struct([(each.name, arrow_type(each.type)) for each in partition])
    return found


def build_values(state: WrittenState, add: Body) -> Body:
    """Build both columns for one add with the column types of this version; missing statistics are null."""
    partition, columns = _split_columns(state)
    found: Body = {"stats_parsed": None}
    if "stats" in add:
        typed = json.loads(add["stats"], parse_float=Exact)
        for name in {"minValues", "maxValues"} & {*typed}:
            typed[name] = _parse_bounds(typed[name], columns)
        if "nullCount" in typed:
            typed["nullCount"] = _select_columns(typed["nullCount"], columns)
        found["stats_parsed"] = typed
    if partition:
        values = add["partitionValues"]
        found["partitionValues_parsed"] = {
            each.name: _to_datetime(partition_values.parse_partition_value(values.get(each.name), each.type), each.type)
            for each in partition
        }
    return found


def _split_columns(state: WrittenState) -> tuple[list[Field], list[Field]]:
    """Return the partition columns of a version, in order, and the other columns; both with physical names."""
    mapping = column_mapping.get_mapping_mode(state.configuration, supported=True)
    fields = {each.name: each for each in parse_schema(state.metadata["schemaString"]).fields}
    names = state.metadata["partitionColumns"]
    partition = [_to_physical(fields[name], mapping) for name in names]
    return partition, [_to_physical(each, mapping) for name, each in fields.items() if name not in names]


def _to_physical(field: Field, mapping: str | None) -> Field:
    """Replace the names of a field and of the structs in it by physical names; not below arrays and maps."""
    kind: DataType = field.type
    if isinstance(kind, Struct):
        kind = Struct(tuple(_to_physical(each, mapping) for each in kind.fields))
    return Field(column_mapping.physical_name(field, mapping), kind, field.nullable)


def _select_columns(counts: Body, columns: list[Field]) -> Body:
    """Leave out the statistics of dropped columns."""
    found: Body = {}
    for each in columns:
        value = counts.get(each.name)
        if isinstance(each.type, Struct):
            found[each.name] = _select_columns(value or {}, list(each.type.fields))
        elif value is not None:
            found[each.name] = value
    return found


def _parse_bounds(bounds: Body, columns: list[Field]) -> Body:
    """Parse bounds with the current column types; leave out bounds of dropped columns."""
    found: Body = {}
    for each in columns:
        value = bounds.get(each.name)
        if isinstance(each.type, Struct):
            found[each.name] = _parse_bounds(value or {}, list(each.type.fields))
        elif value is not None:
            found[each.name] = _parse_bound(value, each.type)
    return found


def _parse_bound(value: Any, data_type: DataType) -> Any:
    match data_type:
        case Primitive("float" | "double"):
            return float(value)
        case Decimal():
            return Exact(value)
        case Primitive("date"):
            return date.fromisoformat(value)
        case Primitive("timestamp"):
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        case Primitive("timestamp_ntz"):
            return datetime.fromisoformat(value)
    return value


def _build_struct_type(columns: Any, *, bounds: bool) -> pa.StructType:
    fields = []
    for each in columns:
        match each.type:
            case Primitive("void"):
                continue
            case Struct(inner):
                kind = _build_struct_type(inner, bounds=bounds)
                if kind.num_fields:
                    fields.append((each.name, kind))
            case _ if not bounds:
                fields.append((each.name, pa.int64()))
            case Array() | Map():
                continue
            case Primitive(name) if name in _WITHOUT_BOUNDS:
                continue
            case _:
                fields.append((each.name, arrow_type(each.type)))
    return pa.struct(fields)


def _to_datetime(value: Any, data_type: DataType) -> Any:
    """Convert days and microseconds since the epoch to dates and timestamps."""
    match data_type:
        case _ if value is None:
            return None
        case Primitive("date"):
            return date(1970, 1, 1) + timedelta(days=value)
        case Primitive("timestamp" | "timestamp_ntz" as name):
            moment = _EPOCH + timedelta(microseconds=value)
            return moment if name == "timestamp" else moment.replace(tzinfo=None)
    return value
