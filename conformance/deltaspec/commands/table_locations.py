"""Find the tables that a command line names: locations, globs, a list in a file, and names in a Spark catalog."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from deltaspec.commands.table_names import normalize_location
from deltaspec.errors import DeltaspecError, InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.input_files import read_input_file
from deltaspec.wire.catalog.names import is_catalog_table, parse_catalog_name
from deltaspec.wire.storage.factory import is_local
from deltaspec.wire.storage.interface import escape_file_name, redact_uri
from deltaspec.wire.storage.settings import StorageSettings
from deltaspec.wire.storage.table_search import Unsearched, expand_glob, is_glob

_MAX_LIST_BYTES = 64 << 20


def read_table_list(file: str) -> list[str]:
    """Read a list of tables: one path, URI, glob or name per line. `#` begins a comment, and `-` is stdin.

    Raises:
        InvalidUsage: the file cannot be read, is too large, or names no table.
    """
    if file != "-":
        data = read_input_file(file, _MAX_LIST_BYTES, f"--tables-from {file}")
    elif len(data := sys.stdin.buffer.read(_MAX_LIST_BYTES + 1)) > _MAX_LIST_BYTES:
        raise InvalidUsage(f"--tables-from -: larger than {_MAX_LIST_BYTES:,} bytes")
    lines = (os.fsdecode(line).strip() for line in data.splitlines())
    found = [line for line in lines if line and not line.startswith("#")]
    if any("\0" in each for each in found):
        raise InvalidUsage(f"--tables-from {file}: is not a text file")
    if not found:
        raise InvalidUsage(f"--tables-from {file}: names no table; write one location per line")
    return found


def find_locations(
    given: Sequence[str], get_storage: Callable[[str], StorageSettings], session: Any, catalog: str | None = None
) -> Iterator[str | Unsearched]:
    """Yield the location of each table once, in the order in which they are named.

    A folder that cannot be searched, or a glob without a table, is yielded as `Unsearched`.

    Args:
        given: locations, globs and names.
        get_storage: returns the settings of storage clients for a glob.
        session: Spark session that looks up the tables of schemas; None if there is no Spark.
        catalog: address of the catalog of names that begin with uc://.
    """
    seen: set[str] = set()
    for each in given:
        for found in _expand(each, get_storage, session, catalog):
            if isinstance(found, str):
                key = identify_location(found)
                if key in seen:
                    continue
                seen.add(key)
            yield found


def identify_location(location: str) -> str:
    """Return an identity that is the same for all paths of one table."""
    normalized = normalize_location(location)
    return os.path.realpath(normalized) if is_local(location) else normalized


def describe_location(location: str) -> str:
    """Return a location for display: printable and without secrets."""
    return escape_file_name(redact_uri(location))


def _expand(
    given: str, get_storage: Callable[[str], StorageSettings], session: Any, catalog: str | None
) -> Iterator[str | Unsearched]:
    if is_catalog_table(given):
        if parse_catalog_name(given).is_pattern:
            from deltaspec.validation.unity_tables import expand_pattern

            yield from _describe_faults(given, lambda: expand_pattern(given, catalog))
        else:
            yield given
        return
    if session is not None:
        from deltaspec.validation.spark.catalog import expand_schema, is_schema_pattern

        if is_schema_pattern(given):
            yield from _describe_faults(given, lambda: expand_schema(session, given))
            return
    if is_glob(given):
        yield from _describe_faults(given, lambda: expand_glob(given, get_storage(given)))
    else:
        yield given


def _describe_faults(given: str, search: Callable[[], Iterator[str | Unsearched]]) -> Iterator[str | Unsearched]:
    is_empty = True
    try:
        for found in search():
            is_empty = False
            yield found
        if is_empty:
            raise TableUnreadable("no table matches")
    except InvalidUsage:
        raise
    except DeltaspecError as fault:
        reason = str(fault).removeprefix(f"{describe_location(given)}: ")
        yield Unsearched(describe_location(given), reason, is_outage=isinstance(fault, StorageUnavailable))
