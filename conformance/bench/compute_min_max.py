"""`python compute_min_max.py TABLE`: the rival's process: pyarrow reads every column of a table's files, in threads, and
computes its minimum, maximum and null count."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def ends(path: str) -> int:
    """Values of a file that are null; its ends are computed and dropped, a few row batches at a time."""
    nulls = 0
    for batch in pq.ParquetFile(path).iter_batches(use_threads=False):
        for column in batch.columns:
            pc.min_max(column)
            nulls += column.null_count
    return nulls


if sys.platform == "linux":
    pa.set_memory_pool(pa.jemalloc_memory_pool())
files = [entry.path for entry in os.scandir(sys.argv[1]) if entry.name.endswith(".parquet")]
with ThreadPoolExecutor(os.cpu_count()) as pool:
    assert sum(pool.map(ends, files)) > 0
print(len(files))
