"""`deltaspec extract`."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from deltaspec.commands.completion import complete_codes, complete_table
from deltaspec.commands.configuration import ConfiguredCommand, get_given_options
from deltaspec.commands.options import CountRange
from deltaspec.commands.startup import choose_allocator, faster_imports, import_arrow_alone
from deltaspec.commands.validate import validate

_SHARED = ("history", "revision", "clock", "allow_outside", "writer_time_zone", "max_requests_per_second")


@click.command(cls=ConfiguredCommand, params=validate.select_options(_SHARED))
@click.argument("table", shell_complete=complete_table)
@click.argument("finding", metavar="FINGERPRINT|RULE", shell_complete=complete_codes)
@click.option(
    "--output", required=True, type=click.Path(), metavar="DIR", help="Write the case to this new or empty directory."
)
@click.option("--redact", is_flag=True, help="Replace names and values of the table by made-up ones.")
@click.option(
    "--level",
    type=click.Choice(["log", "files", "footers", "rows"]),
    help="Level of the run that reported the finding. [default: the level of RULE, of the configuration, or rows]",
)
@click.option(
    "--validations",
    type=CountRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Stop after this many validations, with the smallest table so far.",
)
def extract(table: str, finding: str, output: str, redact: bool, validations: int, **_: Any) -> None:
    """Write the smallest table that still shows a finding, as a golden case for a bug report.

    Name a finding of TABLE by its fingerprint in a JSON report, or the first digits of it; or name a rule by its code
    or name to extract its first finding.

    Versions, files, actions, columns, rows and fields are dropped as long as the finding shows and no rule that the
    table conforms to is broken. Data files are copied only if the finding needs them. Nothing is written into TABLE.

    --redact replaces names of columns, paths, properties, constraints and domains, values in statistics, partitions,
    rows and expressions, application ids, UUIDs and descriptions; of commitInfo only timestamps are kept. Values keep
    their order and type. Words of the protocol (such as `date` or `path`), functions in expressions, sizes, counts,
    versions, times of changes, and deletion vectors stay. Nothing is written if an original string of 4 characters or
    more is left, if a file cannot be understood, or if the finding no longer shows.

    Options that are not given, and settings of storage clients, come from the configuration file, as for `deltaspec
    validate`. Findings that it accepts, or whose rules it does not run, are extracted too. The newest
    version is extracted, in memory: the log, and the data files that the finding needs, may each have at most 256 MiB.
    """
    choose_allocator()
    with faster_imports():
        import_arrow_alone()
        from deltaspec.extraction.extract import extract_finding
        from deltaspec.report.text import count
        from deltaspec.rules import RULES
        from deltaspec.validation.options import OptionArguments, Options

    rule = RULES.get(finding.upper()) or next((each for each in RULES.values() if each.name == finding), None)
    given = {name: value for name, value in get_given_options().items() if name in (*_SHARED, "level", "config")}
    resolved = validate.resolve_options(given, table)
    chosen = {name: resolved.values[name] for name in OptionArguments.__annotations__ if name in _SHARED}
    level = resolved.values["level"]
    if "level" not in resolved.given and rule is not None:
        level = rule.level
    elif "level" not in resolved.given | resolved.configured:
        level = "rows"
    options = Options.create(**{**chosen, "level": level})
    done = extract_finding(
        table, finding, output, options, redact=redact, validations=validations, storage=resolved.storage
    )
    size = f"{count(done.log_files, 'log file')} and {count(done.data_files, 'data file')}, {done.size_bytes:,} B"
    click.echo(f"{done.finding.rule} {done.finding.name}: {size} in {output}")
    click.echo(
        f"Next  deltaspec validate {quote(output)}/delta --level {done.finding.level} --history {chosen['history']}"
    )
    limit = "nothing more can be dropped" if done.is_complete else "stopped early; a larger --validations may drop more"
    click.echo(f"{count(done.validations, 'validation')}: {limit}", err=True)
