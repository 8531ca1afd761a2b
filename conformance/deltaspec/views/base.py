"""View definitions: documented relations that rules are evaluated over, row by row or key by key.

A fact that needs other rows or another relation is a column that the view computes. Location columns have fixed names
(`version`, `file`, `line`, `path`, `column`); they become the location of a finding.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from deltaspec.protocol.json_values import escape_lone_surrogates
from deltaspec.scales import Level
from deltaspec.wire.arrow_compute import to_series

LOCATION = ("version", "file", "line", "path", "column")

PROTOCOL_KINDS = frozenset({"protocol"})
STATE_KINDS = frozenset({"protocol", "metaData"})
"""Kinds of actions that decide nearly everything that the state of a table requires."""


class Column(msgspec.Struct, frozen=True):
    """Column of a view. Every column is nullable; null means "no value" unless the description says otherwise."""

    dtype: pl.DataType | type[pl.DataType]
    description: str
    level: Level = "log"
    """Lowest level at which the column is filled."""
    shown: bool = False
    """If true, every finding over the view shows the column where it is not null, even if the rule does not read it."""
    needs_clock: bool = False
    """If true, the column is filled only when the run has a clock; rules that read it are skipped otherwise."""
    varies: bool = False
    """If true, later commits may change the value for the same fault, so it is not part of the finding's fingerprint.
    Numbers and booleans are never part of it."""
    decided_by: frozenset[str] = frozenset()
    """Kinds of actions up to the version of the row that decide the value. It may be wrong if one cannot be decoded."""


LOCATION_COLUMNS = {
    "version": Column(pl.Int64, "table version that the action belongs to"),
    "file": Column(pl.String, "log file, relative to the table root"),
    "line": Column(pl.Int64, "line number or Parquet row number, starting at 1"),
}
"""Location of an action: the first columns of views over actions."""
CHANGED_COLUMNS = "changed_columns"
STATE_COLUMNS = LOCATION_COLUMNS | {
    "version": Column(pl.Int64, "version of the state, and of the action that changed it"),
    "last_legal_version": Column(
        pl.Int64, "preceding version, which did not have the fault; null if it is not known", shown=True
    ),
    CHANGED_COLUMNS: Column(
        pl.List(pl.String),
        "columns that differ from the row in the preceding version; null if that version has no such row. A rule that "
        "reads none of them found the fault before",
    ),
}
"""Location and history of a row over the state of a version: the first columns of views over the state."""
DATA_FILE_LOCATION_COLUMNS = LOCATION_COLUMNS | {
    "version": Column(pl.Int64, "version of the commit or checkpoint that holds the file's current action"),
    "path": Column(pl.String, "path of the data file, as written"),
}
"""Location of the current action of a data file: the first columns of views over data files."""
ROW_REQUIREMENT_COLUMNS = DATA_FILE_LOCATION_COLUMNS | {
    "version": Column(pl.Int64, "version of the file's action, or of the later change that made the file illegal"),
    "last_legal_version": Column(
        pl.Int64, "version before that later change; null without one, or if its state is unknown", shown=True
    ),
}
"""Location of the action that makes rows illegal: the first columns of views over requirements of rows."""


class View(msgspec.Struct, frozen=True, dict=True):
    """Relation that rules are evaluated over.

    `key` names the columns by which rows may be partitioned: a rule reads one row, or the rows of one key.
    """

    name: str
    grain: str
    """What one row represents."""
    key: tuple[str, ...]
    columns: dict[str, Column]
    level: Level = "log"
    """Lowest level at which the view has rows; single columns may need a higher one."""
    decided_by: frozenset[str] = frozenset()
    """Kinds of actions that decide which rows there are, and every column."""

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Polars schema: column name to data type."""
        return {name: column.dtype for name, column in self.columns.items()}

    @cached_property
    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.schema)

    @cached_property
    def _checks(self) -> dict[str, Callable[[Any], bool]]:
        """Whether a value is of the exact Python type of its column, by column."""
        return {name: _EXACT_TYPES[column.dtype] for name, column in self.columns.items()}

    def frame(self, rows: list[dict[str, Any]]) -> pl.DataFrame:
        """Build a frame of this view. Missing keys become null; strings become UTF-8 bytes in binary columns.

        Raises:
            KeyError: a row names a column that the view does not have.
        """
        if not rows:
            return self._empty
        named = set[str]().union(*rows)
        for name in named:
            if name not in self.columns:
                raise KeyError(f"view {self.name} has no column {name!r}")
        if len(rows) <= _FEW_ROWS and (frame := self._build_small_frame(rows)) is not None:
            return frame
        data = [
            _build_series(name, [row.get(name) for row in rows], column.dtype)
            if name in named
            else pl.Series(name, [None], column.dtype).new_from_index(0, len(rows))
            for name, column in self.columns.items()
        ]
        return pl.DataFrame(data)

    def _build_small_frame(self, rows: list[dict[str, Any]]) -> pl.DataFrame | None:
        """Build a frame of few rows in one call, which takes a fifth of the time of a series for each column.

        Returns:
            None if a value may not fit its column: Polars would convert it or make it null without an error.
        """
        checks = self._checks
        if not all(value is None or checks[name](value) for row in rows for name, value in row.items()):
            return None
        try:
            return pl.from_dicts(rows, schema=self.schema)
        except (UnicodeEncodeError, pl.exceptions.ComputeError):  # a lone surrogate, or an integer of 65 bits
            return None


_FEW_ROWS = 16
"""Maximum number of rows for which one call is faster than a series for each column."""
_NULL = type(None)
_EXACT_TYPES: dict[Any, Callable[[Any], bool]] = {
    pl.Int64: lambda value: type(value) is int,
    pl.Boolean: lambda value: type(value) is bool,
    pl.String: lambda value: type(value) is str,
    pl.Binary: lambda value: type(value) in (bytes, str),
    pl.List(pl.String): lambda value: type(value) is list and all(type(each) in (str, _NULL) for each in value),
    pl.List(pl.Int64): lambda value: type(value) is list and not value,
}
"""Whether Polars takes a value as it is, by type of the column. Longer integers in lists would become null."""


def _build_series(name: str, values: list[Any], dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    if dtype == pl.Binary:
        values = [each.encode() if isinstance(each, str) else each for each in values]
    try:
        if dtype == pl.List(pl.String):  # Polars would build one series for each list
            return to_series(pa.array(values, _STRINGS)).alias(name)
        return pl.Series(name, values, dtype, strict=True)
    except UnicodeEncodeError:
        return _build_series(name, [_escape_strings(each) for each in values], dtype)


def _escape_strings(value: Any) -> Any:
    """Escape the lone surrogates in a value of a cell."""
    if isinstance(value, str):
        return escape_lone_surrogates(value)
    if isinstance(value, list):
        return [_escape_strings(each) for each in value]
    if isinstance(value, dict):
        return {name: _escape_strings(each) for name, each in value.items()}
    return value


_STRINGS = pa.large_list(pa.large_string())
