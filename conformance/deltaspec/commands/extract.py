"""`deltaspec extract`."""

from __future__ import annotations

from shlex import quote

import click

from deltaspec.commands.completion import complete_codes, complete_table
from deltaspec.commands.options import REVISIONS
from deltaspec.commands.startup import choose_allocator, faster_imports, leave_out_pandas


@click.command()
@click.argument("table", shell_complete=complete_table)
@click.argument("finding", metavar="FINGERPRINT|RULE", shell_complete=complete_codes)
@click.option(
    "--output", required=True, type=click.Path(), metavar="DIR", help="Write the case to this new or empty directory."
)
@click.option("--redact", is_flag=True, help="Replace names and values of the table by made-up ones.")
@click.option(
    "--level",
    type=click.Choice(["log", "files", "footers", "rows"]),
    help="Level of the run that reported the finding. [default: that of RULE, or rows]",
)
@click.option("--history", default="latest", show_default=True, metavar="latest|N|all", help="How far to go back.")
@click.option(
    "--revision", type=REVISIONS, default="current", show_default=True, help="Protocol revision to validate against."
)
@click.option(
    "--validations",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Stop after so many validations, with the smallest table so far.",
)
def extract(
    table: str,
    finding: str,
    output: str,
    redact: bool,
    level: str | None,
    history: str,
    revision: str,
    validations: int,
) -> None:
    """Write the smallest table that still shows a finding, as a golden case for a bug report.

    A finding of TABLE is named by its fingerprint in a JSON report, or the first digits of it; or by the code or name
    of its rule: then its first finding is extracted.

    Versions, files, actions, columns, rows and fields are dropped as long as the finding shows and no rule that the
    table conforms to is broken. Data files are copied only if the finding needs them. Nothing is written into TABLE.

    --redact replaces names of columns, paths, properties, constraints and domains, values in statistics, partitions,
    rows and expressions, application ids, UUIDs and descriptions; of commitInfo only timestamps are kept. Values keep
    their order and type. Words of the protocol (such as `date` or `path`), functions in expressions, sizes, counts,
    versions, times of changes, and deletion vectors stay. Nothing is written if an original string of 4 characters or
    more is left, if a file cannot be understood, or if the finding no longer shows.
    """
    choose_allocator()
    with faster_imports():
        from deltaspec.extraction.extract import extract_finding
        from deltaspec.report.text import count
        from deltaspec.rules import RULES
        from deltaspec.validation.options import Options
    leave_out_pandas()

    rule = RULES.get(finding.upper()) or next((each for each in RULES.values() if each.name == finding), None)
    options = Options.create(
        level=level or ("rows" if rule is None else rule.level), history=history, revision=revision
    )
    done = extract_finding(table, finding, output, options, redact=redact, validations=validations)
    size = f"{count(done.log_files, 'log file')} and {count(done.data_files, 'data file')}, {done.size_bytes:,} B"
    click.echo(f"{done.finding.rule} {done.finding.name}: {size} in {output}")
    click.echo(f"Next  deltaspec validate {quote(output)}/delta --level {done.finding.level} --history {history}")
    limit = "nothing more can be dropped" if done.is_complete else "stopped early; a larger --validations may drop more"
    click.echo(f"{count(done.validations, 'validation')}: {limit}", err=True)
