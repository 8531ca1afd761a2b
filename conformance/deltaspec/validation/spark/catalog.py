"""Tables named by a Spark catalog."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from deltaspec.errors import TableUnreadable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = r"(?:[A-Za-z0-9_]+|`(?:[^`]|``)+`)"
_CATALOG_NAME = re.compile(rf"{_NAME}(?:\.{_NAME}){{0,2}}")
"""`table`, `schema.table` or `catalog.schema.table`."""


def find_table_uri(spark: SparkSession, table: str) -> str:
    """Return the URI of a table that is given by its name in the catalog, or as a path or URI.

    The catalog comes first, except for a name with dots that is a local directory.

    Raises:
        TableUnreadable: a name with dots is not in the catalog, or the catalog knows no directory for the name.
    """
    if _CATALOG_NAME.fullmatch(table) is None:
        return table
    if "." in table:
        return table if os.path.isdir(table) else _get_table_location(spark, table)
    return _get_table_location(spark, table) if spark.catalog.tableExists(table) else table


def _get_table_location(spark: SparkSession, name: str) -> str:
    from pyspark.errors import PySparkException

    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except PySparkException as fault:
        raise TableUnreadable(f"{name}: {' '.join(str(fault).split())[:200]}") from fault
    locations = [row["data_type"] for row in rows if row["col_name"] == "Location"]
    if not locations:
        raise TableUnreadable(
            f"{name}: the catalog gives no location, as for a view; pass the table that it reads, or its directory"
        )
    return str(locations[-1])
