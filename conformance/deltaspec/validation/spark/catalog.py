"""Tables named by a Spark catalog."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.table_search import Unsearched

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_NAME = r"(?:[A-Za-z0-9_]+|`(?:[^`]|``)+`)"
_CATALOG_NAME = re.compile(rf"{_NAME}(?:\.{_NAME}){{0,2}}")
"""`table`, `schema.table` or `catalog.schema.table`."""
_SCHEMA_PATTERN = re.compile(rf"{_NAME}(?:\.{_NAME})?\.[A-Za-z0-9_]*\*[A-Za-z0-9_*]*|{_NAME}\.\*\.\*")


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
    location = _describe_table(spark, name).get("Location")
    if location is None:
        raise TableUnreadable(
            f"{name}: the catalog gives no location, as for a view; pass the table that it reads, or its directory"
        )
    return location


def _describe_table(spark: SparkSession, name: str) -> dict[str, str]:
    """Return what the catalog says about a table. Of rows with the same name the last counts: columns come first."""
    rows = _query(spark, f"DESCRIBE TABLE EXTENDED {name}", name)
    return {row["col_name"]: str(row["data_type"]) for row in rows}


def is_catalog_name(name: str) -> bool:
    """Return whether a name has the form of one in a catalog, with its schema, and is no local path."""
    return "." in name and _CATALOG_NAME.fullmatch(name) is not None and not os.path.lexists(name)


def is_schema_pattern(name: str) -> bool:
    """Return whether a name stands for tables of a schema or of a catalog.

    Such names are `schema.*`, `catalog.schema.*`, `schema.prefix_*`, `catalog.*` and `catalog.*.*`.
    """
    return _SCHEMA_PATTERN.fullmatch(name) is not None


def expand_schema(spark: SparkSession, pattern: str) -> Iterator[str | Unsearched]:
    """Yield the names of the Delta tables of a schema or of a catalog. Views and tables of other formats are left out.

    Tables are sorted in each schema. `name.*` is a schema of the current catalog, or else a catalog.

    Args:
        spark: the session whose catalog is used.
        pattern: for which `is_schema_pattern` is true; `*` in it stands for any part of a table's name.

    Raises:
        TableUnreadable: there is no such schema or catalog, or it does not answer.
    """
    parts = re.findall(rf"{_NAME}|[^.]+", pattern)
    if parts[1:] == ["*", "*"] or (parts[1:] == ["*"] and not _has_schema(spark, parts[0])):
        yield from _expand_catalog(spark, parts[0], pattern)
    else:
        yield from _expand_one_schema(spark, pattern)


def _has_schema(spark: SparkSession, name: str) -> bool:
    try:
        return bool(spark.catalog.databaseExists(name))
    except Exception:  # noqa: BLE001 - a catalog that does not answer; the next statement says why
        return False


def _expand_catalog(spark: SparkSession, catalog: str, pattern: str) -> Iterator[str | Unsearched]:
    for schema in _list_schemas(spark, catalog, pattern):
        name = f"{catalog}.`{schema.replace('`', '``')}`.*"
        try:
            yield from _expand_one_schema(spark, name)
        except TableUnreadable as fault:
            yield Unsearched(name, str(fault).removeprefix(f"{name}: "))


def _list_schemas(spark: SparkSession, catalog: str, pattern: str) -> list[str]:
    rows = _query(spark, f"SHOW NAMESPACES IN {catalog}", pattern)
    return sorted(row[0] for row in rows if row[0] != "information_schema")


def _expand_one_schema(spark: SparkSession, pattern: str) -> Iterator[str | Unsearched]:
    schema, _, names = pattern.rpartition(".")
    rows = _query(spark, f"SHOW TABLES IN {schema}", pattern)
    for name in sorted(row["tableName"] for row in rows if not row["isTemporary"]):
        if not fnmatchcase(name, names):
            continue
        table = f"{schema}.`{name.replace('`', '``')}`"
        try:
            facts = _describe_table(spark, table)
        except TableUnreadable as fault:
            yield Unsearched(table, str(fault).removeprefix(f"{table}: "))
            continue
        if facts.get("Provider", "").casefold() == "delta":
            yield table


def _query(spark: SparkSession, statement: str, name: str) -> list[Row]:
    from pyspark.errors import PySparkException

    try:
        return spark.sql(statement).collect()
    except PySparkException as fault:
        raise TableUnreadable(f"{name}: {' '.join(str(fault).split())[:200]}") from fault
