"""`deltaspec compare`."""

from __future__ import annotations

import re
import sys

import click

from deltaspec.commands.completion import complete_table
from deltaspec.commands.options import AT, NumberRange, parse_names
from deltaspec.commands.progress import show_progress
from deltaspec.commands.run_output import OUTPUT, format_option, write_report
from deltaspec.commands.startup import choose_allocator


def _parse_share(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Parse a percentage such as `1%` or `0.5`."""
    if value is None:
        return None
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?%?", value, re.ASCII) or not 0 < float(value.rstrip("%")) <= 100:
        raise click.BadParameter("expected a percentage above 0 and up to 100, such as 1%")
    return float(value.rstrip("%")) / 100


def _parse_range(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Parse `4..7`, or `4` for one version."""
    if value is None:
        return None
    first, dots, last = value.partition("..")
    if not (first.isdecimal() and (last if dots else first).isdecimal() and value.isascii() and len(value) < 40):
        raise click.BadParameter("expected two versions, such as 4..7, or one")
    return int(first), int(last or first)


@click.command()
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True, shell_complete=complete_table)
@click.option(
    "--with",
    "candidates",
    multiple=True,
    required=True,
    callback=parse_names,
    metavar="CANDIDATES",
    help="Engines to ask: names of adapters (`deltaspec doctor` lists them), cmd:COMMAND or py:MODULE:CLASS.",
)
@AT
@click.option(
    "--columns", multiple=True, callback=parse_names, metavar="NAMES", help="Compare only these top-level columns."
)
@click.option(
    "--sample",
    callback=_parse_share,
    metavar="PERCENT",
    help="Compare only some partitions, or rows in a range of a column, with about this part of the data, such as 1%.",
)
@click.option(
    "--changes",
    callback=_parse_range,
    metavar="FIRST..LAST",
    help="Compare the changed rows of these versions, too; the times of commits are not compared.",
)
@click.option("--redact", is_flag=True, help="Leave values, paths and messages of engines out of the report.")
@click.option("--allow-outside", is_flag=True, help="Follow absolute paths that lead out of the table.")
@click.option(
    "--timeout-scale",
    type=NumberRange(min=0.01),
    default=1.0,
    show_default=True,
    help="Multiplies all deadlines of the engines.",
)
@format_option("text", "json")
@OUTPUT
def compare(
    tables: tuple[str, ...],
    candidates: list[str],
    at: str | None,
    columns: list[str],
    sample: float | None,
    changes: tuple[int, int] | None,
    redact: bool,
    allow_outside: bool,
    timeout_scale: float,
    output_format: str,
    output: str | None,
) -> None:
    """Compare what engines read of your own TABLE with what the protocol says.

    Each engine is asked for version, schema, number of rows, and all rows. The rows are compared with those that
    deltaspec reads, by column and by partition. If they differ, the report names partitions, files and some rows, and
    the known finding that explains the difference.

    Nothing is written into the table. An engine that takes too long, uses too much memory or returns too many bytes is
    killed. The exit code is 0 if all engines return what the protocol says, 1 if one differs or fails, 3 if something
    could not be compared, such as a table with a feature that an engine does not declare.
    """
    choose_allocator()
    from deltaspec.comparison.compare import CompareRequest, compare_tables
    from deltaspec.comparison.rendering import render_text

    request = CompareRequest(
        at=at,
        columns=tuple(columns) or None,
        sample=sample,
        changes=changes,
        allow_outside=allow_outside,
        redact=redact,
        timeout_scale=timeout_scale,
    )
    with show_progress() as progress:
        found = compare_tables(tables, candidates, request, progress)
    write_report(found, {"text": render_text}, output_format, output, found.exit_code)
    sys.exit(found.exit_code)
