"""Bounds and null counts of one column, computed from the rows of a data file.

`views.data.column_facts` compares them with the statistics in the log.
"""

from typing import Any

import msgspec

from deltaspec.protocol.schema.data_types import DataType


class LeafValues(msgspec.Struct, frozen=True):
    """One leaf column of one data file. A leaf is any column except a struct; arrays, maps and variants are leaves.

    Values are int, float, `decimal.Decimal`, bool, str or bytes. Dates are days, timestamps microseconds since the
    epoch (truncated). Arrays, maps and variants have null counts only.
    """

    path: tuple[str, ...]
    """Physical names from the top level down."""
    rows: int
    """Rows in the file, including deleted ones."""
    valid_rows: int
    """Rows that are not deleted."""
    nulls: int = 0
    """Nulls among all rows. The leaf is null if a parent is null. A column that is missing from the file is null in
    every row."""
    valid_nulls: int = 0
    """Nulls among valid rows."""
    minimum: Any | None = None
    """Smallest value of a valid row without NaN; strings compare by UTF-8 bytes. None if there is none."""
    maximum: Any | None = None
    """Largest value of a valid row without NaN."""
    has_nan: bool = False
    """Whether a valid row has NaN."""
    type: DataType | None = None
    """Delta type of `minimum` and `maximum` if the column was widened later; None for the table's type."""
    unread: str | None = None
    """Why the values are unknown; then every field except `path` is meaningless."""

    @property
    def read(self) -> bool:
        """Whether the values are known."""
        return self.unread is None
