"""`python parse_lines.py TABLE`: parse every line of every commit and decode every row of a checkpoint.

Without replay or validation, this is a lower bound for any program that reads a complete log in Python.
"""

import sys
from pathlib import Path

import msgspec


def count_adds_in_commit(path: Path) -> int:
    """Count the `add` actions of a commit."""
    return sum("add" in msgspec.json.decode(line) for line in path.read_bytes().splitlines())


def count_adds_in_checkpoint(path: Path) -> int:
    """Count the `add` actions of a checkpoint; decode all their columns, one row group at a time."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    groups = (file.read_row_group(index, columns=["add"]) for index in range(file.num_row_groups))
    return sum(len(column) - column.null_count for column in (group.column("add") for group in groups))


def main(table: str) -> int:
    """Count the actions read; commits up to the checkpoint version are skipped."""
    log = sorted((Path(table) / "_delta_log").iterdir())
    checkpoints = [path for path in log if path.name.endswith(".checkpoint.parquet")]
    base = max((int(path.name[:20]) for path in checkpoints), default=-1)
    commits = [path for path in log if path.suffix == ".json" and int(path.name[:20]) > base]
    return sum(map(count_adds_in_checkpoint, checkpoints)) + sum(map(count_adds_in_commit, commits))


if __name__ == "__main__":
    print(main(sys.argv[1]))
