"""Faults in row ids and row commit versions."""

from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.reference.row_reader import FileRows, RowReader
from deltaspec.protocol.property_names import ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from deltaspec.selftest.mutants import Method, mutant

IDS, VERSIONS = "row-tracking.read-ids", "row-tracking.read-versions"


def _read_hidden(reader: RowReader, stored: pa.Table, key: str) -> list[int | None]:
    name = reader.state.metadata.configuration.get(key)
    return stored.column(name).to_pylist() if name in stored.column_names else [None] * stored.num_rows


@mutant(RowReader.compute_row_ids, IDS, suites=("row-ids",))
def kept_ids_ignored(original: Method, reader: RowReader, action: Any, stored: pa.Table) -> Any:
    """Derives every row id from the position, and ignores those that rows have kept."""
    ids, versions = original(reader, action, stored)
    return None if ids is None else [action.base_row_id + place for place in range(len(ids))], versions


@mutant(RowReader.compute_row_ids, IDS, suites=("row-ids",))
def kept_ids_not_completed(original: Method, reader: RowReader, action: Any, stored: pa.Table) -> Any:
    """Returns null for rows without a kept id in a file that has some."""
    ids, versions = original(reader, action, stored)
    kept = _read_hidden(reader, stored, ROW_ID_COLUMN)
    return kept if ids is not None and any(each is not None for each in kept) else ids, versions


@mutant(RowReader.compute_row_ids, IDS, "add.default-row-ids", suites=("row-ids",))
def base_row_id_ignored(original: Method, reader: RowReader, action: Any, stored: pa.Table) -> Any:
    """Counts the rows of each file from 0."""
    ids, versions = original(reader, action, stored)
    if ids is None:
        return ids, versions
    kept = _read_hidden(reader, stored, ROW_ID_COLUMN)
    return [place if each is None else each for place, each in enumerate(kept)], versions


@mutant(RowReader.read, IDS, suites=("row-ids",))
def positions_counted_without_deleted_rows(
    original: Method, reader: RowReader, action: Any, **options: Any
) -> FileRows:
    """Counts the position of a row without the rows that a vector deletes."""
    rows: FileRows = original(reader, action, **options)
    if rows.row_ids is None:
        return rows
    ids = [
        action.base_row_id + place if each == action.base_row_id + index else each
        for place, (each, index) in enumerate(zip(rows.row_ids, rows.indexes, strict=True))
    ]
    return replace(rows, row_ids=ids)


@mutant(RowReader.compute_row_ids, VERSIONS, suites=("row-ids",))
def kept_versions_ignored(original: Method, reader: RowReader, action: Any, stored: pa.Table) -> Any:
    """Returns the commit version of the file for each of its rows."""
    ids, versions = original(reader, action, stored)
    return ids, None if versions is None else [action.default_row_commit_version] * len(versions)


@mutant(RowReader.compute_row_ids, VERSIONS, suites=("row-ids",))
def kept_versions_not_completed(original: Method, reader: RowReader, action: Any, stored: pa.Table) -> Any:
    """Returns null for rows without a kept commit version."""
    ids, versions = original(reader, action, stored)
    return ids, None if versions is None else _read_hidden(reader, stored, ROW_COMMIT_VERSION_COLUMN)


@mutant(RowReader.compute_row_ids, VERSIONS, suites=("row-ids",))
def version_of_table_returned(original: Method, reader: RowReader, action: Any, stored: pa.Table) -> Any:
    """Returns the version that is read for the commit version of each row."""
    ids, versions = original(reader, action, stored)
    return ids, None if versions is None else [reader.state.snapshot.version] * len(versions)
