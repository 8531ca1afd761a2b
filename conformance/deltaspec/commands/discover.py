"""`deltaspec discover`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from deltaspec import __version__
from deltaspec.commands.configuration import load_configuration
from deltaspec.commands.options import CATALOG, CONFIG
from deltaspec.commands.printing import encode_json, print_bytes, print_text
from deltaspec.commands.run_output import format_option
from deltaspec.commands.validate import validate
from deltaspec.errors import TableUnreadable
from deltaspec.exit_codes import ExitCode

DISCOVERY_VERSION = 1
"""Increases when a field of the JSON output is removed or changes its meaning."""


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

    uc://catalog.schema.* lists the Delta tables of a schema in the Unity Catalog at --catalog.

    If a folder cannot be listed, a line on stderr names it, and the exit code is 3. Storage options come from the
    configuration file, as for `deltaspec validate`.
    """
    from deltaspec.report.text import escape_text
    from deltaspec.wire.catalog.names import is_catalog_table
    from deltaspec.wire.storage.interface import redact_uri
    from deltaspec.wire.storage.settings import StorageSettings
    from deltaspec.wire.storage.table_search import Unsearched, find_tables

    configuration = load_configuration(config, f"{location.rstrip('/')}/*", validate.configurable_options)
    tables: list[str] = []
    unsearched: list[dict[str, str]] = []
    is_empty = True
    if is_catalog_table(location):
        from deltaspec.validation.unity_tables import expand_pattern

        search: Iterator[str | Unsearched] = expand_pattern(location, catalog)
    else:
        search = find_tables(location, StorageSettings(configuration.storage_options), hidden=hidden)
    for found in search:
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
        head = {"discovery_version": DISCOVERY_VERSION, "deltaspec": __version__}
        print_bytes(encode_json({**head, "tables": tables, "not_searched": unsearched}))
    sys.exit(ExitCode.INCOMPLETE if unsearched else ExitCode.OK)
