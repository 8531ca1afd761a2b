"""Tables with change data feed, for tests of row changes."""

from typing import Any

from helpers import scenario
from helpers.scenario import metadata, protocol

from deltaspec.protocol.actions import Add, MetaData

FEED_ENABLED = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
MAPPED = {**FEED_ENABLED, "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
PROTOCOL = protocol(3, 7, ["deletionVectors", "columnMapping"], ["deletionVectors", "columnMapping", "changeDataFeed"])
NO_CHANGE: dict[str, Any] = {"data_change": False}


def column(name: str, kind: Any = "long", physical: str | None = None) -> dict[str, Any]:
    mapped = {"delta.columnMapping.physicalName": physical} if physical else {}
    return {"name": name, "type": kind, "nullable": True, "metadata": mapped}


def table(*columns: dict[str, Any], by: tuple[str, ...] = (), mapped: bool = False) -> MetaData:
    return metadata(MAPPED if mapped else FEED_ENABLED, scenario.schema(*columns), by)


def add(path: str, **more: Any) -> Add:
    return scenario.add(path, **more)


def id_rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number} for number in numbers]


ONE_COLUMN_TABLE = table(column("id"))
