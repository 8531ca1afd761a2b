"""A table as a catalog lists it, whichever catalog it is."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import field


class ListedTable(msgspec.Struct, frozen=True):
    """A Delta table of a catalog."""

    name: str
    """Name in the catalog, such as `database.table`."""
    location: str
    """Path or URI; empty if the catalog has none."""
    owner: str = ""
    properties: dict[str, str] = field(default_factory=dict)


def find_location(location: str | None, parameters: Mapping[str, str] | None) -> str:
    """Return the location of a table in Hive's model: Spark stores it as the parameter `path` of the serializer."""
    return (parameters or {}).get("path") or location or ""


def is_delta(parameters: Mapping[str, str]) -> bool:
    """Return whether the parameters of a table in Hive's model say that it is a Delta table, as engines write them."""
    found = {name.lower(): value.lower() for name, value in parameters.items()}
    return "delta" in (
        found.get("spark.sql.sources.provider"),
        found.get("table_type"),
        found.get("classification"),
    ) or "deltastoragehandler" in found.get("storage_handler", "")
