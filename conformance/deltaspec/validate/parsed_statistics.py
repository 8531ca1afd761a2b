"""Gives data files the statistics that their checkpoint holds as columns only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltaspec.model.statistics import leaf_columns
from deltaspec.views.column_facts import column_facts
from deltaspec.wire.parquet_rows import UnreadableParquet
from deltaspec.wire.parsed_statistics import parsed_statistics
from deltaspec.wire.storage import StorageError

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun
    from deltaspec.views.data_files import DataFile
    from deltaspec.views.state import TableSchema


class ParsedStatistics:
    """Statistics texts by checkpoint file and row, read once each file when the first is asked for."""

    def __init__(self, run: DataRun, table: TableSchema) -> None:
        self._run = run
        self._columns = leaf_columns(table.schema, table.mapping, table.partition_columns)
        self._texts: dict[str, dict[int, str]] = {}

    def completed(self, data_file: DataFile) -> DataFile:
        """The data file, with the statistics of its checkpoint row where the action has no text."""
        if data_file.stats is not None or not data_file.file.endswith(".parquet"):
            return data_file
        if data_file.file not in self._texts:
            self._texts[data_file.file] = self._read(data_file.file)
        return replace(data_file, stats=self._texts[data_file.file].get(data_file.line))

    def _read(self, file: str) -> dict[int, str]:
        try:
            return dict(parsed_statistics(self._run.access.store.open_random(file), self._columns))
        except (UnreadableParquet, StorageError) as fault:
            self._run.findings.doubt((column_facts,), f"statistics as columns cannot be read: {fault}", file)
            return {}
