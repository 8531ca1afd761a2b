"""Gives data files the statistics that their checkpoint holds as columns only."""

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
"""Data files whose statistics are held together: each checkpoint file is read once for so many."""


class ParsedStatisticsCache:
    """Statistics texts of some live files at a time, in the order of their paths.

    A checkpoint may hold those of millions, and has its files in another order than they are read in.
    """

    def __init__(self, data: DataBucket, table: TableSchema) -> None:
        self._data = data
        self._columns = list_leaf_columns(table.schema, table.mapping, table.partition_columns)
        self._texts: dict[tuple[str, int], str | None] = {}
        self._unreadable: set[str] = set()

    @cached_property
    def _waiting(self) -> pl.DataFrame:
        """Live files without a text of their own, by their paths."""
        without = pl.col("stats").is_null() & pl.col("file").str.ends_with(".parquet")
        return self._data.files.rows.filter(without).select("path_key", "file", "line").sort("path_key")

    def completed(self, data_file: DataFile) -> DataFile:
        """The data file, with the statistics of its checkpoint row where the action has no text."""
        if data_file.stats is not None or not data_file.file.endswith(".parquet"):
            return data_file
        place = (data_file.file, data_file.line)
        if place not in self._texts:
            self._texts = {}  # not both at a time
            self._texts = self._from(data_file.path_key)
        return replace(data_file, stats=self._texts.get(place))

    def _from(self, path_key: str) -> dict[tuple[str, int], str | None]:
        """The texts of a file and of those that come after it; None for those that have none."""
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
