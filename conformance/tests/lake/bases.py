"""Sound tables that the faults are planted in. Delta Spark wrote the recorded ones, delta-rs writes the others."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from delta_rs.corpus import TABLES
from spark.recorded import extract_recorded_tables

Build = Callable[[Path], None]

RECORDED = (
    "change_data_feed",
    "checkpoint_classic",
    "checkpoint_v2_sidecars",
    "column_mapping_name",
    "deletion_vectors_of_two_files",
    "identity_columns",
    "in_commit_timestamps",
    "log_cleaned_up",
    "plain",
    "protocol_1_3",
    "rewritten_with_row_tracking_and_vectors",
    "row_tracking",
)


@cache
def _extract() -> tempfile.TemporaryDirectory[str]:
    """Extract the recorded tables to a directory that exists as long as the process."""
    directory = tempfile.TemporaryDirectory()
    extract_recorded_tables(Path(directory.name))
    return directory


def _copy_recorded(name: str, path: Path) -> None:
    shutil.copytree(Path(_extract().name) / name, path)


def write_orders(path: Path) -> None:
    """Appends and a delete, partitioned by day, with a NOT NULL column and a CHECK constraint.

    The last file is not compressed.
    """
    from deltalake import DeltaTable, WriterProperties, write_deltalake

    for number in range(3):
        write_deltalake(path, _build_orders(number), mode="append", partition_by="day")
    DeltaTable(path).alter.add_constraint({"positive": "amount > 0"})
    DeltaTable(path).delete("id = 1")
    plain = WriterProperties(compression="UNCOMPRESSED")
    write_deltalake(path, _build_orders(3), mode="append", writer_properties=plain)


def write_checkpointed_orders(path: Path) -> None:
    """The orders, with a checkpoint of the version before the last one that adds a file."""
    from deltalake import DeltaTable, write_deltalake

    write_orders(path)
    DeltaTable(path).create_checkpoint()
    write_deltalake(path, _build_orders(4), mode="append")


def write_orders_with_absolute_paths(path: Path) -> None:
    """Two files of the orders, registered with the absolute URIs of their place in the table."""
    _register(path, path)


def write_shallow_clone(path: Path) -> None:
    """The directory `source` has the orders, and the table has their files by absolute URIs, as a shallow clone."""
    _register(path.with_name("source"), path)


def _register(source: Path, path: Path, count: int = 12) -> None:
    """Write files below `source`, and commit their URIs with delta-rs to the table at `path`."""
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

    schema = _build_orders(0).schema
    table = DeltaTable.create(path, schema, partition_by=["day"])
    source.mkdir(exist_ok=True)
    adds = []
    for number in range(count):
        rows = _build_orders(number)
        day = rows["day"][0].as_py()
        file = source / f"part-{number:05}.parquet"
        pq.write_table(rows.drop_columns("day"), file)
        size = file.stat().st_size
        adds.append(
            AddAction(file.as_uri(), size, {"day": day}, 1_700_000_000_000, True, f'{{"numRecords":{len(rows)}}}')
        )
    table.create_write_transaction(adds, mode="append", schema=table.schema(), partition_by=["day"])


def _build_orders(number: int) -> pa.Table:
    count = 50
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("name", pa.string()),
            ("amount", pa.int64()),
            ("day", pa.string()),
        ]
    )
    rows = [
        {"id": number * count + each, "name": f"order {each:02}", "amount": each + 1, "day": f"2026-01-{number + 1:02}"}
        for each in range(count)
    ]
    return pa.Table.from_pylist(rows, schema)


BASES: dict[str, Build] = {f"spark/{name}": partial(_copy_recorded, name) for name in RECORDED}
BASES |= {
    "delta_rs/features_added": lambda path: TABLES["features_added"](str(path)),
    "delta_rs/orders": write_orders,
    "delta_rs/orders_checkpointed": write_checkpointed_orders,
    "delta_rs/orders_absolute": write_orders_with_absolute_paths,
    "delta_rs/shallow_clone": write_shallow_clone,
}
