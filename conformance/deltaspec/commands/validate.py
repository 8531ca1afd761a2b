"""`deltaspec validate`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from deltaspec.commands.options import COLOR, REVISIONS, parse_clock, parse_codes, parse_names
from deltaspec.commands.printing import build_console, encode_json, print_bytes, progress_bar
from deltaspec.commands.startup import choose_allocator, faster_imports, leave_out_pandas
from deltaspec.errors import InvalidUsage
from deltaspec.exit_handling import EXIT_CODE_KEY, translate_write_errors

if TYPE_CHECKING:
    from deltaspec.pages.validation import Charts
    from deltaspec.report.report_types import Report
    from deltaspec.validation.options import Options, RunSettings

_TEXT_SAMPLES = 5
_MACHINE_SAMPLES = 1000


@click.command()
@click.argument("table")
@click.option(
    "--level",
    type=click.Choice(["log", "files", "footers", "rows"]),
    default="files",
    show_default=True,
    help="How much of the table is read: the log; also the file listing and deletion vectors; also footers; also rows.",
)
@click.option("--at", type=click.IntRange(min=0), metavar="VERSION", help="Version to validate. [default: the latest]")
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
@click.option("--select", multiple=True, callback=parse_codes, metavar="CODES", help="Run only these rules.")
@click.option("--ignore", multiple=True, callback=parse_codes, metavar="CODES", help="Do not run these rules.")
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "junit", "html"]), default="text", show_default=True
)
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report to this file.")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    help="Findings to report of each rule. [default: 5 for text, 1000 for other formats]",
)
@click.option(
    "--accept-unchecked",
    multiple=True,
    callback=parse_names,
    metavar="CODES",
    help="Do not report the run as incomplete because of these rules, or of a table feature: feature:NAME.",
)
@click.option(
    "--allow-outside", is_flag=True, help="Follow absolute paths that lead out of the table, as in shallow clones."
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
@click.option("--estimate", "estimates", is_flag=True, help="Print how much each level would read, and exit.")
@click.option(
    "--findings-out",
    metavar="LOCATION",
    help="Write every finding as Parquet: to a file, which is replaced; on Spark to the URI of a new directory.",
)
@click.option("--state", type=click.Path(), metavar="DIR", help="Save progress here, so that --resume can continue.")
@click.option("--resume", is_flag=True, help="Continue from the progress in --state, if there is any.")
@COLOR
def validate(
    table: str,
    level: str,
    at: int | None,
    history: str,
    revision: str,
    clock: int | None,
    select: list[str],
    ignore: list[str],
    output_format: str,
    output: str | None,
    samples: int | None,
    accept_unchecked: list[str],
    allow_outside: bool,
    writer_time_zone: str | None,
    engine: str,
    estimates: bool,
    findings_out: str | None,
    state: str | None,
    resume: bool,
    color: str,
) -> None:
    """Validate the TABLE at a path or URI.

    Nothing is written into the table. Object stores take credentials, region and endpoint from the usual environment
    variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_...).
    DELTASPEC_STORE_RETRIES (8), DELTASPEC_STORE_RETRY_SECONDS (60) and DELTASPEC_STORE_TIMEOUT_SECONDS (15) limit how
    long failed requests are retried.

    CODES are rule codes or prefixes of codes, separated by commas, such as LOG,FIL001. `deltaspec rules` lists them.

    MASTER is a Spark master, such as local[4], spark://host:7077 or yarn, or sc://host for Spark Connect. Without it,
    Spark uses its own configuration. `deltaspec doctor --spark` checks the installation.

    If a run with --state DIR is killed, rerun it with --resume. The report is the same as that of an uninterrupted run.
    A state is refused if the release, the options or the log have changed. Only you may be able to write to DIR,
    because it contains pickles, which are executed when they are loaded. You may delete it after the run.
    """
    if output is not None:
        _check_output(output)
    if output_format == "html":
        from deltaspec.pages.renderer import require_jinja

        require_jinja()
    choose_allocator()
    if estimates:
        _print_estimate(table, at, history, revision, output_format, output, color)
        return
    with faster_imports():
        from deltaspec.validation.options import Options, RunSettings
        from deltaspec.validation.progress import ignore_progress

    # with a state, the format does not change the samples: another format may be asked for when the run resumes
    default_samples = _TEXT_SAMPLES if output_format == "text" and state is None else _MACHINE_SAMPLES
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
        writer_time_zone=writer_time_zone,
    )
    with progress_bar() as progress:
        settings = RunSettings(progress or ignore_progress, state, resume, findings_out)
        report = _run_engine(table, engine, options, settings)
    click.get_current_context().meta[EXIT_CODE_KEY] = report.exit_code
    if output is None:
        _print_report(report, output_format, color, samples or _TEXT_SAMPLES)
    else:
        _save_report(report, output_format, output, color, samples or _TEXT_SAMPLES)
        click.echo(f"{report.verdict_line} · report in {output}", err=True)
    sys.exit(report.exit_code)


def _run_engine(table: str, engine: str, options: Options, settings: RunSettings) -> Report:
    """Run the engine that the user chose, or the one that suits the table, and return its report."""
    from deltaspec.validation.engine_choice import choose_engine, parse_engine

    requested = parse_engine(engine)
    name, master = requested.engine, requested.master
    if name == "auto":
        from deltaspec.validation.describe.read_estimate import estimate_table
        from deltaspec.validation.spark.environment import find_missing_requirement

        estimate = estimate_table(table, at=options.at, history=options.history, revision=str(options.revision))
        choice = choose_engine(estimate, options.level, find_missing_requirement(master))
        click.echo(f"engine {choice.engine}: {choice.reason}", err=True)
        name = choice.engine
    if name == "embedded":
        with faster_imports():
            from deltaspec.validation import run
        leave_out_pandas()
        return run.run_embedded(table, options, settings)
    _check_local_table(table, master)
    from deltaspec.validation.spark.session import open_session

    with open_session(master) as session:
        spark_run: Any = import_module("deltaspec.validation.spark.run")
        report: Report = spark_run.run_on_spark(session, table, options, settings)
        return report


def _check_local_table(table: str, master: str | None) -> None:
    """Raise `TableUnreadable` before Spark starts if only this machine can have the table, and does not."""
    from deltaspec.validation.spark.environment import is_configured
    from deltaspec.wire.storage.factory import is_local, open_store

    if not is_configured() and (master is None or master.startswith("local")) and is_local(table):
        open_store(table).list_log()


def _print_estimate(
    table: str, at: int | None, history: str, revision: str, output_format: str, output: str | None, color: str
) -> None:
    if output_format not in ("text", "json"):
        raise InvalidUsage("--estimate supports only: text, json")
    from deltaspec.report.estimate import write_estimate
    from deltaspec.validation.describe.read_estimate import estimate_table

    estimate = estimate_table(table, at=at, history=history, revision=revision)
    if output is not None:
        data = encode_json(estimate) if output_format == "json" else _render_text(write_estimate, estimate, color)
        with translate_write_errors(output), open(output, "wb") as file:
            file.write(data)
    elif output_format == "json":
        print_bytes(encode_json(estimate))
    else:
        with translate_write_errors("stdout"):
            write_estimate(estimate, build_console(sys.stdout, color))


def _render_text(write: Callable[..., None], value: Any, color: str, *arguments: Any) -> bytes:
    """Render for a file what a function writes to a console."""
    from io import StringIO

    text = StringIO()
    write(value, *arguments, build_console(text, "never" if color == "auto" else color))
    return text.getvalue().encode()


def _print_report(report: Report, output_format: str, color: str, samples: int) -> None:
    if output_format == "text":
        _write_text(report, samples, build_console(sys.stdout, color))
    else:
        print_bytes(_encode_report(report, output_format))


def _save_report(report: Report, output_format: str, output: str, color: str, samples: int) -> None:
    if output_format == "text":
        data = _render_text(_write_text, report, color, samples)
    else:
        data = _encode_report(report, output_format)
    with translate_write_errors(output), open(output, "wb") as file:
        file.write(data)


def _check_output(output: str) -> None:
    """Raise `InvalidUsage` before the run if its report could not be written, or would be written into a table."""
    from pathlib import Path

    from deltaspec.validation.output_location import require_outside_table

    require_outside_table(output, None)
    path = Path(os.path.realpath(output))
    if not path.parent.is_dir():
        raise InvalidUsage(f"{output}: cannot be written: directory {path.parent} does not exist")


def _write_text(report: Report, samples: int, console: Any) -> None:
    from deltaspec.report import terminal
    from deltaspec.rule_pages import build_rule_doc

    docs = {finding.rule: build_rule_doc(finding.rule) for finding in report.findings}
    with translate_write_errors("stdout"):
        terminal.write(report, docs, console, samples)


def _encode_report(report: Report, output_format: str) -> bytes:
    """Encode a report as JSON, HTML or JUnit, always in UTF-8."""
    if output_format == "json":
        return encode_json(report)
    if output_format == "html":
        return _render_html(report)
    from deltaspec.report import junit

    return junit.render_junit(report).encode()


def _render_html(report: Report) -> bytes:
    from deltaspec.pages.validation import render_validation
    from deltaspec.rule_pages import build_rule_doc

    docs = {finding.rule: build_rule_doc(finding.rule) for finding in report.findings}
    return render_validation(report, docs, _describe_files(report)).encode()


def _describe_files(report: Report) -> Charts:
    """Describe the data files of the validated version, from the log; return the reason if that is not possible."""
    from deltaspec.errors import DeltaspecError
    from deltaspec.pages.validation import Charts
    from deltaspec.validation.describe.file_description import describe_files

    if report.version is None:
        return Charts(None, "the table has no version that can be read")
    if report.engine != "embedded":
        return Charts(None, "the run was on Spark; `deltaspec show TABLE --files` reads the log in one process")
    try:
        return Charts(describe_files(report.table, at=report.version))
    except DeltaspecError as error:
        return Charts(None, str(error))
