"""How a data file is written and described in the log; the defaults are Delta Spark's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.data_files.statistics import StatisticsStyle


class FileOptions(msgspec.Struct, frozen=True):
    """Options of one data file."""

    name: str | None = None
    """Path of the file relative to the table, as in the file system; numbered if None."""
    path: str | None = None
    """Path in the log; the encoded name if None."""
    absolute: bool = False
    """Whether the path in the log is absolute."""
    encoding: ParquetEncoding = msgspec.field(default_factory=ParquetEncoding)
    style: StatisticsStyle = msgspec.field(default_factory=StatisticsStyle)
    stats: str | None = None
    """Text of `stats` instead of the computed one."""
    texts: Mapping[str, str | None] | None = None
    """Texts of partition values by logical name instead of the usual ones."""
    left_out: Sequence[str] = ()
    """Physical columns that the file does not have."""
    store: Callable[[pa.Table], pa.Table] | None = None
    """How the columns of the schema are stored, such as shredded variants; statistics describe the result."""
    change: Callable[[pa.Table], pa.Table] | None = None
    """Last change of the Arrow table before it is written."""
    add: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Further fields of the add action."""
