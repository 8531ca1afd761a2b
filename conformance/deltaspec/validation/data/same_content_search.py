"""Find live data files with the same content: hints that the same data was added twice. They decide no rule.

Only files that look alike in the log are read: those with the same size, partition values and number of rows.
Their ends are compared first, because the footer of a Parquet file has its row counts and bounds. Only files with equal
ends are read completely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from hashlib import sha256
from itertools import islice
from operator import and_
from typing import TYPE_CHECKING

import polars as pl

from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.report.report_types import Hints, SameContent
from deltaspec.validation.aggregates import merge_hints
from deltaspec.views.data.data_files import DataFile, DataFiles
from deltaspec.wire.parquet.footer_reader import FooterReader, NotParquet
from deltaspec.wire.storage.interface import CHUNK_BYTES, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

_MAX_PATHS = 10
_END_BYTES = 64 << 10
_CONCURRENCY = 8
_FILES_AT_ONCE = 1_000
_SIMILAR = ("actual_size", "partition_text")


def collect_candidates(data: DataBucket) -> tuple[pl.DataFrame, pl.Series]:
    """Return the live files of a bucket that have rows, without values, and a key that similar files share."""
    may_have_rows = (pl.col("num_records") > pl.col("cardinality").fill_null(0)).fill_null(True)
    rows = data.present_files.rows.filter(may_have_rows)
    left_out = [pl.lit(None, rows.schema[name]).alias(name) for name in ("stats", "partition_values")]
    key = pl.concat_str(pl.col("actual_size").cast(pl.String), "partition_text", separator=" ")
    return rows.with_columns(left_out), rows.select(key).to_series()


def search_same_content(data: DataBucket) -> Hints:
    """Return the groups of files with the same content. The live files of `data` are the candidates of a bucket."""
    rows = data.files.rows
    states_rows = pl.col("num_records").is_not_null().all().over(_SIMILAR)
    rows = rows.with_columns(_stated_rows=pl.when(states_rows).then("num_records"))
    key = [*_SIMILAR, "_stated_rows"]
    similar = rows.filter(pl.len().over(key) > 1)
    search = ContentSearch(data)
    hints = Hints(compared=len(similar))
    for number, files in enumerate(similar.partition_by(key, maintain_order=True)):
        data.progress("files with the same content", number, None)
        for group in search.iter_groups(files):
            hints = merge_hints(hints, Hints(same_content=[group], groups=1, files=group.count))
    return merge_hints(hints, search.unread)


class ContentSearch:
    """Compares the content of similar files."""

    def __init__(self, data: DataBucket) -> None:
        self._data = data
        self._footers = FooterReader(data.access)
        self.unread = Hints()
        """Number of files that could not be read, and the first reason."""

    def iter_groups(self, similar: pl.DataFrame) -> Iterator[SameContent]:
        """Yield the groups with the same content, of files with the same size."""
        size = int(similar["actual_size"][0])
        for files in self._split(similar, self._hash_end):
            for same in [files] if size <= _END_BYTES else self._split(files, self._hash_content):
                if (group := self._describe(same, size)) is not None:
                    yield group

    def _split(self, files: pl.DataFrame, compute_hash: Callable[[DataFile], bytes]) -> list[pl.DataFrame]:
        """Split files into groups of at least two with the same hash. Files that cannot be read are recorded."""
        listed = DataFiles(files)
        found: list[bytes | None] = []
        with ThreadPoolExecutor(_CONCURRENCY if self._data.access.store.is_remote else 1) as pool:
            upcoming = iter(listed)
            while part := list(islice(upcoming, _FILES_AT_ONCE)):
                self._data.progress("files with the same content", len(found), len(listed))
                for answer in pool.map(lambda each: _try(compute_hash, each), part):
                    found.append(None if isinstance(answer, StorageError) else answer)
                    if isinstance(answer, StorageError):
                        self.unread = merge_hints(self.unread, Hints(not_compared=1, reason=str(answer)))
        hashed = listed.rows.with_columns(_hash=pl.Series(found, dtype=pl.Binary)).drop_nulls("_hash")
        groups = hashed.filter(pl.len().over("_hash") > 1).partition_by("_hash", maintain_order=True)
        return [each.drop("_hash") for each in groups]

    def _hash_end(self, file: DataFile) -> bytes:
        return self.hash_file(file, max(0, (file.actual_size or 0) - _END_BYTES))

    def _hash_content(self, file: DataFile) -> bytes:
        return self.hash_file(file, 0)

    def hash_file(self, file: DataFile, start: int) -> bytes:
        """Return the hash of a file from a position on, read in chunks."""
        digest, size = sha256(), file.actual_size or 0
        while start < size:
            data = self._data.access.read_range(file.path_key, start, min(CHUNK_BYTES, size - start))
            if not data:
                raise StorageError(f"{file.path}: shrank while it was read")
            digest.update(data)
            start += len(data)
        return digest.digest()

    def _describe(self, same: pl.DataFrame, size: int) -> SameContent | None:
        """Describe files with the same content; None if the table has no row of them more than once."""
        first = next(iter(DataFiles(same)))
        rows = self._count_rows(first)
        repeated = None if rows is None else self._count_repeated_rows(DataFiles(same), rows)
        if repeated is not None and repeated <= 0:
            return None
        paths = same.select(pl.coalesce("path", "path_key")).to_series().sort()
        return SameContent(
            paths=paths.head(_MAX_PATHS).to_list(), count=len(same), size=size, rows=rows, repeated_rows=repeated
        )

    def _count_rows(self, file: DataFile) -> int | None:
        """Return the number of rows of a file; None if its footer cannot be decoded."""
        try:
            return self._footers.read(file.path_key, file.actual_size).row_count
        except (NotParquet, StorageError):
            return None

    def _count_repeated_rows(self, files: DataFiles, rows: int) -> int | None:
        """Return how many rows a snapshot has less if each row of files with the same content is live only once."""
        live = len(files) * rows - int(files.rows["cardinality"].fill_null(0).sum())
        if not files.rows["dv_storage_type"].is_null().any():
            try:
                vectors = (self._data.vector(file) for file in files)
                rows -= len(reduce(and_, (each for each in vectors if each is not None)))
            except (DeletionVectorError, StorageError):
                return None
        return live - rows


def _try(compute_hash: Callable[[DataFile], bytes], file: DataFile) -> bytes | StorageError:
    try:
        return compute_hash(file)
    except StorageError as fault:
        return fault
