"""Typed columns of a checkpoint: `stats_parsed` and `partitionValues_parsed`. Source: Checkpoint Schema."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaspec.model import partition_values
from deltaspec.model.schema import parse_schema
from deltaspec_generators.log_state import Body, TableState
from deltaspec_generators.values import ARROW, WITHOUT_BOUNDS

if TYPE_CHECKING:
    from deltaspec_generators.commits import LogDraft
    from deltaspec_generators.draws import Column


def types(draft: LogDraft, state: TableState) -> dict[str, pa.DataType]:
    """Arrow types of both columns for the schema of a version, with physical names."""
    columns = [each for each in _columns(draft, state) if each not in draft.outline.partition]
    low = _struct(columns, bounds=True)
    statistics = [("numRecords", pa.int64()), ("tightBounds", pa.bool_())]
    if low.num_fields:
        statistics += [("minValues", low), ("maxValues", low)]
    statistics.append(("nullCount", _struct(columns, bounds=False)))
    found = {"stats_parsed": pa.struct(statistics)}
    if draft.outline.partition:
        found["partitionValues_parsed"] = pa.struct(
            [(each.physical, ARROW[each.kind]) for each in draft.outline.partition]
        )
    return found


def values(draft: LogDraft, state: TableState, add: Body) -> Body:
    """The typed columns of one add; statistics are null where it has none."""
    found: Body = {"stats_parsed": draft.typed_stats[add["stats"]] if "stats" in add else None}
    if draft.outline.partition:
        kinds = {field.name: field.type for field in parse_schema(state.metadata["schemaString"]).fields}
        found["partitionValues_parsed"] = {
            each.physical: _moment(
                partition_values.parse(add["partitionValues"][each.physical], kinds[each.name]), each.kind
            )
            for each in draft.outline.partition
        }
    return found


def _columns(draft: LogDraft, state: TableState) -> list[Column]:
    names = {field.name for field in parse_schema(state.metadata["schemaString"]).fields}
    return [each for each in draft.columns if each.name in names]


def _struct(columns: Any, *, bounds: bool) -> pa.StructType:
    fields = []
    for each in columns:
        if each.kind == "void":
            continue
        if each.kind == "struct":
            inner = _struct(each.fields, bounds=bounds)
            if inner.num_fields:
                fields.append((each.physical, inner))
        elif not bounds:
            fields.append((each.physical, pa.int64()))
        elif each.kind not in WITHOUT_BOUNDS:
            fields.append((each.physical, ARROW[each.kind]))
    return pa.struct(fields)


def _moment(value: Any, kind: str) -> Any:
    """Days and microseconds since the epoch as dates and timestamps."""
    if value is None:
        return None
    match kind:
        case "date":
            return date(1970, 1, 1) + timedelta(days=value)
        case "timestamp" | "timestamp_ntz":
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
            return moment if kind == "timestamp" else moment.replace(tzinfo=None)
    return value
