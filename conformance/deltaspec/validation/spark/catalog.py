"""Tables that are named as a catalog of Spark names them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltaspec.errors import TableUnreadable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = r"(?:[A-Za-z0-9_]+|`(?:[^`]|``)+`)"
_CATALOG_NAME = re.compile(rf"{_NAME}(?:\.{_NAME}){{1,2}}")
"""A schema and a table, with or without their catalog."""


def is_catalog_name(table: str) -> bool:
    """Whether a text is `schema.table` or `catalog.schema.table`, parts quoted by backticks or plain."""
    return _CATALOG_NAME.fullmatch(table) is not None


def get_table_location(spark: SparkSession, name: str) -> str:
    """The URI of a table of a catalog, by a name that `is_catalog_name` takes.

    Raises:
        TableUnreadable: there is no such table, or it is no place of files.
    """
    from pyspark.errors import PySparkException

    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except PySparkException as fault:
        raise TableUnreadable(f"{name}: {' '.join(str(fault).split())[:200]}") from fault
    places = [row["data_type"] for row in rows if row["col_name"] == "Location"]
    if not places:
        raise TableUnreadable(f"{name}: has no location; name the directory of the table")
    return str(places[-1])
