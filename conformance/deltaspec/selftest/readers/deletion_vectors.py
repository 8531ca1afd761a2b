"""Faults in finding, decoding and applying deletion vectors."""

from typing import Any

import msgspec
import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.row_reader import RowReader
from deltaspec.errors import DeltaspecError
from deltaspec.model.rows.predicates import Predicate
from deltaspec.protocol.actions import Add, Cdc, DeletionVectorDescriptor, Remove
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.selftest.readers.parquet_footers import read_footer
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.storage.interface import FileGone

FileAction = Add | Remove | Cdc
Vector = DeletionVectorDescriptor
HONOURED = "deletion-vectors.honoured"


@mutant(RowReader.read_deleted_rows, HONOURED, suites=("read", "time-travel"), origin="dv-010")
def vectors_ignored(original: Method, reader: RowReader, action: FileAction) -> set[int]:
    """Returns rows that deletion vectors mark."""
    return set()


@mutant(RowReader.read_vector, HONOURED, suites=("read", "time-travel"))
def bits_reversed(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Reads the bits of each byte of a deletion vector in the wrong order."""
    return {index // 8 * 8 + 7 - index % 8 for index in original(reader, vector)}


@mutant(RowReader.read_vector, HONOURED, suites=("read",))
def positions_counted_from_one(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Takes the first row of a file for row 1."""
    return {index - 1 for index in original(reader, vector)}


@mutant(RowReader.read_vector, HONOURED, suites=("read",), origin="dv-017")
def inline_vectors_ignored(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Applies only vectors that are stored in files."""
    found: set[int] = set() if vector.storage_type == "i" else original(reader, vector)
    return found


@mutant(RowReader.read_vector, HONOURED, suites=("read",))
def stored_vectors_ignored(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Applies only inline vectors."""
    found: set[int] = original(reader, vector) if vector.storage_type == "i" else set()
    return found


@mutant(RowReader.read_vector, "deletion-vectors.path-resolved", suites=("read",), origin="path-009")
def absolute_vector_paths_taken_for_relative(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Looks for every vector file in the directory of the table."""
    if vector.storage_type == "p":
        raise FileGone(f"table/{vector.path_or_inline_dv}")
    found: set[int] = original(reader, vector)
    return found


@mutant(RowReader.read_vector, "deletion-vectors.prefix", suites=("read",))
def prefix_of_vector_paths_ignored(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Does not look for vector files in the directory that the prefix names."""
    if vector.storage_type == "u":
        vector = msgspec.structs.replace(vector, path_or_inline_dv=vector.path_or_inline_dv[-20:])
    found: set[int] = original(reader, vector)
    return found


@mutant(RowReader.read_vector, HONOURED, suites=("read",))
def offset_in_vector_files_ignored(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Reads the first vector of a file, whatever the offset."""
    if vector.storage_type == "i":
        found: set[int] = original(reader, vector)
        return found
    data = _read_vector_file(reader, vector)
    size = int.from_bytes(data[1:5], "big")
    return set(BitMap64.deserialize(data[9 : 5 + size]))


def _read_vector_file(reader: RowReader, vector: Vector) -> bytes:
    return reader.access.read(find_vector_key(vector, reader.access.store.root), 1 << 26)


@mutant(RowReader.read_vector, "deletion-vectors.file-checksum", suites=("refuse",))
def vector_checksum_ignored(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Does not compare the checksum of a vector."""
    if vector.storage_type == "i":
        found: set[int] = original(reader, vector)
        return found
    start = (vector.offset or 1) + 4
    return set(BitMap64.deserialize(_read_vector_file(reader, vector)[start + 4 : start + vector.size_in_bytes]))


@mutant(RowReader.read_vector, "deletion-vectors.magic", suites=("refuse",))
def vectors_of_unknown_formats_ignored(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Takes a vector with another magic number for an empty one."""
    try:
        found: set[int] = original(reader, vector)
    except DeletionVectorError:
        return set()
    return found


@mutant(RowReader.read_vector, "deletion-vectors.path-resolved", suites=("refuse",))
def missing_vector_files_ignored(original: Method, reader: RowReader, vector: Vector) -> set[int]:
    """Returns all rows of a file whose vector is missing."""
    try:
        found: set[int] = original(reader, vector)
    except DeltaspecError:
        return set()
    return found


@mutant(RowReader.read_deleted_rows, "deletion-vectors.honoured-without-property", suites=("read",))
def vectors_need_the_property(original: Method, reader: RowReader, action: FileAction) -> set[int]:
    """Applies vectors only while `delta.enableDeletionVectors` is true."""
    enabled = is_property_true(reader.state.metadata.configuration, DELETION_VECTORS)
    found: set[int] = original(reader, action) if enabled else set()
    return found


@mutant(RowReader.read_deleted_rows, HONOURED, suites=("read",), origin="dv-007")
def positions_within_row_groups(original: Method, reader: RowReader, action: FileAction) -> set[int]:
    """Counts positions from the start of each row group."""
    deleted: set[int] = original(reader, action)
    if not deleted:
        return deleted
    footer = read_footer(reader, action)
    found, start = set(), 0
    for group in range(footer.num_row_groups):
        rows = footer.row_group(group).num_rows
        found |= {start + index for index in deleted if index < rows}
        start += rows
    return found


@mutant(Engine.read_file, HONOURED, suites=("predicates",), origin="dv-007")
def positions_among_matching_rows(
    original: Method, engine: Engine, reader: RowReader, add: Add, condition: Predicate | None, **options: Any
) -> pa.Table:
    """Counts positions among the rows that are left after filtering."""
    if condition is None or add.deletion_vector is None:
        return original(engine, reader, add, condition, **options)
    rows = original(engine, reader, msgspec.structs.replace(add, deletion_vector=None), condition, **options)
    deleted = reader.read_deleted_rows(add)
    return rows.take(pa.array([index for index in range(rows.num_rows) if index not in deleted], pa.int64()))


@mutant(Engine.scan, HONOURED, suites=("read",), origin="dv-006")
def vectors_ignored_for_partition_columns(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Does not apply vectors if only partition columns are read."""
    partitions = engine.load(engine.log_reader(table), request["at"]).partition_columns
    columns = request["columns"]
    is_affected = bool(columns) and all(path[0] in partitions for path in columns)
    return original(_IgnoringVectors() if is_affected else engine, table, **request)


@mutant(Engine.scan, HONOURED, suites=("read",), origin="dv-006")
def vectors_ignored_when_counting(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Counts rows without applying vectors."""
    is_affected = request["columns"] is not None and not request["columns"]
    return original(_IgnoringVectors() if is_affected else engine, table, **request)


class _IgnoringVectorsReader(RowReader):
    def read_deleted_rows(self, action: FileAction) -> set[int]:
        return set()


class _IgnoringVectors(Engine):
    row_reader = _IgnoringVectorsReader


@mutant(RowReader.read_deleted_rows, HONOURED, suites=("time-travel",))
def vectors_cached_by_data_file(original: Method, reader: RowReader, action: FileAction) -> set[int]:
    """Keeps the vector of a data file that it has read first, although later versions have another."""
    cache: dict[str, set[int]] = type(reader).__dict__.get("cache") or {}
    key = f"{reader.access.store.root} {reader.find_file(action)}"
    if key not in cache:
        cache[key] = original(reader, action)
        type(reader).cache = cache  # type: ignore[attr-defined]
    return cache[key]
