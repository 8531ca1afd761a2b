"""Read statistics that a checkpoint stores only as columns."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from deltaspec.model.rows.statistics import list_leaf_columns
from deltaspec.views.data.column_facts import column_facts
from deltaspec.wire.log.parquet_actions import UnreadableParquet
from deltaspec.wire.log.stats_parsed import iter_parsed_statistics
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.data.data_files import DataFile
    from deltaspec.views.table.state import TableSchema


FILES_PER_PASS = 50_000
"""Number of data files per pass over a checkpoint file, whose statistics are in memory together."""


class ParsedStatisticsCache:
    """Caches the statistics of a part of the live files, in the order of their paths.

    A checkpoint may have millions of files, in another order than data files are read.
    """

    def __init__(self, data: DataBucket, table: TableSchema) -> None:
        self._data = data
        self._columns = list_leaf_columns(table.schema, table.mapping, table.partition_columns)
        self._texts: dict[tuple[str, int], str | None] = {}
        self._unreadable: set[str] = set()

    @cached_property
    def _waiting(self) -> pl.DataFrame:
        """Live files whose action has no `stats`, sorted by path."""
        without = pl.col("stats").is_null() & pl.col("file").str.ends_with(".parquet")
        return self._data.files.rows.filter(without).select("path_key", "file", "line").sort("path_key")

    def completed(self, data_file: DataFile) -> DataFile:
        """Return the data file, with the statistics of its checkpoint row if the action has none."""
        if data_file.stats is not None or not data_file.file.endswith(".parquet"):
            return data_file
        place = (data_file.file, data_file.line)
        if place not in self._texts:
            self._texts = {}  # free memory before the next part is read
            self._texts = self._from(data_file.path_key)
        return replace(data_file, stats=self._texts.get(place))

    def _from(self, path_key: str) -> dict[tuple[str, int], str | None]:
        """Read the statistics of a file and of the files after it; None for files without statistics."""
        some = self._waiting.slice(int(self._waiting["path_key"].search_sorted(path_key)), FILES_PER_PASS)
        texts: dict[tuple[str, int], str | None] = dict.fromkeys(some.select("file", "line").iter_rows())
        for (file,), part in some.group_by("file", maintain_order=True):
            name = str(file)
            texts.update({(name, line): text for line, text in self._read(name, part["line"].to_list()).items()})
        return texts

    def _read(self, file: str, lines: list[int]) -> dict[int, str]:
        if file in self._unreadable:
            return {}
        try:
            with self._data.access.store.open_seekable(file) as source:
                return dict(iter_parsed_statistics(source, self._columns, lines))
        except (UnreadableParquet, StorageError) as fault:
            self._unreadable.add(file)
            self._data.findings.mark_undecided((column_facts,), f"statistics as columns cannot be read: {fault}", file)
            return {}
