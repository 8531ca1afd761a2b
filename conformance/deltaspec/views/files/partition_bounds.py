"""Statistics of partition columns, compared with the partition values. Source: Per-file Statistics.

The protocol does not say whether statistics may name a partition column (S13). Every row of the file has the partition
value, so statistics that say something else make readers that skip files by them lose rows.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from deltaspec.protocol.files.bounds import (
    compute_upper_limit,
    is_tight_maximum,
    is_tight_minimum,
    is_truncated,
    read_bound,
)
from deltaspec.protocol.files.ordering import compute_order_key
from deltaspec.protocol.files.partition_values import PartitionValueError, has_zone, parse_partition_value
from deltaspec.protocol.files.statistics import Statistics, parse_integer
from deltaspec.protocol.schema.data_types import DataType, Primitive


def find_partition_statistics_fault(
    statistics: Statistics,
    values: Mapping[str, str | None],
    partition_columns: Mapping[str, DataType],
    deleted_rows: int,
) -> str | None:
    """Return the first statistic of a partition column that contradicts its value, such as `p: minimum b, value a`.

    A timestamp without time zone is not compared with bounds, because the zone of its writer is not known.

    Args:
        statistics: Of a file.
        values: Its partition values.
        partition_columns: Physical name to type.
        deleted_rows: Cardinality of its deletion vector.
    """
    if statistics.num_records is not None and statistics.num_records <= deleted_rows:
        return None  # no row has the value
    for column, kind in partition_columns.items():
        if column not in values:
            continue
        text = values[column]
        try:
            value = parse_partition_value(text, kind)
        except PartitionValueError:
            continue
        fault = _find_null_count_fault(statistics, column, deleted_rows, is_null=value is None)
        if fault is None and text and value is not None and (kind != Primitive("timestamp") or has_zone(text)):
            fault = _find_bound_fault(statistics, column, _Value(text, value, kind))
        if fault is not None:
            return f"{column}: {fault}"
    return None


class _Value(msgspec.Struct, frozen=True):
    text: str
    value: Any
    kind: DataType


def _find_null_count_fault(statistics: Statistics, column: str, deleted_rows: int, *, is_null: bool) -> str | None:
    count, records = parse_integer((statistics.null_count or {}).get(column)), statistics.num_records
    if count is None or records is None:
        return None
    if is_null:
        is_wrong = count not in (records, records - deleted_rows) if statistics.has_tight_bounds else count == 0
    else:
        is_wrong = count > 0 if statistics.has_tight_bounds else count == records
    return f"null count {count} of {records}, value {'null' if is_null else 'not null'}" if is_wrong else None


def _find_bound_fault(statistics: Statistics, column: str, own: _Value) -> str | None:
    key = compute_order_key(own.value, own.kind)
    for name, entries in (("minimum", statistics.min_values), ("maximum", statistics.max_values)):
        stated = (entries or {}).get(column)
        if key is None or stated is None or isinstance(stated, dict | list):
            continue
        bound = read_bound(stated, own.kind)
        if bound.value is None or bound.is_nan:
            continue
        if _contradicts(bound.value, key, own, is_tight=statistics.has_tight_bounds, is_minimum=name == "minimum"):
            return f"{name} {bound.text}, value {own.text}"
    return None


def _contradicts(bound: Any, key: bytes, own: _Value, *, is_tight: bool, is_minimum: bool) -> bool:
    """Return whether a bound excludes the value, or is marked as tight although it is not the value."""
    limit = compute_order_key(bound if is_minimum else compute_upper_limit(bound, own.kind), own.kind)
    if limit is None:
        return False
    if is_tight:
        return not (is_tight_minimum if is_minimum else is_tight_maximum)(bound, own.value, own.kind)
    if is_minimum:
        return limit > key
    return limit < key and not (own.kind == Primitive("string") and is_truncated(bound, own.value))
