"""Draw file actions: adds with statistics and row ids, removes, change data files."""

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.logs.builder import LogBuilder
from deltaspec_generators.logs.column_features import CONSTANT, COPY, GENERATED, START, STEP
from deltaspec_generators.logs.columns import Column
from deltaspec_generators.logs.value_strategies import (
    WITHOUT_BOUNDS,
    bounds,
    draw_data_file_path,
    encode_bound,
    serialized_values,
)
from deltaspec_generators.table_state import Body

ROW_FIELDS = ("baseRowId", "defaultRowCommitVersion")


def read_row_count(add: Body) -> int:
    """Return `numRecords` of an add; 0 without statistics."""
    return int(json.loads(add["stats"])["numRecords"]) if "stats" in add else 0


def draw_add(
    builder: LogBuilder,
    timestamp: int,
    *,
    data_change: bool,
    rows: int | None = None,
    partition: dict[str, str | None] | None = None,
    old: Sequence[Body] = (),
) -> Body:
    """Draw the body of an `add` for a new file; row count and partition values are drawn if None.

    `old` are files whose rows the new file contains; without them, identity columns generate new values.
    """
    draw = builder.draw
    if rows is None:
        fewest = int("clustering" in builder.features)
        rows = draw(st.integers(fewest, 9) | st.sampled_from((1000, 70_000)))
    path = draw_data_file_path(draw, "part", builder.next_number())
    builder.value_ranges[path] = _merge_identity_ranges(builder, old) if old else _next_identity_ranges(builder, rows)
    add: Body = {
        "path": path,
        "partitionValues": _draw_partition_values(builder) if partition is None else partition,
        "size": draw(st.integers(500, 9999) | st.just(2**40)),
        "modificationTime": timestamp,
        "dataChange": data_change,
    }
    stats = _draw_statistics(builder, rows, builder.value_ranges[path])
    if stats is not None:
        add["stats"] = stats
    if draw(st.booleans()):
        add["tags"] = draw(st.sampled_from(({}, {"INSERTION_TIME": "1"}, {"note": None})))
    if builder.tracks_rows:
        assign_row_ids(builder, add, rows)
    if bool(builder.clustering) and draw(st.booleans()):
        add["clusteringProvider"] = "liquid"
    builder.touched.add(path)
    return add


def assign_row_ids(builder: LogBuilder, add: Body, rows: int) -> None:
    """Assign fresh row ids and the current version as default row commit version to an add."""
    add["baseRowId"] = builder.high_water_mark + 1
    builder.high_water_mark += rows
    if "rowTracking" in builder.features:
        add["defaultRowCommitVersion"] = builder.version


def reassign_row_ids(builder: LogBuilder, add: Body) -> None:
    """Assign row ids to a repeated add without any in r1, which requires them for every add."""
    if builder.revision is Revision.R1 and builder.tracks_rows and "baseRowId" not in add:
        add.setdefault("stats", build_row_count_statistics(builder, 1))
        assign_row_ids(builder, add, read_row_count(add))


def _next_identity_ranges(builder: LogBuilder, rows: int) -> dict[str, tuple[int, int]]:
    """Return the ranges of generated identity values for new rows, and advance the marks."""
    value_ranges: dict[str, tuple[int, int]] = {}
    for column in builder.columns:
        if START in column.metadata and rows:
            step = column.metadata[STEP]
            before = builder.identity_marks.get(column.name)
            first = column.metadata[START] if before is None else before + step
            last = builder.identity_marks[column.name] = first + step * (rows - 1)
            value_ranges[column.physical] = (min(first, last), max(first, last))
    return value_ranges


def _merge_identity_ranges(builder: LogBuilder, old: Sequence[Body]) -> dict[str, tuple[int, int]]:
    all_ranges = [builder.value_ranges[add["path"]] for add in old]
    names = {name for value_ranges in all_ranges for name in value_ranges}
    ranges_by_name = {
        name: [value_ranges[name] for value_ranges in all_ranges if name in value_ranges] for name in names
    }
    return {
        name: (min(low for low, _ in pairs), max(high for _, high in pairs)) for name, pairs in ranges_by_name.items()
    }


def draw_remove(builder: LogBuilder, add: Body, timestamp: int, *, data_change: bool) -> Body:
    """Draw the body of a `remove` for a live file."""
    draw = builder.draw
    remove: Body = {"path": add["path"], "dataChange": data_change}
    if draw(st.sampled_from((True, True, True, False))):
        remove["deletionTimestamp"] = timestamp
    if draw(st.booleans()):
        remove["extendedFileMetadata"] = True
        copied = ("partitionValues", "size", "tags", *(("stats",) if builder.revision.since(Revision.R3) else ()))
        remove |= {name: add[name] for name in copied if name in add}
    elif draw(st.booleans()):
        remove["extendedFileMetadata"] = False
    remove |= {name: add[name] for name in ("deletionVector", *ROW_FIELDS) if name in add}
    builder.touched.add(add["path"])
    return remove


def draw_change_file(builder: LogBuilder) -> Body:
    """Draw the body of a `cdc` action."""
    values = _draw_partition_values(builder)
    body: Body = {
        "path": f"_change_data/{_build_partition_path(values)}cdc-{builder.next_number():05d}.parquet",
        "partitionValues": values,
        "size": builder.draw(st.integers(100, 999)),
        "dataChange": False,
    }
    if builder.draw(st.booleans()):
        body["tags"] = {"kind": "change"}
    return body


def _draw_partition_values(builder: LogBuilder) -> dict[str, str | None]:
    return {
        each.physical: builder.draw(serialized_values(each.kind, builder.revision))
        for each in builder.partition_columns
    }


def _build_partition_path(values: dict[str, str | None]) -> str:
    """Build the partition directories, escaped once as file names and once as URI."""
    return "".join(
        quote(f"{quote(name, safe='')}={quote(value or '__HIVE_DEFAULT_PARTITION__', safe='')}", safe="=") + "/"
        for name, value in values.items()
    )


def build_row_count_statistics(builder: LogBuilder, rows: int) -> str:
    """Build statistics that contain only `numRecords`."""
    stats = encode_exact_json({"numRecords": rows})
    builder.parsed_stats[stats] = {"numRecords": rows}
    return stats


def _draw_statistics(builder: LogBuilder, rows: int, value_ranges: dict[str, tuple[int, int]]) -> str | None:
    draw = builder.draw
    needs_rows = builder.tracks_rows or builder.iceberg_version or "deletionVectors" in builder.features
    kinds = ("rows", "full") if needs_rows else ("rows", "full", "none")
    kind = draw(st.sampled_from(("full",) if "clustering" in builder.features else kinds))
    if kind == "none":
        return None
    if kind == "rows":
        return build_row_count_statistics(builder, rows)
    found: dict[str, Any] = {"numRecords": rows}
    typed: dict[str, Any] = {"numRecords": rows}
    low, high, nulls, low_json, high_json = _draw_columns_statistics(builder, builder.data_columns, rows, value_ranges)
    found |= {"minValues": low_json, "maxValues": high_json, "nullCount": nulls}
    typed |= {"minValues": low, "maxValues": high, "nullCount": nulls}
    if draw(st.booleans()):
        found["tightBounds"] = typed["tightBounds"] = draw(st.booleans())
    text = encode_exact_json(found)
    builder.parsed_stats[text] = typed
    return text


def _draw_columns_statistics(
    builder: LogBuilder, columns: Iterable[Column], rows: int, value_ranges: dict[str, tuple[int, int]]
) -> list[Body]:
    """Draw minima, maxima, null counts, and both bounds as JSON values, each by physical name."""
    found: list[Body] = [{}, {}, {}, {}, {}]
    drawn: dict[str, Sequence[Any]] = {}
    for column in columns:
        if column.kind == "void":
            continue  # void columns are not stored
        if column.metadata.get(GENERATED) == COPY and "id" in drawn:
            parts = drawn["id"]
        else:
            parts = _draw_column_statistics(builder, column, rows, value_ranges)
        drawn[column.name] = parts
        for target, part in zip(found, parts, strict=True):
            if part is not None:
                target[column.physical] = part
    return found


def _draw_column_statistics(
    builder: LogBuilder, column: Column, rows: int, value_ranges: dict[str, tuple[int, int]]
) -> Sequence[Any]:
    """Draw minimum, maximum and null count of a column, and both bounds as JSON values; None if absent."""
    if column.kind == "struct":
        return _draw_columns_statistics(builder, column.fields, rows, value_ranges)
    known: tuple[Any, Any] | None = value_ranges.get(column.physical) if START in column.metadata else None
    if column.metadata.get(GENERATED) == CONSTANT:
        known = ("X", "X")
    first = column.name == "id" and builder.spec.positive
    never_null = known is not None or START in column.metadata or first
    most = max(0, rows - 1) if "clustering" in builder.features and column.kind not in WITHOUT_BOUNDS else rows
    nulls_here = 0 if never_null else builder.draw(st.integers(0, most))
    if nulls_here == rows or column.kind in WITHOUT_BOUNDS or (START in column.metadata and known is None):
        return None, None, nulls_here, None, None
    low_value, high_value = builder.draw(bounds(column.kind)) if known is None else known
    if first:
        low_value, high_value = max(1, low_value), max(1, high_value)
    both = encode_bound(low_value, column.kind), encode_bound(high_value, column.kind)
    return low_value, high_value, nulls_here, *both


def encode_exact_json(value: Any) -> str:
    """Encode compact JSON in which decimals keep all digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode_json(name)}:{encode_exact_json(item)}" for name, item in value.items()) + "}"
    return format(value, "f") if isinstance(value, Decimal) else encode_json(value)
