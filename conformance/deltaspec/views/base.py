"""What a view is: a documented relation with a key, whose rows a rule looks at one by one.

Facts that need other rows or another relation are columns that the view computes. Location columns have fixed names
(`version`, `file`, `line`, `path`, `column`), so that a finding knows where it stands.
"""

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

LOCATION = ("version", "file", "line", "path", "column")

Level = Literal["log", "files", "footers", "rows"]
LEVELS: tuple[Level, ...] = ("log", "files", "footers", "rows")
"""What a run may open, each level what those before it do and more: nothing but the log; the listing of the table's
directories and deletion-vector files; the footers of data files; their rows."""


@dataclass(frozen=True)
class Column:
    """A column of a view: its Polars type and what a value says. Nullable throughout; null means "has none"."""

    dtype: pl.DataType | type[pl.DataType]
    description: str
    level: Level = "log"
    """What has to be opened to fill it."""
    shown: bool = False
    """Findings of every rule over the view show it where it is set, also of rules that do not look at it."""
    needs_clock: bool = False
    """It is filled only where the run is given a clock; rules that look at it are asked only then."""


LOCATION_COLUMNS = {
    "version": Column(pl.Int64, "version the action belongs to"),
    "file": Column(pl.String, "name of the log file, relative to the table"),
    "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
}
"""Where an action stands: the first columns of views over actions."""
DATA_FILE_LOCATION_COLUMNS = LOCATION_COLUMNS | {
    "version": Column(pl.Int64, "version of the commit or checkpoint whose action is in force"),
    "path": Column(pl.String, "path of the data file as written"),
}
"""Where the action stands that is in force for a data file: the first columns of views over data files."""


@dataclass(frozen=True)
class View:
    """A relation that rules are written over.

    `key` are the columns by which rows may be spread over partitions: a rule sees one row, or the rows of one key.
    """

    name: str
    grain: str
    """What one row stands for."""
    key: tuple[str, ...]
    columns: dict[str, Column]
    level: Level = "log"
    """What has to be opened for its rows to be there; single columns may need more."""

    @property
    def schema(self) -> dict[str, Any]:
        """Polars schema, column by column."""
        return {name: column.dtype for name, column in self.columns.items()}

    def frame(self, rows: list[dict[str, Any]]) -> pl.DataFrame:
        """A frame of this view from plain rows; columns that a row lacks are null, text is binary where a column is.

        Raises:
            KeyError: a row names a column that the view does not have.
        """
        for row in rows:
            for name in row:
                if name not in self.columns:
                    raise KeyError(f"view {self.name} has no column {name!r}")
        data = {name: [row.get(name) for row in rows] for name in self.columns}
        for name, column in self.columns.items():
            if column.dtype == pl.Binary:
                data[name] = [each.encode() if isinstance(each, str) else each for each in data[name]]
        return pl.DataFrame(data, schema=self.schema, strict=True)
