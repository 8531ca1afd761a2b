"""Tables with one data file, for cases about its content."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import TableFiles, commit_info_action, metadata_action, protocol_action

Field = tuple[str, Any] | dict[str, Any]


def build_single_file_table(
    table: pa.Table,
    fields: Sequence[Field],
    *,
    protocol: dict[str, Any] | None = None,
    configuration: Mapping[str, str] | None = None,
    partition: Mapping[str, str | None] | None = None,
    stats: Mapping[str, Any] | str | None = None,
    path: str = "a.parquet",
) -> TableFiles:
    """Build a table of two commits: protocol and metadata, then one file.

    Args:
        table: rows of the file.
        fields: fields of the schema, including partition columns.
        protocol: protocol action; None for versions 1 and 2.
        configuration: table properties.
        partition: partition columns and their values for the file.
        stats: statistics in addition to numRecords, or the complete JSON string.
        path: path of the file.
    """
    files = TableFiles()
    stats_json = stats if isinstance(stats, str) else json.dumps({"numRecords": table.num_rows, **(stats or {})})
    values = dict(partition or {})
    metadata = metadata_action(fields, list(values), configuration)
    files.commits[0] = [commit_info_action(0), protocol or protocol_action(1, 2), metadata]
    files.commits[1] = [commit_info_action(1), add_data_file(files, path, table, partition=values, stats=stats_json)]
    return files


def build_bounds(column: str, low: Any, high: Any, nulls: int = 0) -> dict[str, Any]:
    """Build statistics of one column; a bound that is None is omitted."""
    return {
        "minValues": {} if low is None else {column: low},
        "maxValues": {} if high is None else {column: high},
        "nullCount": {column: nulls},
    }


def build_feature_protocol(*readers: str, writers: Sequence[str] = ()) -> dict[str, Any]:
    """Build a protocol of versions 3 and 7 with these features."""
    return protocol_action(3, 7, readers, [*readers, *writers])
