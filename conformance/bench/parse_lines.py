"""`python parse_lines.py TABLE [--files]`: parse every line of every commit and decode every row of a checkpoint.

Without replay or validation, this is a lower bound for any program that reads a complete log in Python. With `--files`,
also list the files with their sizes, and decode every inline deletion vector.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec


def read_commit(path: Path) -> list[dict[str, Any]]:
    """Return the actions of a commit."""
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def count_adds_in_parquet(path: Path) -> int:
    """Count the `add` actions of a Parquet file; decode all their columns, one row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if sys.platform == "linux":
        pa.set_memory_pool(pa.jemalloc_memory_pool())  # as deltaspec does
    file = pq.ParquetFile(path)
    if "add" not in file.schema_arrow.names:
        return 0
    groups = (file.read_row_group(index, columns=["add"]) for index in range(file.num_row_groups))
    return sum(len(column) - column.null_count for column in (group.column("add") for group in groups))


def decode_vectors(actions: list[dict[str, Any]]) -> None:
    """Decode the inline vectors of adds, and compare the number of their rows with the cardinality."""
    import polars as pl
    from pyroaring import BitMap64

    from deltaspec.wire.data.bitmap_decoder import decode_inline_text
    from deltaspec.wire.data.small_bitmaps import summarize_small_vectors

    vectors = [vector for action in actions if (vector := action.get("add", {}).get("deletionVector"))]
    texts, sizes, stated = zip(
        *((each["pathOrInlineDv"], each["sizeInBytes"], each["cardinality"]) for each in vectors), strict=True
    )
    small = summarize_small_vectors(pl.Series(texts), pl.Series(sizes))
    assert (small["decoded_cardinality"] == pl.Series(stated).gather(small["row"])).all()
    for row in set(range(len(vectors))).difference(small["row"]):
        bitmap = decode_inline_text(texts[row])[4 : sizes[row]]
        assert len(BitMap64.deserialize(bitmap)) == stated[row]


def iter_sizes(folder: str) -> Iterator[int]:
    """Yield the size of every file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from iter_sizes(entry.path)
            else:
                yield entry.stat().st_size


def main(table: str, *, with_files: bool) -> int:
    """Count the adds and subtract the removes; commits up to the checkpoint version are skipped."""
    names = sorted((Path(table) / "_delta_log").iterdir())
    checkpoints = [path for path in names if ".checkpoint." in path.name]
    base = max((int(path.name[:20]) for path in checkpoints), default=-1)
    rows = [path for path in (*checkpoints, *Path(table).glob("_delta_log/_sidecars/*")) if path.suffix == ".parquet"]
    count = sum(map(count_adds_in_parquet, rows))
    for path in names:
        if path.suffix == ".json" and path.name[:20].isdigit() and int(path.name[:20]) > base:
            actions = read_commit(path)
            count += sum(("add" in action) - ("remove" in action) for action in actions)
            if with_files and any("deletionVector" in action.get("add", {}) for action in actions):
                decode_vectors(actions)
    assert not with_files or sum(iter_sizes(table)) > 0
    return count


if __name__ == "__main__":
    print(main(sys.argv[1], with_files="--files" in sys.argv))
