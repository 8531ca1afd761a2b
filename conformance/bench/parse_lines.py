"""`python parse_lines.py TABLE`: the floor: every line of every commit is parsed, every row of a checkpoint decoded.

No replay, no judgement: what any program that reads a whole log in Python pays at least.
"""

import sys
from pathlib import Path

import msgspec


def count_adds_in_commit(path: Path) -> int:
    """Number of `add` actions."""
    return sum("add" in msgspec.json.decode(line) for line in path.read_bytes().splitlines())


def count_adds_in_checkpoint(path: Path) -> int:
    """Number of `add` actions; every column of them is decoded, a row group at a time."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    groups = (file.read_row_group(index, columns=["add"]) for index in range(file.num_row_groups))
    return sum(len(column) - column.null_count for column in (group.column("add") for group in groups))


def main(table: str) -> int:
    """Actions read; the commit that a checkpoint stands at is part of the checkpoint."""
    log = sorted((Path(table) / "_delta_log").iterdir())
    checkpoints = [path for path in log if path.name.endswith(".checkpoint.parquet")]
    base = max((int(path.name[:20]) for path in checkpoints), default=-1)
    commits = [path for path in log if path.suffix == ".json" and int(path.name[:20]) > base]
    return sum(map(count_adds_in_checkpoint, checkpoints)) + sum(map(count_adds_in_commit, commits))


if __name__ == "__main__":
    print(main(sys.argv[1]))
