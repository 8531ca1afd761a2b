"""`python compute_min_max.py TABLE`: minimum, maximum and null count of every column with pyarrow, in threads."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def count_nulls(path: str) -> int:
    """Count the null values of a file; compute and discard its bounds, one record batch at a time."""
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
    assert sum(pool.map(count_nulls, files)) > 0
print(len(files))
