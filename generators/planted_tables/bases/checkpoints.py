"""Tables with a checkpoint whose statistics or partition values are struct columns."""

from datetime import date
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import STATS_AS_JSON, STATS_AS_STRUCT
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row
from deltaspec_generators.table_files import TableFiles, protocol_action
from planted_tables.bases import log_only

STATISTICS_AS_STRUCT = {STATS_AS_STRUCT: "true"}
NO_JSON_STATISTICS = {STATS_AS_JSON: "false"}
PARTITION_TYPES = {"partitionValues_parsed": pa.struct([("day", pa.date32()), ("number", pa.int32())])}


def build_table_with_checkpoint_properties(configuration: dict[str, str] | None = None, **more: Any) -> TableFiles:
    """Build a checkpointed table whose writer version makes the checkpoint properties binding."""
    return log_only.build_checkpointed_table(protocol=protocol_action(1, 3), configuration=configuration, **more)


def build_partitioned_checkpoint_table(configuration: dict[str, str] | None = None) -> TableFiles:
    """Build the same table with the partition columns `day` and `number`."""
    fields = [("id", "long"), ("day", "date"), ("number", "integer")]
    names, values = ["day", "number"], {"day": "2026-11-21", "number": "7"}
    return build_table_with_checkpoint_properties(
        configuration, fields=fields, partition_columns=names, partition=values
    )


def edit_checkpoint_adds(files: TableFiles, change: Any, which: slice = slice(None)) -> None:
    """Edit copies of the adds in the checkpoint; the commits keep the originals."""
    rows = files.checkpoints[0].rows
    indexes = [index for index, row in enumerate(rows) if isinstance(row, dict) and "add" in row]
    for index in indexes[which]:
        row = rows[index]
        assert isinstance(row, dict)
        body = dict(row["add"])
        change(body)
        rows[index] = {"add": body}


def add_statistics_columns(body: Row) -> None:
    """Add `stats_parsed` to an add."""
    body["stats_parsed"] = {"numRecords": 10}


def remove_json_statistics(body: Row) -> None:
    """Remove `stats` from an add."""
    del body["stats"]


def add_partition_value_columns(body: Row) -> None:
    """Add `partitionValues_parsed` to an add."""
    body["partitionValues_parsed"] = {"day": date(2026, 11, 21), "number": 7}


def build_table_with_null_counts(name: str) -> TableFiles:
    """Build a checkpoint with statistics as columns whose null counts have this field name."""
    files = build_table_with_checkpoint_properties(STATISTICS_AS_STRUCT)
    edit_checkpoint_adds(files, lambda body: body.update(stats_parsed={"numRecords": 10, name: {"id": 0, "name": 1}}))
    return files


def build_table_without_tombstone(configuration: dict[str, str] | None = None) -> TableFiles:
    """Build a checkpoint of version 2 without the tombstone of the file removed in version 2."""
    files = log_only.build_table(configuration=configuration)
    rows = [files.commits[0][1], files.commits[0][2], files.commits[1][2], files.commits[2][1]]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    return files
