"""Tables for tests of `deltaspec compare`."""

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

ROWS = pa.table(
    {
        "id": pa.array(range(20), pa.int64()),
        "day": [f"2026-01-0{1 + number % 4}" for number in range(20)],
        "amount": pa.array([number * 10 for number in range(20)], pa.int64()),
        "name": [None if number % 5 == 0 else f"secret {number}" for number in range(20)],
    }
)


def write_days(path: Path) -> Path:
    """Write 20 rows in four partitions, one file each."""
    write_deltalake(str(path), ROWS, partition_by=["day"])
    return path


def write_ranges(path: Path, *, changes: bool = False) -> Path:
    """Write 40 rows in four files, each with its own range of `id`; then delete one row."""
    configuration = {"delta.enableChangeDataFeed": "true"} if changes else {}
    for first in range(0, 40, 10):
        rows = pa.table(
            {"id": pa.array(range(first, first + 10), pa.int64()), "amount": pa.array(range(10), pa.int64())}
        )
        write_deltalake(str(path), rows, mode="append", configuration=configuration)
    DeltaTable(str(path)).delete("id = 5")
    return path
