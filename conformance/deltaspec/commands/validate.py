"""`deltaspec validate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from deltaspec.commands.completion import complete_codes, complete_table
from deltaspec.commands.configuration import CONFIGURATION_KEY
from deltaspec.commands.options import (
    AT,
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
from deltaspec.commands.report_formats import FORMATS, RenderSettings
from deltaspec.commands.report_output import plan_reports, write_reports
from deltaspec.commands.several_tables import TablesCommand
from deltaspec.commands.startup import choose_allocator, faster_imports, import_arrow_alone
from deltaspec.commands.storage_options import build_storage_settings
from deltaspec.errors import InvalidUsage
from deltaspec.exit_handling import (
    EXIT_CODE_KEY,
    INTERRUPTED,
    REPORT_KEY,
    TERMINATED,
    Terminated,
    make_waits_interruptible,
)

if TYPE_CHECKING:
    from deltaspec.report.report_types import AcceptEntry, Report, Severity
    from deltaspec.validation.options import Options, RunSettings
    from deltaspec.wire.storage.settings import StorageSettings

INTERRUPTS: dict[type[BaseException], str] = {KeyboardInterrupt: "interrupted", Terminated: "terminated"}
"""What stops a run with a partial report, and what the report calls it."""
EXIT_CODES = {"interrupted": INTERRUPTED, "terminated": TERMINATED}
_TEXT_SAMPLES = 5
_MACHINE_SAMPLES = 1000


@click.command(cls=TablesCommand)
@click.argument("table", metavar="TABLE...", shell_complete=complete_table)
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
@click.option("--format", "output_format", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report to this file.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT:PATH",
    help="Write another report, in a format of --format, to this file; without PATH to stdout. Can be repeated.",
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
    help="Do not report the run as incomplete because of these rules, or of a table feature: feature:NAME.",
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
    "--writer-time-zone",
    metavar="ZONE",
    help="Time zone of the sessions that wrote the table, such as Europe/Paris, for SQL expressions that depend on it.",
)
@click.option(
    "--engine",
    default="embedded",
    show_default=True,
    metavar="embedded|spark[=MASTER]|auto",
    help="Where the rules run: in this process, on Spark, or on Spark only if the table is large.",
)
@click.option(
    "--since",
    type=click.Path(),
    metavar="REPORT",
    help="Check only files that were added since this JSON report of the table. It has to be complete.",
)
@click.option(
    "--estimate",
    "estimates",
    is_flag=True,
    help="Print how much each level would read, and how long it takes, of several tables also the totals; exit.",
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
    help="Tables to validate at once, each in a process.",
)
@click.option("-q", "--quiet/--no-quiet", help="Print only the verdict as text, and no progress.")
@click.option(
    "-v",
    "--verbose/--no-verbose",
    help="Print all samples, accepted findings and requirements as text, and the time of each phase on stderr.",
)
@COLOR
def validate(
    table: str,
    level: str,
    at: str | None,
    history: str,
    revision: str,
    clock: int | None,
    select: list[str],
    ignore: list[str],
    baseline: str | None,
    output_format: str,
    output: str | None,
    reports: tuple[str, ...],
    samples: int | None,
    accept_unchecked: list[str],
    allow_outside: bool,
    confirm: bool,
    writer_time_zone: str | None,
    engine: str,
    since: str | None,
    estimates: bool,
    findings_out: str | None,
    state: str | None,
    budget: str | None,
    max_requests_per_second: float | None,
    resume: bool,
    config: str | None,
    fail_on: Severity,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    color: str,
    accept: Sequence[AcceptEntry],
) -> None:
    """Validate the TABLE at a path or URI, or several.

    Several tables are named by several arguments, by --tables-from, or by a glob over folders: 's3://lake/*/orders', or
    'lake/**' for all below lake. With --engine spark, 'catalog.schema.*' names the Delta tables of a schema. The output
    is the report of each table that does not conform, and a summary with a line for each table (--format text or json).
    The exit code is that of the worst table, in the order 4, 2, 1, 5, 3, 0; one that cannot be read does not stop the
    others. If a store does not answer for any of the first three tables, its other tables are not run. PATH of --report
    then contains {table}, the name of a table in files, or is a directory with / at its end; sarif and junit can also
    have one file for all tables. --findings-out, --state and --since also need {table}, which one table can have, too.
    Missing directories of such paths are created.

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

    [[accept]] in such a file accepts findings of a `rule` (code or prefix) for a `reason`. Optional keys: `path`, a
    glob over data files or log files, relative to the table; `until`, the last day; `link`, such as an issue. Accepted
    findings are counted and do not fail the run. Rules of --ignore do not run at all.

    CODES are rule codes or prefixes of codes, separated by commas, such as LOG,FIL001. `deltaspec rules` lists them.

    MASTER is a Spark master, such as local[4], spark://host:7077 or yarn, or sc://host for Spark Connect. Without it,
    Spark uses its own configuration. `deltaspec doctor --spark` checks the installation.

    If a run with --state DIR is killed, rerun it with --resume. The report is the same as that of an uninterrupted run.
    A state is refused if the release, the options or the log have changed. Make sure that only you can write
    to DIR: it contains pickles, which are executed when they are loaded. You may delete it after the run.

    A run that is interrupted, or that has used its --budget, stops between two steps, writes the report of what it has
    found, and lists as not checked what it has not decided. With --state DIR, --resume continues it. On Spark, tasks
    stop between buckets; with --state, the run stops between jobs. A budget applies to each of several tables.
    """
    if quiet and verbose:
        raise InvalidUsage("--verbose cannot be combined with --quiet")
    context = click.get_current_context()
    given = context.get_parameter_source("output_format")
    format_is_given = given not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    targets = plan_reports(output_format, output, reports, format_is_given=format_is_given)
    choose_allocator(table, reads_rows=level == "rows")
    configuration = context.meta[CONFIGURATION_KEY]
    storage = build_storage_settings(context)
    if estimates:
        if reports:
            raise InvalidUsage("--estimate cannot be combined with --report; use --format and --output")
        _print_estimate(table, at, history, revision, output_format, output, color, storage)
        return
    with faster_imports():
        if engine == "embedded":
            import_arrow_alone()
        from msgspec.structs import replace

        from deltaspec.report.exit_reason import explain_exit_code
        from deltaspec.report.report_types import compute_exit_code
        from deltaspec.validation.options import Options, RunSettings
        from deltaspec.validation.progress import PhaseTimer, ignore_progress
        from deltaspec.validation.stopping import parse_budget

    # with a state, the format does not change the samples: another format may be asked for when the run resumes
    only_text = all(each.format == "text" for each in targets)
    default_samples = _TEXT_SAMPLES if only_text and state is None and not verbose else _MACHINE_SAMPLES
    options = Options.create(
        level=level,
        at=at,
        history=history,
        revision=revision,
        clock=clock,
        select=select or None,
        ignore=ignore,
        samples=samples or default_samples,
        accept_unchecked=accept_unchecked,
        allow_outside=allow_outside,
        confirm=confirm,
        writer_time_zone=writer_time_zone,
        accept=accept,
        baseline=baseline,
        since=since,
    )
    with nullcontext() if quiet else show_progress() as progress:
        timer = PhaseTimer(progress or ignore_progress)
        settings = RunSettings(timer, state, resume, findings_out, budget=parse_budget(budget), interrupts=INTERRUPTS)
        report = run_engine(table, engine, options, settings, storage)
    seconds = timer.finish()
    exit_code = EXIT_CODES.get(report.stopped or "", compute_exit_code(report, fail_on, exit_zero=exit_zero))
    report = replace(report, exit_reason=explain_exit_code(report, exit_code, fail_on))
    context.meta[EXIT_CODE_KEY] = exit_code
    context.meta[REPORT_KEY] = report
    if configuration.file and not quiet:
        click.echo(f"defaults from {configuration.file}", err=True)
    if verbose:
        phases = ", ".join(f"{phase} {each:.2f}" for phase, each in seconds.items())
        click.echo(f"{sum(seconds.values()):.2f} seconds: {phases}", err=True)
    shown = samples or default_samples if verbose else samples or _TEXT_SAMPLES
    write_reports(report, targets, RenderSettings(shown, color, exit_code, quiet, verbose, storage))
    if not quiet and (files := [each.path for each in targets if each.path is not None]):
        click.echo(f"{report.describe_verdict(exit_code)} · report in {', '.join(files)}", err=True)
    if report.stopped is not None:
        click.echo(f"deltaspec: {report.stopped}; {_describe_resuming(state)}", err=True)
    sys.exit(exit_code)


def _describe_resuming(state: str | None) -> str:
    """Return how a run that stopped can be continued."""
    if state is None:
        return "the report is partial; with --state DIR, a later run can continue with --resume"
    return f"the report is partial; to continue, run the same command with --state {quote(state)} --resume"


def run_engine(table: str, engine: str, options: Options, settings: RunSettings, storage: StorageSettings) -> Report:
    """Run the engine that the user chose, or the one that suits the table, and return its report."""
    from deltaspec.validation.engine_choice import choose_engine, parse_engine

    requested = parse_engine(engine)
    name, master = requested.engine, requested.master
    if name == "auto":
        from deltaspec.validation.describe.read_estimate import estimate_table
        from deltaspec.validation.spark.environment import find_missing_requirement

        estimate = estimate_table(
            table, at=options.at, history=options.history, revision=str(options.revision), storage=storage
        )
        choice = choose_engine(estimate, options.level, find_missing_requirement(master))
        click.echo(f"engine {choice.engine}: {choice.reason}", err=True)
        name = choice.engine
    if name == "embedded":
        with faster_imports():
            import_arrow_alone()
            from deltaspec.validation import run
        make_waits_interruptible()
        return run.run_embedded(table, options, settings, storage)
    _check_local_table(table, master)
    from deltaspec.validation.spark.session import open_session

    with open_session(master) as session:
        spark_run: Any = import_module("deltaspec.validation.spark.run")
        report: Report = spark_run.run_on_spark(session, table, options, settings, storage=storage)
        return report


def _check_local_table(table: str, master: str | None) -> None:
    """Raise `TableUnreadable` before Spark starts if only this machine can have the table, and does not."""
    from deltaspec.validation.spark.catalog import is_catalog_name
    from deltaspec.validation.spark.environment import is_configured
    from deltaspec.wire.storage.factory import is_local, open_store

    is_on_this_machine = is_local(table) and not is_catalog_name(table)
    if not is_configured() and (master is None or master.startswith("local")) and is_on_this_machine:
        open_store(table).list_log()


def _print_estimate(
    table: str,
    at: str | None,
    history: str,
    revision: str,
    output_format: str,
    output: str | None,
    color: str,
    storage: StorageSettings,
) -> None:
    if output_format not in ("text", "json"):
        raise InvalidUsage("--estimate supports only: text, json")
    import_arrow_alone()
    from deltaspec.report.estimate import write_estimate
    from deltaspec.validation.describe.read_estimate import estimate_table

    estimate = estimate_table(table, at=at, history=history, revision=revision, storage=storage, measures_time=True)
    write_text_or_json(estimate, write_estimate, {"output_format": output_format, "output": output, "color": color})
