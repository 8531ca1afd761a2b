"""`deltaspec overview`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from deltaspec.commands.configuration import load_contacts
from deltaspec.commands.options import CONFIG
from deltaspec.commands.printing import print_text

if TYPE_CHECKING:
    from deltaspec.lake.overview import Overview


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True))
@click.option(
    "--output", required=True, type=click.Path(file_okay=False), metavar="DIR", help="Write the site to this directory."
)
@CONFIG
def overview(reports: tuple[str, ...], output: str, config: str | None) -> None:
    """Write a site about all tables of REPORTS: index.html, and a page for each table and each rule.

    REPORTS are JSON reports of `deltaspec validate`, and folders of them. The summary of several tables
    (`--format json`) adds the tables without a report. Tables are listed by verdict, rules by number of tables. The
    site shows what is new since the report before, what was not checked, size, age and a trend.

    If DIR has a site, its history continues: name only the new reports. A report belongs to the night (UTC) in the name
    of its file or of a folder above it, such as 2026-11-29/sales.json; without a date, to the night in which the file
    was written. The site needs no server: open index.html. Its pages load nothing from elsewhere.

    `owner = "team"` in [tables."GLOB"] of the configuration file names the owner of tables.
    """
    from deltaspec.report.text import count

    started = time.monotonic()
    found = _build(reports, output, config)
    for note in found.notes:
        click.echo(f"deltaspec: {note}", err=True)
    verdicts = ", ".join(f"{number:,} {verdict}" for verdict, number in found.verdicts if number)
    seconds = time.monotonic() - started
    print_text(
        f"{os.path.join(output, 'index.html')}: {count(len(found.tables), 'table')}: {verdicts}; {seconds:.1f} s"
    )


def _build(reports: tuple[str, ...], output: str, config: str | None) -> Overview:
    from deltaspec.commands.table_names import build_table_name, normalize_location
    from deltaspec.errors import InvalidUsage
    from deltaspec.lake.site import SiteBuilder
    from deltaspec.lake.stored_reports import find_files, read_file, read_report
    from deltaspec.output_files import fill_directory
    from deltaspec.report.text import count, escape_text
    from deltaspec.validation.output_location import require_outside_table

    require_outside_table(os.path.join(output, "index.html"), None)
    contacts = load_contacts(config)
    files = [each for each in find_files(reports) if not _is_below(each.path, output)]
    ignored: list[str] = []
    with fill_directory(output) as folder:
        site = SiteBuilder(output, folder, build_table_name, contacts.get_owner)
        latest: dict[str, str] = {}
        for file in files:
            readings = read_file(file)
            if readings is None:
                ignored.append(file.path)
                continue
            for each in readings:
                table = normalize_location(each.result.table)
                known = site.state.record(table, file.time_ms, each.result, each.report)
                if known.checked_ms == file.time_ms:
                    latest[table] = file.path if each.report is not None else ""
        if not latest and not site.state.tables:
            raise InvalidUsage(f"{', '.join(reports)}: no JSON report of deltaspec validate")
        for table, path in latest.items():
            if path:
                site.add_page(table, read_report(path))
        notes = []
        if ignored:
            names = ", ".join(escape_text(each, 80) for each in ignored[:3])
            notes.append(f"{count(len(ignored), 'JSON file')} without a complete report: {names}")
        return site.finish(notes)


def _is_below(path: str, directory: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(directory), ""))
