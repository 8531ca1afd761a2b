"""Versions that made data files illegal because they do not store a required column."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any

import polars as pl

from deltaspec.protocol.schema.column_mapping import list_physical_paths
from deltaspec.protocol.schema.data_types import iter_fields
from deltaspec.views.table.row_requirements import RowRequirementHistory
from deltaspec.views.table.table_schema import TableSchema


class MissingColumnLocator:
    """Replaces the location of required columns that older files do not store."""

    def __init__(self, table: TableSchema, requirements: RowRequirementHistory) -> None:
        fields = zip(iter_fields(table.schema), list_physical_paths(table.schema, table.mapping), strict=True)
        self._physical = {".".join(path): physical for (path, _), (physical, _) in fields}
        self._requirements = requirements
        self._find_cause = lru_cache(10_000)(self._find_cause_once)

    def locate(self, rows: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
        """Return rows of `file_columns` with the change that made a column required, if it is later than the file.

        Args:
            rows: of the view.
            files: their files, with `path` and `version`, and for live files with `since` and `until`.
        """
        is_missing = (pl.col("kind") == "add") & pl.col("is_required") & (pl.col("matching_nodes") == 0)
        is_missing &= ~pl.col("node_with_other_id") & pl.col("node_with_other_name").is_null()
        missing = rows.select(is_missing.fill_null(False).alias("_missing"))["_missing"].arg_true()
        if missing.is_empty() or "since" not in files.columns:
            return rows
        periods = {each[:2]: each[2:] for each in files.select("path", "version", "since", "until").iter_rows()}
        found: list[tuple[int, dict[str, Any]]] = []
        for number, row in zip(missing, rows[missing].iter_rows(named=True), strict=True):
            cause = self._find_cause(row["column"], *periods[row["path"], row["version"]])
            if cause is not None:
                found.append((number, cause))
        if not found:
            return rows
        numbers = [number for number, _ in found]
        return rows.with_columns(
            rows[name].scatter(numbers, pl.Series([cause[name] for _, cause in found], dtype=rows.schema[name]))
            for name in ("version", "file", "line", "last_legal_version")
        )

    def _find_cause_once(self, column: str, since: int, until: int | None) -> dict[str, Any] | None:
        """Return the location of the last change that made the column and its enclosing structs required."""
        prefixes = accumulate(((name,) for name in self._physical.get(column, ())), tuple.__add__)
        causes = [self._requirements.find_cause(each, since, until) for each in prefixes]
        return max((each.location for each in causes if each), key=lambda each: each["version"], default=None)
