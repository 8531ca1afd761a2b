"""Write a classic checkpoint like Delta Spark's default, but with statistics only as JSON."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec_generators.checkpoint_writer import CLASSIC_COLUMNS

_ROWS_PER_GROUP = 200_000

SCHEMA = pa.schema(list(CLASSIC_COLUMNS.items()))


class DataFile(Protocol):
    path: str
    region: str
    size: int
    modification_time: int
    stats: str


def write_checkpoint(
    target: Path, protocol: dict[str, Any], metadata: dict[str, Any], files: Iterable[DataFile]
) -> None:
    """Write rows for `protocol`, `metaData` and every data file, in row groups of 200,000 rows."""
    with pq.ParquetWriter(target, SCHEMA, compression="snappy", version="1.0") as writer:
        head = [{"protocol": protocol}, {"metaData": metadata}]
        batches = [pa.RecordBatch.from_pylist(head, schema=SCHEMA)]
        remaining = iter(files)
        while batch := list(islice(remaining, _ROWS_PER_GROUP - sum(each.num_rows for each in batches))):
            batches.append(_build_adds(batch))
            writer.write_table(pa.Table.from_batches(batches), row_group_size=_ROWS_PER_GROUP)
            batches = []


def _build_adds(files: list[DataFile]) -> pa.RecordBatch:
    """Build one row for every data file; fields without values are null."""
    count = len(files)
    regions = pa.array([file.region for file in files])
    values = {
        "path": pa.array([file.path for file in files]),
        "partitionValues": pa.MapArray.from_arrays(
            pa.array(range(count + 1), pa.int32()), pa.array(["region"] * count), regions
        ),
        "size": pa.array([file.size for file in files]),
        "modificationTime": pa.array([file.modification_time for file in files]),
        "dataChange": pa.array([False] * count),
        "stats": pa.array([file.stats for file in files]),
    }
    columns = [values.get(field.name, pa.nulls(count, field.type)) for field in SCHEMA.field("add").type]
    add = pa.StructArray.from_arrays(columns, fields=list(SCHEMA.field("add").type))
    return pa.RecordBatch.from_arrays(
        [add if field.name == "add" else pa.nulls(count, field.type) for field in SCHEMA], schema=SCHEMA
    )
