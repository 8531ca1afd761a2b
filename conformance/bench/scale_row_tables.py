"""Write a table of gigabytes of distinct Parquet files with true statistics, in one commit.

`python -m bench.scale_row_tables GIGABYTES` prints the path of the table. Memory is bounded by one file.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.many_row_tables import FIELDS, FIRST_MS, WORDS, build_statistics
from bench.scale_cache import check_free_disk, get_or_write
from bench.scale_log_tables import hash_numbers

GENERATION = 1
"""Generation of the cached bytes; increase it when they change."""

ROWS = 1_000_000
"""Rows per file, in one row group as by pyarrow's default; about 50 MB."""


def build_rows(number: int) -> pa.Table:
    """Build unordered rows; a tenth of the names and prices is null, colors have few distinct values."""
    rows = np.arange(number * ROWS, (number + 1) * ROWS)
    random, more = hash_numbers(rows, 0), hash_numbers(rows, 1)
    picks = (random % (1 << 30)).astype(np.int64)
    digits = pc.utf8_lpad(pc.cast(pa.array(picks), pa.string()), 10, "0")
    names = pc.binary_join_element_wise("customer ", digits, "")
    columns = {
        "id": pa.array(rows.astype(np.int64) ^ 0x5555),
        "count": pa.array((random >> np.uint64(30)).astype(np.int64) % 1000),
        "price": pa.array(picks / 64, mask=picks % 10 == 0),
        "ratio": pa.array((more % 4096).astype(np.float32) / 8),
        "name": pc.if_else(pa.array(picks % 10 == 1), None, names),
        "color": pa.array(WORDS).take(pa.array(more % len(WORDS))),
        "flag": pa.array(more % 3 == 0),
        "day": pa.array((more % 20_000).astype(np.int32)),
        "at": pa.array((FIRST_MS + picks) * 1000),
        "amount": _build_decimals((random % 100_000).astype(np.int64)),
    }
    return pa.table({name: columns[name].cast(kind) for name, (kind, _) in FIELDS.items()})


def _build_decimals(hundredths: np.ndarray) -> pa.Array:
    """Convert hundredths to decimals of scale 2, using them as 128-bit unscaled values."""
    words = np.stack([hundredths, hundredths >> 63], axis=1)
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(hundredths), [None, pa.py_buffer(words)])


def write_files(folder: Path, size: int) -> None:
    """Write files until they reach this size in bytes, then the commit that adds them."""
    check_free_disk(folder, size)
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, (_, kind) in FIELDS.items()]
    metadata = {
        "id": "00000000-0000-4000-8000-000000000010",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": FIRST_MS,
    }
    lines: list[dict[str, object]] = [{"commitInfo": {"timestamp": FIRST_MS, "operation": "WRITE"}}]
    lines += [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    total_bytes = number = 0
    while total_bytes < size:
        table, path = build_rows(number), f"part-{number:05}.snappy.parquet"
        pq.write_table(table, folder / path, compression="snappy", store_schema=False)
        bytes_of_file = (folder / path).stat().st_size
        add = {"path": path, "partitionValues": {}, "size": bytes_of_file, "modificationTime": FIRST_MS}
        lines.append({"add": {**add, "dataChange": True, "stats": build_statistics(table)}})
        total_bytes += bytes_of_file
        number += 1
    (folder / "_delta_log").mkdir()
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / "_delta_log" / f"{0:020d}.json").write_text(text, encoding="utf-8")


def get_rows_table(gigabytes: float) -> Path:
    """Return a table of this many gigabytes (10^9 bytes) of data; write it if it is not cached.

    Raises:
        SystemExit: there is not enough free disk space.
    """
    size = round(gigabytes * 1_000_000_000)
    return get_or_write(f"rows-{gigabytes:g}", GENERATION, lambda folder: write_files(folder, size))


if __name__ == "__main__":
    print(get_rows_table(float(sys.argv[1])))
