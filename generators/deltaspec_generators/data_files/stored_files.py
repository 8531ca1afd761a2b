"""Data files of a generated table, with their rows as plain Python values."""

from typing import Any, TypeAlias

import msgspec

from deltaspec.protocol.schema.data_types import Struct
from deltaspec_generators.data_files.parquet_encodings import DELTA_SPARK, ParquetEncoding
from deltaspec_generators.data_files.statistics import StatisticsStyle
from deltaspec_generators.schemas.value_conversion import build_converter, convert_all
from deltaspec_generators.table_state import Body

Row: TypeAlias = dict[str, Any]
"""Plain values by physical column name, without partition columns."""
ROW_ID, ROW_VERSION = "_row-id-col-1", "_row-commit-version-col-1"
"""Column names of materialized row ids and row commit versions."""


class StoredFile(msgspec.Struct, frozen=True):
    """A live data file with the rows and options that its writer knows."""

    add: Body
    rows: list[Row]
    """All rows of the file, including deleted rows."""
    schema: Struct
    """Physical schema at the time of writing, without partition columns."""
    style: StatisticsStyle
    parquet_encoding: ParquetEncoding = DELTA_SPARK
    partition: dict[str, Any] = msgspec.field(default_factory=dict)
    """Plain partition values by physical name."""
    deleted: frozenset[int] = frozenset()
    row_ids: list[int] = msgspec.field(default_factory=list)
    """Stable id of each row; empty without row tracking."""
    row_commit_versions: list[int] = msgspec.field(default_factory=list)
    repeated: int = 0
    """Further copies of the last row, in a file that only the log describes."""

    @property
    def row_count(self) -> int:
        """Number of rows, including deleted rows."""
        return len(self.rows) + self.repeated

    @property
    def live_count(self) -> int:
        """Number of rows that are not deleted."""
        return self.row_count - len(self.deleted)

    @property
    def live_indexes(self) -> list[int]:
        """Row indexes that are not deleted, of a file with all its rows."""
        return [index for index in range(len(self.rows)) if index not in self.deleted]


def convert_rows(stored: StoredFile, schema: Struct) -> list[Row]:
    """Convert all rows of a file to a later physical schema."""
    return convert_all(build_converter(stored.schema, schema), stored.rows)
