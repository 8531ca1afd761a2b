"""Tables whose files somebody else wrote: conversions of Parquet files, and clones of other tables."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import LoadedTable
from deltaspec.candidates.reference.row_reader import arrow_schema
from deltaspec.candidates.reference.written_files import FileWriter
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Add, DeletionVectorDescriptor, DomainMetadata
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.features.clustering import DOMAIN as CLUSTERING
from deltaspec.protocol.files.deletion_vectors import build_relative_path
from deltaspec.protocol.files.partition_values import parse_partition_value
from deltaspec.protocol.files.paths import encode, is_absolute

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_NS_PER_MS = 1_000_000


def list_converted_files(root: Path, state: LoadedTable, files: FileWriter) -> Iterator[Add]:
    """Yield an add action for each Parquet file below a directory.

    Raises:
        EngineError: a directory does not name the value of a partition column, or a value does not have its type.
    """
    schema = arrow_schema(state.schema)
    kinds = {each.name: each.type for each in state.schema.fields}
    for path in sorted(root.rglob("*.parquet")):
        name = path.relative_to(root)
        values = _parse_directories(name.parts[:-1])
        if values.keys() != set(state.partition_columns):
            raise EngineError("invalid-request", f"{name} is not below directories of the partitions", phase="commit")
        for column, text in values.items():
            parse_partition_value(text, kinds[column])
        given = pq.read_table(path, partitioning=None)
        rows = given.cast(schema.empty_table().select(given.column_names).schema)
        status = path.stat()
        yield Add(
            path=encode(name.as_posix()),
            partition_values=values,
            size=status.st_size,
            modification_time=status.st_mtime_ns // _NS_PER_MS,
            data_change=True,
            stats=files.compute_statistics(rows),
        )


def _parse_directories(parts: Sequence[str]) -> dict[str, str | None]:
    """Return the partition values in names of directories, as Hive writes them."""
    pairs = [part.partition("=") for part in parts]
    return {unquote(name): None if text == _NULL_PARTITION else unquote(text) for name, _, text in pairs}


def list_cloned_files(source: str, state: LoadedTable) -> Iterator[Add]:
    """Yield the live files of a table with absolute paths, also of their deletion vectors."""
    for add in state.snapshot.files.values():
        path = add.path if is_absolute(add.path) else f"{_get_uri(source)}/{add.path}"
        vector = None if add.deletion_vector is None else _name_absolutely(source, add.deletion_vector)
        version = None if add.default_row_commit_version is None else 0  # the version that adds the file to the clone
        yield replace(add, path=path, deletion_vector=vector, data_change=True, default_row_commit_version=version)


def _name_absolutely(source: str, vector: DeletionVectorDescriptor) -> DeletionVectorDescriptor:
    if vector.storage_type != "u":
        return vector
    return replace(vector, storage_type="p", path_or_inline_dv=f"{_get_uri(source)}/{build_relative_path(vector)}")


def _get_uri(source: str) -> str:
    return Path(source).absolute().as_uri()


def list_cloned_domains(state: LoadedTable) -> Iterator[DomainMetadata]:
    """Yield the domains that describe the files: row ids that are in use, and clustering columns."""
    yield from (
        state.snapshot.domains[name] for name in (row_tracking.DOMAIN, CLUSTERING) if name in state.snapshot.domains
    )
