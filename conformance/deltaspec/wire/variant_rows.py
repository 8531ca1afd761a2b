"""Reads the values of one variant column of a data file, as they are encoded."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from deltaspec.model.data_types import Struct
from deltaspec.wire.data_columns import FileColumn, UnresolvableColumns, file_columns, plain_type
from deltaspec.wire.row_files import UnreadableRows, open_rows
from deltaspec.wire.storage import StorageError, one_line

_BATCH_ROWS = 1 << 13
_BATCH_BYTES = 32 << 20
_PARTS = {"metadata", "value"}


def variant_values(
    source: Any, size: int, schema: Struct, mapping: str | None, path: tuple[str, ...]
) -> Iterator[tuple[bytes, bytes]]:
    """Metadata and value of each row of a variant column that is not null, deleted rows included.

    Args:
        source: what `pyarrow.parquet.ParquetFile` opens.
        size: length of the file in bytes.
        schema: of the table.
        mapping: `id`, `name` or None.
        path: physical names, from the top level down struct members.

    Raises:
        UnreadableRows: the file cannot be read, or the column is shredded.
        StorageError: the storage did not give it.
    """
    parquet, value_bytes = open_rows(source, size)
    try:
        columns = file_columns(parquet.schema_arrow, schema, mapping)
    except UnresolvableColumns as fault:
        raise UnreadableRows(str(fault)) from fault
    places = _places(columns, path)
    if places is None:
        return
    name = parquet.schema_arrow.names[places[0]]
    rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(value_bytes, 1)))
    try:
        for batch in parquet.iter_batches(batch_size=rows, columns=[name], use_threads=False):
            array = batch.column(batch.schema.get_field_index(name))
            for place in places[1:]:
                array = array.flatten()[place]
            yield from _pairs(array)
    except (StorageError, UnreadableRows):
        raise
    except Exception as fault:  # whatever Arrow says of bytes that are not ours
        raise UnreadableRows(f"its pages cannot be decoded: {one_line(fault)}") from fault


def _places(columns: tuple[FileColumn, ...], path: tuple[str, ...]) -> list[int] | None:
    """Positions from the top level down to a column; None where the file lacks it, or has no variant there."""
    places = []
    for depth in range(1, len(path) + 1):
        column = next((each for each in columns if each.path == path[:depth]), None)
        if column is None or column.place is None or not pa.types.is_struct(column.file_type):
            return None
        places.append(column.place)
        columns = column.members
    return places


def _pairs(array: pa.Array) -> Iterator[tuple[bytes, bytes]]:
    names = [each.name for each in array.type]
    if set(names) != _PARTS or not all(pa.types.is_binary(plain_type(each.type)) for each in array.type):
        raise UnreadableRows("the variant is shredded, or of another form")
    parts = dict(zip(names, array.flatten(), strict=True))
    for metadata, value in zip(parts["metadata"].to_pylist(), parts["value"].to_pylist(), strict=True):
        if metadata is not None and value is not None:
            yield metadata, value
