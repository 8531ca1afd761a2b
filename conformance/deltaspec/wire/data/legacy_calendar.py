"""Old dates and times of files that say they were written in the calendar that Spark had before version 3.

That calendar is Julian up to 1582-10-04, and local times before 1900 follow the clocks of their day; Parquet knows the
Gregorian calendar alone. Spark tells such a file by its key-value metadata and shifts what it reads, others read
another day. The protocol does not speak of calendars: what such a file holds is left open.
"""

import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pyarrow.parquet as pq

from deltaspec.model.rows.statistics import list_leaf_columns
from deltaspec.model.schema.data_types import DataType, Primitive, Struct
from deltaspec.wire.data.leaf_values import LeafValues

_VERSION, _DATES, _INT96 = (
    b"org.apache.spark.version",
    b"org.apache.spark.legacyDateTime",
    b"org.apache.spark.legacyINT96",
)
_FIRST_GREGORIAN_DAY = date(1582, 10, 15).toordinal() - date(1970, 1, 1).toordinal()
_FIRST_PLAIN_MICROSECOND = int(datetime(1900, 1, 2, tzinfo=UTC).timestamp()) * 1_000_000
"""A day after 1900 began: by then, it had begun in every zone."""


def find_first_unambiguous_values(parquet: pq.ParquetFile) -> dict[str, int]:
    """By name of a Delta type, the first value that is the same in both calendars; empty where the file has today's.

    Days or microseconds since the epoch.
    """
    facts = parquet.metadata.metadata or {}
    match = re.match(rb"(\d{1,9})\.(\d{1,9})", facts.get(_VERSION, b""))
    version = (int(match[1]), int(match[2])) if match else None
    found = {}
    if _DATES in facts or (version is not None and version < (3, 0)):
        found["date"] = _FIRST_GREGORIAN_DAY
    if found or _INT96 in facts or (version is not None and version < (3, 1)):
        found["timestamp"] = found["timestamp_ntz"] = _FIRST_PLAIN_MICROSECOND
    return found


def drop_ambiguous_values(
    leaves: list[LeafValues], first: dict[str, int], schema: Struct, mapping: str | None
) -> tuple[list[LeafValues], list[str]]:
    """The leaves, those that hold a value before `first` of their type as not read; and why, a line for each.

    Args:
        leaves: of one file.
        first: as `find_first_unambiguous_values` gives it.
        schema: of the table.
        mapping: `id`, `name` or None.
    """
    if not first:
        return leaves, []
    columns = {column.path: column for column in list_leaf_columns(schema, mapping, [])}
    kept, reasons = [], []
    for leaf in leaves:
        column = columns.get(leaf.path)
        kind: DataType | None = leaf.type or (column.type if column else None)
        limit = first.get(kind.name) if isinstance(kind, Primitive) else None
        if column is None or limit is None or leaf.minimum is None or leaf.minimum >= limit:
            kept.append(leaf)
            continue
        reason = f"{'.'.join(column.name)}: holds values before {_shown(kind)} in the calendar of Spark 2"
        reasons.append(reason)
        kept.append(replace(leaf, minimum=None, maximum=None, unread=reason))
    return kept, reasons


def _shown(kind: DataType | None) -> str:
    return "1582-10-15" if kind == Primitive("date") else "1900"
