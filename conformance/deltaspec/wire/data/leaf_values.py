"""What the rows of a data file hold in one column: the ends of its values, and its nulls.

Whoever reads rows fills it; `views.column_facts` lays what the statistics claim beside it.
"""

from dataclasses import dataclass
from typing import Any

from deltaspec.model.schema.data_types import DataType


@dataclass(frozen=True)
class LeafValues:
    """One leaf column of one data file. A leaf is what is no struct; an array, a map and a variant are one each.

    Values are Python's: int, float, `decimal.Decimal`, bool, str, bytes; dates are days, timestamps microseconds
    since the epoch (finer ones cut down). Of arrays, maps and variants only nulls are known.
    """

    path: tuple[str, ...]
    """Physical names, from the top level down struct members."""
    rows: int
    """Rows in the file, deleted ones included."""
    valid_rows: int
    """Rows that the deletion vector leaves; as many as `rows` without one."""
    nulls: int = 0
    """Nulls among all rows. Where a parent is null, so is the leaf, whatever bytes the file hides there. A column that
    the file lacks is null in every row."""
    valid_nulls: int = 0
    """Nulls among valid rows."""
    minimum: Any | None = None
    """Smallest value of a valid row, NaN left out; strings by their UTF-8 bytes. None if there is none."""
    maximum: Any | None = None
    """Largest value of a valid row, NaN left out."""
    has_nan: bool = False
    """Whether a valid row holds NaN."""
    type: DataType | None = None
    """The Delta type that `minimum` and `maximum` are of, where the file has another than the table (it was widened
    since); None for the table's own."""
    unread: str | None = None
    """Why nothing is known of the values: then only `path` says something, and no rule asks the rest."""

    @property
    def read(self) -> bool:
        """Whether the values are known."""
        return self.unread is None
