"""Exclude old dates and times of files that were written in the calendar of Spark before version 3.

That calendar is Julian up to 1582-10-04, and times before 1900 use the local clocks of their day. Parquet defines only
the Gregorian calendar. Spark recognizes such files by their key-value metadata and shifts the values; other engines
read other days. The protocol does not mention calendars, so the values of such files are undecided.

Spark before 2.4.6 and Databricks 7.3 write files that do not name their Spark version. Their calendar depends on the
settings of the writer, and the calendar that Spark expects on the settings of the reader. Spark never shifts
`timestamp_ntz`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from deltaspec.protocol.files.statistics import list_leaf_columns
from deltaspec.protocol.schema.data_types import DataType, Primitive, Struct
from deltaspec.wire.data.leaf_values import LeafValues

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_VERSION, _DATES, _INT96, _SPARK_SCHEMA = (
    b"org.apache.spark.version",
    b"org.apache.spark.legacyDateTime",
    b"org.apache.spark.legacyINT96",
    b"org.apache.spark.sql.parquet.row.metadata",
)
_FIRST_GREGORIAN_DAY = date(1582, 10, 15).toordinal() - date(1970, 1, 1).toordinal()
_FIRST_PLAIN_MICROSECOND = int(datetime(1900, 1, 2, tzinfo=UTC).timestamp()) * 1_000_000
"""A day after the start of 1900, when 1900 had begun in every time zone."""


def _read_writer(parquet: pq.ParquetFile) -> str:
    """Return the name of the program that wrote a file; empty if it is missing or not UTF-8."""
    try:
        return parquet.metadata.created_by or ""
    except UnicodeDecodeError:
        return ""


def find_first_unambiguous_values(parquet: pq.ParquetFile) -> dict[str, int]:
    """Return Delta type name -> first value that is equal in both calendars; empty for a file in the current calendar.

    Values are days (`date`) or microseconds (`timestamp`) since the epoch.
    """
    metadata = parquet.metadata.metadata or {}
    by_unknown_spark = _VERSION not in metadata and (_SPARK_SCHEMA in metadata or "databricks" in _read_writer(parquet))
    match = re.match(rb"(\d{1,9})\.(\d{1,9})", metadata.get(_VERSION, b""))
    version = (int(match[1]), int(match[2])) if match else None
    found = {}
    if by_unknown_spark or _DATES in metadata or (version is not None and version < (3, 0)):
        found["date"] = _FIRST_GREGORIAN_DAY
    if found or _INT96 in metadata or (version is not None and version < (3, 1)):
        found["timestamp"] = _FIRST_PLAIN_MICROSECOND
    return found


def drop_ambiguous_values(
    leaves: list[LeafValues], first: dict[str, int], schema: Struct, mapping: str | None
) -> tuple[list[LeafValues], list[str]]:
    """Mark leaves with a value before `first` of their type as unread; also return the reason for each.

    Args:
        leaves: leaves of one file.
        first: result of `find_first_unambiguous_values`.
        schema: schema of the table.
        mapping: column mapping mode: `id`, `name` or None.
    """
    if not first:
        return leaves, []
    columns = {column.path: column for column in list_leaf_columns(schema, mapping, [])}
    checked, reasons = [], []
    for leaf in leaves:
        column = columns.get(leaf.path)
        kind: DataType | None = leaf.type or (column.type if column else None)
        limit = first.get(kind.name) if isinstance(kind, Primitive) else None
        if column is None or limit is None or leaf.minimum is None or leaf.minimum >= limit:
            checked.append(leaf)
            continue
        reason = (
            f"{'.'.join(column.name)}: has values before {_format_limit(kind)}, "
            "which its file may store in the calendar of Spark 2"
        )
        reasons.append(reason)
        checked.append(replace(leaf, minimum=None, maximum=None, unread=reason))
    return checked, reasons


def _format_limit(data_type: DataType | None) -> str:
    return "1582-10-15" if data_type == Primitive("date") else "1900"
