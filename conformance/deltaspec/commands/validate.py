"""`deltaspec validate`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import click

from deltaspec.commands.completion import complete_codes, complete_table
from deltaspec.commands.configuration import TableOptions, ValidateCommand, get_given_options
from deltaspec.commands.options import (
    AT,
    CATALOG,
    COLOR,
    CONFIG,
    REVISIONS,
    CountRange,
    NumberRange,
    parse_clock,
    parse_codes,
    parse_names,
)
from deltaspec.commands.printing import write_text_or_json
from deltaspec.commands.progress import show_progress
from deltaspec.commands.report_formats import FORMATS
from deltaspec.commands.run_output import OUTPUT, format_option
from deltaspec.commands.startup import choose_allocator, import_arrow_alone
from deltaspec.commands.validate_request import build_request, run_command, write_outcome
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import EXIT_CODE_KEY
from deltaspec.wire.catalog.names import is_catalog_table


@click.command(cls=ValidateCommand)
@click.argument("tables", metavar="TABLE...", nargs=-1, shell_complete=complete_table)
@click.option(
    "--level",
    type=click.Choice(["log", "files", "footers", "rows"]),
    default="files",
    show_default=True,
    help="How much of the table is read: the log; also the file listing and deletion vectors; also footers; also rows.",
)
@AT
@click.option("--history", default="latest", show_default=True, metavar="latest|N|all", help="How far to go back.")
@click.option(
    "--revision", type=REVISIONS, default="current", show_default=True, help="Protocol revision to validate against."
)
@click.option(
    "--clock",
    callback=parse_clock,
    metavar="INSTANT",
    help="Check retention as of this time: `now`, or ISO 8601 with a time zone. Without it, retention is not checked.",
)
@click.option(
    "--select",
    multiple=True,
    callback=parse_codes,
    shell_complete=complete_codes,
    metavar="CODES",
    help="Run only these rules.",
)
@click.option(
    "--ignore",
    multiple=True,
    callback=parse_codes,
    shell_complete=complete_codes,
    metavar="CODES",
    help="Do not run these rules.",
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Accept the findings in this file, which `deltaspec baseline update` creates. Further findings are new.",
)
@format_option(*FORMATS)
@OUTPUT
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT:PATH",
    help="Write another report, in a format of --format, to this file; without PATH to stdout. html:DIR/ writes a "
    "site, delta:LOCATION appends the results to a Delta table, openmetrics:FILE writes metrics, otlp sends them to "
    "the collector at OTEL_EXPORTER_OTLP_ENDPOINT. Can be repeated.",
)
@click.option(
    "--notify",
    multiple=True,
    metavar="URL",
    help="Tell this Apprise URL what is new or gone since the last run. Write secrets as '${env:VARIABLE}'. Can be "
    "repeated.",
)
@click.option(
    "--notify-state",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep in this file what was known after the last run, for --notify and the channels of the configuration.",
)
@click.option(
    "--samples",
    type=CountRange(min=1),
    metavar="N",
    help="Findings to report of each rule. [default: 5 for text, 1000 for other formats]",
)
@click.option(
    "--accept-unchecked",
    multiple=True,
    callback=parse_names,
    shell_complete=complete_codes,
    metavar="CODES",
    help="Do not report the run as incomplete because of these rules, of a table feature (feature:NAME), or of what "
    "only the catalog of a table knows (catalog).",
)
@click.option(
    "--allow-outside/--no-allow-outside", help="Follow absolute paths that lead out of the table, as in shallow clones."
)
@click.option(
    "--confirm/--no-confirm",
    default=True,
    show_default=True,
    help="Look again at a data file that is missing or damaged, or whose rows have findings, before it is reported.",
)
@click.option(
    "--hints/--no-hints",
    help="At level rows, look also for live files with the same content, which may be the same data added twice. "
    "Hints are not findings, and do not change the verdict.",
)
@click.option(
    "--writer-time-zone",
    metavar="ZONE",
    help="Time zone of the sessions that wrote the table, such as Europe/Paris, for SQL expressions that depend on it.",
)
@click.option(
    "--backend",
    "--engine",
    "backend",
    default="embedded",
    show_default=True,
    metavar="embedded|spark[=MASTER]|auto",
    help="Where the rules run: in this process, on Spark, or on Spark only if the table is large.",
)
@click.option(
    "--since",
    type=click.Path(),
    metavar="REPORT",
    help="Check only files that were added since this JSON report of the table. The report must be complete.",
)
@click.option(
    "--catalog-commits",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Read what the catalog of a catalog-managed table says from this JSON file: the latest version, and names or "
    "contents of the ratified commits that it stores. `deltaspec schema catalog-commits` describes it.",
)
@CATALOG
@click.option(
    "--estimate",
    "estimates",
    is_flag=True,
    help="Print how much each level would read, and how long it takes; for several tables also the totals. Then exit.",
)
@click.option(
    "--findings-out",
    metavar="LOCATION",
    help="Write every finding, also accepted ones, as Parquet: to a file; on Spark to the URI of a new directory.",
)
@click.option("--state", type=click.Path(), metavar="DIR", help="Save progress here, so that --resume can continue.")
@click.option(
    "--budget",
    metavar="DURATION",
    help="Stop cleanly after this time, such as 30m or 1h30m, and report what was not checked.",
)
@click.option(
    "--max-requests-per-second",
    type=NumberRange(min=0, max=1_000_000, min_open=True),
    metavar="N",
    help="Send at most this many requests per second to object stores. [default: no limit]",
)
@click.option("--resume", is_flag=True, help="Continue from the progress in --state, if there is any.")
@CONFIG
@click.option(
    "--fail-on",
    type=click.Choice(["violation", "warning", "divergence"]),
    default="violation",
    show_default=True,
    help="Exit with 1 if there are findings of this severity or a more severe one.",
)
@click.option("--exit-zero/--no-exit-zero", help="Exit with 0 even if there are findings. Incomplete runs exit with 3.")
@click.option(
    "--tables-from",
    metavar="FILE",
    help="Validate also the tables that this file names, one location per line; # begins a comment, - is stdin.",
)
@click.option(
    "--jobs",
    type=CountRange(min=1),
    default=1,
    show_default=True,
    help="Tables to validate at once, each in a process; on Spark, jobs of many small tables or one large table.",
)
@click.option("-q", "--quiet/--no-quiet", help="Print only the verdict as text, and no progress.")
@click.option(
    "-v",
    "--verbose/--no-verbose",
    help="Print all samples, accepted findings and requirements as text, and the time of each phase on stderr.",
)
@COLOR
def validate(tables: tuple[str, ...], tables_from: str | None, **_: Any) -> None:
    """Validate the TABLE at a path or URI, or several.

    Several tables are named by several arguments, by --tables-from, or by a glob over folders: 's3://lake/*/orders', or
    'lake/**' for all below lake. With --backend spark, 'catalog.schema.*' names the Delta tables of a schema,
    'catalog.*' names all of a catalog, and small tables are validated inside of executors. The output is the report of
    each table that does not conform, and a summary with a line for each table (text or json). The exit code is the code
    of the worst table, in the order 4, 2, 1, 5, 3, 0. A table that cannot be read does not stop the others. If a store
    has not answered for three tables, and for no other, its remaining tables are not run. PATH of --report then
    contains {table}, the name of a table in files, or is a directory with / at its end; sarif and junit can also have
    one file for all tables. delta has one table, openmetrics one file, otlp one request, and html:DIR/ one site for
    all: DIR/index.html has the tables by verdict, what is new and a trend. --findings-out, --state, --since and
    --catalog-commits also need {table}, which a single table can use, too. Missing directories of such paths are
    created.

    uc://catalog.schema.table is a table of the Unity Catalog at --catalog, uc://catalog.schema.* all Delta tables of a
    schema. The catalog gives location, credentials, and the commits that it ratified. Requests have the token in
    DELTASPEC_CATALOG_TOKEN. DELTASPEC_CATALOG_TIMEOUT_SECONDS (30) limits the time for an answer, with retries. If the
    catalog does not answer, the exit code is 5; if it refuses, or if its answer cannot be used, 2.

    Nothing is written into a table. Object stores take credentials, region and endpoint from the usual environment
    variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_...).
    A request that gets no response, or status 408, 429 or 5xx, is retried for DELTASPEC_STORE_RETRY_SECONDS (60), with
    growing pauses; then for 5 s, until the store answers. DELTASPEC_STORE_RETRIES also limits how often (no limit), and
    DELTASPEC_STORE_TIMEOUT_SECONDS (15) is the time without a response after which a request has failed. If the log
    cannot be listed, the exit code is 5; other files that cannot be read are not checked.

    --max-requests-per-second limits requests without their retries; several tables share it. On Spark, the driver and
    each Python process of an executor have this limit. DELTASPEC_STORE_REQUESTS_PER_SECOND sets it for every process.

    Defaults can be in deltaspec.toml, or in [tool.deltaspec] of pyproject.toml, in the working directory or above: keys
    are the long options without dashes. [storage-options] has settings of storage clients, with secrets only as
    '${env:NAME}', and [tables."GLOB"] has keys for some tables. The command line wins.

    In [tables."GLOB"], `owner` names who owns tables, `channels` lists Apprise URLs as '${env:NAME}' that get messages
    only about these tables, and `notify-severity` is the least severity that is sent (default: warning). --notify sends
    one message for each run in which something changed.

    [[accept]] in such a file accepts findings of a `rule` (code or prefix) for a `reason`. Optional keys: `path`, a
    glob over data files or log files, relative to the table; `until`, the last day; `link`, such as an issue. Accepted
    findings are counted and do not fail the run. Rules of --ignore do not run at all.

    CODES are rule codes or prefixes of codes, separated by commas, such as LOG,FIL001. `deltaspec rules` lists them.

    MASTER is a Spark master, such as local[4], spark://host:7077 or yarn, or sc://host for Spark Connect. Without it,
    Spark uses its own configuration. `deltaspec doctor --spark` checks the installation.

    If a run with --state DIR is killed, rerun it with --resume. The report is the same as without the interruption.
    A state is refused if the release, the options or the log have changed. Make sure that only you can write
    to DIR: it contains pickles, which are executed when they are loaded. You may delete it after the run.

    A run that is interrupted, or that has used its --budget, stops between two steps. Its report has the findings so
    far, and lists undecided rules as not checked. With --state DIR, --resume continues it. On Spark, tasks
    stop between buckets; with --state, the run stops between jobs. A budget applies to each of several tables.
    """
    context = click.get_current_context()
    given = {name: value for name, value in get_given_options().items() if name != "tables"}
    locations = list(tables)
    if tables_from is not None:
        from deltaspec.commands.table_locations import read_table_list

        locations += read_table_list(tables_from)
    if not locations:
        raise click.MissingParameter(ctx=context, param=context.command.params[0])
    command: Any = context.command
    if tables_from is not None or _names_several(locations):
        from deltaspec.commands.several_tables import validate_tables

        context.meta[EXIT_CODE_KEY] = validate_tables(command, locations, given)
    else:
        _validate_table(context, command.resolve_options(given, locations[0]))
    sys.exit(context.meta[EXIT_CODE_KEY])


def _names_several(locations: list[str]) -> bool:
    from deltaspec.wire.storage.table_search import is_glob

    return len(locations) > 1 or any(map(is_glob, locations))


def _validate_table(context: click.Context, resolved: TableOptions) -> None:
    """Validate or estimate one table, and set the exit code of the command."""
    from deltaspec.commands.table_outputs import expand_options

    resolved = expand_options(resolved)
    values = resolved.values
    context.meta[EXIT_CODE_KEY] = ExitCode.OK
    choose_allocator(resolved.table, reads_rows=values["level"] == "rows")
    if values["estimates"]:
        _print_estimate(resolved)
        return
    request = build_request(resolved)
    with nullcontext() if request.quiet else show_progress() as progress:
        outcome = run_command(request.request, progress)
    context.meta[EXIT_CODE_KEY] = outcome.exit_code
    write_outcome(request, outcome, sys.stdout)


def _print_estimate(resolved: TableOptions) -> None:
    values = resolved.values
    if values["reports"]:
        raise InvalidUsage("--estimate cannot be combined with --report; use --format and --output")
    if values["catalog_commits"]:
        raise InvalidUsage("--estimate cannot be combined with --catalog-commits")
    if is_catalog_table(resolved.table):
        raise InvalidUsage("--estimate cannot be combined with uc://")
    if values["output_format"] not in ("text", "json"):
        raise InvalidUsage("--estimate supports only: text, json")
    import_arrow_alone()
    from deltaspec.commands.several_estimates import estimate_table
    from deltaspec.report.estimate import write_estimate

    write_text_or_json(estimate_table(resolved), write_estimate, values)
