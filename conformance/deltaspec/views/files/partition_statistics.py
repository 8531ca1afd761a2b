"""Statistics of partition columns that contradict the partition values of their file."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.protocol.files.statistics import StatisticsError, parse_statistics
from deltaspec.protocol.schema.data_types import DataType
from deltaspec.views.files.partition_bounds import find_partition_statistics_fault
from deltaspec.views.files.statistics_facts import sparse
from deltaspec.wire import arrow_compute as pc


def find_partition_statistics_faults(
    stats: Any, values: Any, partition_columns: Mapping[str, DataType] | None, deleted_rows: pl.Series
) -> pl.Series:
    """Return the column `partition_statistics_fault` of `file_actions`.

    Only strings that contain the name of a partition column are decoded.

    Args:
        stats: statistics strings, an Arrow array or chunked array.
        values: `partitionValues`, a map array; null if the action has none.
        partition_columns: physical name to type; None if the metadata is unknown.
        deleted_rows: cardinality of the deletion vector; null without one.
    """
    found: dict[int, str] = {}
    if partition_columns and len(stats):
        names = {json.dumps(name, ensure_ascii=escaped) for name in partition_columns for escaped in (True, False)}
        maps = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        texts = pc.to_series(stats)
        for row in texts.str.contains_any(sorted(names)).fill_null(False).arg_true().to_list():
            own = maps[row].as_py()
            fault = None if own is None else _find_fault(texts[row], dict(own), partition_columns, deleted_rows[row])
            if fault is not None:
                found[row] = fault.encode("utf-8", "backslashreplace").decode()
    return sparse("partition_statistics_fault", len(stats), found)


def _find_fault(
    text: str, values: Mapping[str, str | None], partition_columns: Mapping[str, DataType], deleted_rows: int | None
) -> str | None:
    try:
        statistics = parse_statistics(text)
    except StatisticsError:  # other rules report it
        return None
    return find_partition_statistics_fault(statistics, values, partition_columns, deleted_rows or 0)
