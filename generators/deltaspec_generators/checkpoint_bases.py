"""Tables with a checkpoint whose statistics or partition values are columns; mutations and permissions edit them."""

from datetime import date
from typing import Any

import pyarrow as pa

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles, protocol_action
from deltaspec_generators.checkpoint_files import Row

AS_COLUMNS = {"delta.checkpoint.writeStatsAsStruct": "true"}
NO_JSON = {"delta.checkpoint.writeStatsAsJson": "false"}
PARTITION_TYPES = {"partitionValues_parsed": pa.struct([("day", pa.date32()), ("number", pa.int32())])}


def enforcing(configuration: dict[str, str] | None = None, **more: Any) -> TableFiles:
    """A table whose writers have to obey the checkpoint properties, with a checkpoint of version 1."""
    return bases.checkpointed(protocol=protocol_action(1, 3), configuration=configuration, **more)


def partitioned(configuration: dict[str, str] | None = None) -> TableFiles:
    """The same with the partition columns `day` and `number`."""
    fields = [("id", "long"), ("day", "date"), ("number", "integer")]
    names, values = ["day", "number"], {"day": "2026-11-21", "number": "7"}
    return enforcing(configuration, fields=fields, partition_columns=names, partition=values)


def change_adds(files: TableFiles, change: Any, which: slice = slice(None)) -> None:
    """Change copies of adds of the checkpoint: those of the commits stay."""
    rows = files.checkpoints[0].rows
    places = [place for place, row in enumerate(rows) if isinstance(row, dict) and "add" in row]
    for place in places[which]:
        row = rows[place]
        assert isinstance(row, dict)
        body = dict(row["add"])
        change(body)
        rows[place] = {"add": body}


def with_columns(body: Row) -> None:
    """Give an add its statistics as columns."""
    body["stats_parsed"] = {"numRecords": 10}


def without_json(body: Row) -> None:
    """Take the statistics as JSON from an add."""
    del body["stats"]


def with_partition_values(body: Row) -> None:
    """Give an add its partition values as columns."""
    body["partitionValues_parsed"] = {"day": date(2026, 11, 21), "number": 7}


def with_null_counts(name: str) -> TableFiles:
    """A table whose checkpoint has statistics as columns, with null counts of that name."""
    files = enforcing(AS_COLUMNS)
    change_adds(files, lambda body: body.update(stats_parsed={"numRecords": 10, name: {"id": 0, "name": 1}}))
    return files
