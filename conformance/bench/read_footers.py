"""`python read_footers.py TABLE`: read the footers of all data files with pyarrow, in threads."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq

files = [entry.path for entry in os.scandir(sys.argv[1]) if entry.name.endswith(".parquet")]
with ThreadPoolExecutor() as pool:
    rows = sum(metadata.num_rows for metadata in pool.map(pq.read_metadata, files))
assert rows > 0
print(len(files))
