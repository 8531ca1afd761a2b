"""`deltaspec discover`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from deltaspec import __version__
from deltaspec.commands.configuration import load_configuration
from deltaspec.commands.options import CATALOG, CONFIG
from deltaspec.commands.printing import encode_json, print_bytes, print_text
from deltaspec.commands.run_output import format_option
from deltaspec.commands.validate import validate
from deltaspec.errors import TableUnreadable
from deltaspec.exit_codes import ExitCode

if TYPE_CHECKING:
    from deltaspec.wire.storage.settings import StorageSettings

DISCOVERY_VERSION = 1
"""Increases when a field of the JSON output is removed or changes its meaning."""

_HEAD = {"discovery_version": DISCOVERY_VERSION, "deltaspec": __version__}


@click.command()
@click.argument("location")
@click.option("--hidden", is_flag=True, help="Search also folders whose name begins with `_` or `.`.")
@format_option("text", "json")
@CATALOG
@CONFIG
def discover(location: str, hidden: bool, catalog: str | None, output_format: str, config: str | None) -> None:
    """List the Delta tables at or below LOCATION, a path or URI.

    A table is a folder with a folder _delta_log; its own folders are not searched. Links are followed, and a table that
    several paths lead to is listed once. `deltaspec validate --tables-from` reads the output.

    glue://DATABASE.TABLE lists the Delta tables of AWS Glue, and hms://host:9083/DATABASE.TABLE lists the Delta tables
    of a Hive Metastore without Kerberos. Both names may have globs, or be left out. uc://catalog.schema.* lists the
    Delta tables of a schema in the Unity Catalog at --catalog, by name instead of location. JSON then has also name,
    location, owner and properties. Lines on stderr say what is odd: two tables at one location, a table in the folder
    of another, a location without a log.

    If a folder cannot be listed, a line on stderr names it, and the exit code is 3. Storage options come from the
    configuration file, as for `deltaspec validate`.
    """
    from deltaspec.commands.catalog_discovery import is_listed_catalog
    from deltaspec.report.text import escape_text
    from deltaspec.wire.storage.interface import redact_uri
    from deltaspec.wire.storage.settings import StorageSettings
    from deltaspec.wire.storage.table_search import Unsearched, find_tables

    configuration = load_configuration(config, f"{location.rstrip('/')}/*", validate.configurable_options)
    settings = StorageSettings(configuration.storage_options)
    if is_listed_catalog(location):
        _list_catalog(location, settings, catalog, output_format)
        return
    tables: list[str] = []
    unsearched: list[dict[str, str]] = []
    is_empty = True
    for found in find_tables(location, settings, hidden=hidden):
        is_empty = False
        if isinstance(found, Unsearched):
            unsearched.append({"location": found.location, "reason": found.reason})
            click.echo(f"deltaspec: {escape_text(found.location)}: not searched: {found.reason}", err=True)
        elif output_format == "json":
            tables.append(redact_uri(found))
        else:
            print_text(redact_uri(found))
    if is_empty:
        raise TableUnreadable(f"{redact_uri(location)}: no Delta table at or below this location")
    if output_format == "json":
        print_bytes(encode_json({**_HEAD, "tables": tables, "not_searched": unsearched}))
    sys.exit(ExitCode.INCOMPLETE if unsearched else ExitCode.OK)


def _list_catalog(location: str, settings: StorageSettings, address: str | None, output_format: str) -> None:
    """Print the tables of a catalog: their locations, or names that `validate` resolves with the catalog."""
    from deltaspec.commands.catalog_discovery import discover_catalog
    from deltaspec.report.text import escape_text
    from deltaspec.wire.catalog.names import SCHEME, is_catalog_table

    found = discover_catalog(location, settings, address)
    if not found:
        raise TableUnreadable(f"{location}: no Delta table in the catalog")
    for each in found:
        for odd in each.odd:
            click.echo(f"deltaspec: {escape_text(each.name)}: {escape_text(odd)}", err=True)
    if is_catalog_table(location):
        locations = [f"{SCHEME}{each.name}" for each in found]
    else:
        locations = list(dict.fromkeys(each.location for each in found if each.location))
    if output_format == "json":
        print_bytes(encode_json({**_HEAD, "tables": locations, "not_searched": [], "catalog_tables": found}))
    else:
        for location in locations:
            print_text(location)
