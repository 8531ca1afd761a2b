"""Footers of data files, for faults that depend on how a file is encoded."""

import pyarrow.parquet as pq

from deltaspec.candidates.reference.row_reader import RowReader
from deltaspec.protocol.actions import Add, Cdc, Remove


def read_footer(reader: RowReader, action: Add | Remove | Cdc) -> pq.FileMetaData:
    """Return the footer of a data file."""
    path = reader.find_file(action)
    return pq.read_metadata(path if path.startswith("/") else f"{reader.access.store.root}/{path}")
