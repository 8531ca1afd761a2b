"""Find the tables of a catalog, and what is odd about them: no log, the same location twice, or one in another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import msgspec

from deltaspec.commands.table_names import normalize_location
from deltaspec.errors import DeltaspecError
from deltaspec.installation import build_install_command
from deltaspec.validation.unity_tables import list_unity_tables, resolve_table
from deltaspec.wire.catalog.glue import SCHEME as GLUE
from deltaspec.wire.catalog.glue import list_glue_tables
from deltaspec.wire.catalog.hive import SCHEME as HIVE
from deltaspec.wire.catalog.hive import list_hive_tables
from deltaspec.wire.catalog.http import is_loopback
from deltaspec.wire.catalog.listed import ListedTable
from deltaspec.wire.catalog.names import SCHEME as UNITY
from deltaspec.wire.storage.factory import is_local
from deltaspec.wire.storage.folders import open_folders
from deltaspec.wire.storage.interface import StorageError, redact_uri
from deltaspec.wire.storage.settings import StorageSettings

_CONCURRENCY = 16


class DiscoveredTable(msgspec.Struct, frozen=True):
    """A table of a catalog, with what is odd about it."""

    name: str
    location: str
    owner: str
    properties: dict[str, str]
    odd: list[str]
    """Sentences; empty if nothing is odd."""


def is_listed_catalog(location: str) -> bool:
    """Return whether a location names a catalog whose tables are listed with their locations."""
    return location.startswith((GLUE, HIVE, UNITY))


def discover_catalog(location: str, settings: StorageSettings, address: str | None) -> list[DiscoveredTable]:
    """Return the Delta tables of a catalog.

    Args:
        location: `glue://…`, `hms://…` or `uc://…`.
        settings: of storage clients, with which the logs of the tables are looked for.
        address: of the Unity Catalog; None if none is given.

    Raises:
        InvalidUsage, TableUnreadable, StorageUnavailable: as `list_glue_tables`, `list_hive_tables` and
            `list_unity_tables`.
    """
    if location.startswith(UNITY):
        found = list_unity_tables(location, address)
        return list(_describe_tables(found, lambda each: _find_unity_fault(each, address, settings)))
    if location.startswith(GLUE):
        found = list(list_glue_tables(location, settings, build_install_command("glue")))
        may_be_local = False
    else:
        found = list(list_hive_tables(location, build_install_command("hive")))
        may_be_local = is_loopback(urlsplit(location))
    return list(_describe_tables(found, lambda each: _find_fault(each, settings, may_be_local=may_be_local)))


def _describe_tables(
    tables: Sequence[ListedTable], find_fault: Callable[[ListedTable], str]
) -> Iterator[DiscoveredTable]:
    places = [_normalize(each.location) for each in tables]
    by_place: dict[str, list[str]] = defaultdict(list)
    for place, each in zip(places, tables, strict=True):
        by_place[place].append(each.name)
    with ThreadPoolExecutor(_CONCURRENCY) as pool:
        faults = pool.map(find_fault, tables)
        for each, place, fault in zip(tables, places, faults, strict=True):
            odd = [fault] if fault else []
            if place:
                odd += [f"has the same location as {name}" for name in by_place[place] if name != each.name]
                odd += [f"is in the folder of {name}" for name in _find_parents(place, by_place)]
            yield DiscoveredTable(each.name, redact_uri(each.location), each.owner, each.properties, odd)


def _normalize(location: str) -> str:
    return normalize_location(location).rstrip("/") if location else ""


def _find_parents(place: str, by_place: dict[str, list[str]]) -> Iterable[str]:
    """Yield the names of tables in whose folders a place is."""
    folder = place.rpartition("/")[0]
    while folder and not folder.endswith(":/"):
        yield from by_place.get(folder, [])
        folder = folder.rpartition("/")[0]


def _find_fault(table: ListedTable, settings: StorageSettings, *, may_be_local: bool) -> str:
    """Return what is wrong with the location of a table; empty if it has a log."""
    if not table.location:
        return "has no location"
    if is_local(table.location) and not may_be_local:
        return "is in a folder of another machine, so its log was not looked for"
    return _find_missing_log(table.location, settings)


def _find_unity_fault(table: ListedTable, address: str | None, settings: StorageSettings) -> str:
    """Return the same for a table of a Unity Catalog, which gives credentials for its location."""
    if not table.location:
        return "has no location"
    try:
        resolved = resolve_table(f"{UNITY}{table.name}", address, settings)
    except DeltaspecError as fault:
        return f"its log was not looked for: {fault}"
    return _find_missing_log(resolved.location, resolved.storage)


def _find_missing_log(location: str, settings: StorageSettings) -> str:
    try:
        return "" if open_folders(location, settings).is_table("") else "has no _delta_log at its location"
    except (DeltaspecError, StorageError) as fault:
        return f"its log was not looked for: {fault}"
