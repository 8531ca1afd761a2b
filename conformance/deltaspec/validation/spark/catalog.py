"""Tables named by a Spark catalog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltaspec.errors import TableUnreadable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = r"(?:[A-Za-z0-9_]+|`(?:[^`]|``)+`)"
_CATALOG_NAME = re.compile(rf"{_NAME}(?:\.{_NAME}){{1,2}}")
"""`schema.table` or `catalog.schema.table`."""


def is_catalog_name(table: str) -> bool:
    """Return whether a string is `schema.table` or `catalog.schema.table`, with or without backticks."""
    return _CATALOG_NAME.fullmatch(table) is not None


def get_table_location(spark: SparkSession, name: str) -> str:
    """Return the URI of a catalog table.

    Args:
        spark: a session.
        name: a name that `is_catalog_name` accepts.

    Raises:
        TableUnreadable: there is no such table, or it has no location.
    """
    from pyspark.errors import PySparkException

    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except PySparkException as fault:
        raise TableUnreadable(f"{name}: {' '.join(str(fault).split())[:200]}") from fault
    locations = [row["data_type"] for row in rows if row["col_name"] == "Location"]
    if not locations:
        raise TableUnreadable(f"{name}: the catalog gives no location; pass the table's directory instead")
    return str(locations[-1])
