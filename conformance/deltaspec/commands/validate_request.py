"""Validate one table as the command line asks: build a request from options, run it, and write its reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deltaspec.commands.report_formats import RenderSettings
from deltaspec.commands.report_output import ReportTarget, plan_reports, write_reports
from deltaspec.commands.startup import faster_imports, import_arrow_alone
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import Terminated, make_waits_interruptible
from deltaspec.wire.storage.interface import escape_file_name

if TYPE_CHECKING:
    from deltaspec.commands.configuration import TableOptions
    from deltaspec.report.report_types import Report, Severity
    from deltaspec.validation.options import Options, RunSettings
    from deltaspec.validation.progress import Progress
    from deltaspec.wire.storage.settings import StorageSettings

INTERRUPTS: dict[type[BaseException], str] = {KeyboardInterrupt: "interrupted", Terminated: "terminated"}
"""What stops a run with a partial report, and what the report calls it."""
EXIT_CODES = {"interrupted": ExitCode.INTERRUPTED, "terminated": ExitCode.TERMINATED}
TEXT_SAMPLES = 5
_MACHINE_SAMPLES = 1000


class ValidateRequest(msgspec.Struct, frozen=True):
    """What to validate, and where the reports go."""

    table: str
    """Path, URI, or name in a catalog."""
    options: Options
    engine: str
    """Value of `--engine`."""
    storage: StorageSettings
    targets: Sequence[ReportTarget]
    samples: int
    """Findings of each rule that text shows."""
    fail_on: Severity = "violation"
    exit_zero: bool = False
    state: str | None = None
    resume: bool = False
    findings_out: str | None = None
    budget: str | None = None
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    configuration_file: str = ""
    """Empty if no configuration file has defaults."""


class Outcome(msgspec.Struct, frozen=True):
    """The result of a request."""

    report: Report
    exit_code: ExitCode
    seconds: Mapping[str, float]
    """Duration of each phase."""


def build_request(resolved: TableOptions) -> ValidateRequest:
    """Build the request of a table from its options.

    Raises:
        InvalidUsage: options contradict each other, or a report cannot be written.
    """
    values = resolved.values
    if values["quiet"] and values["verbose"]:
        raise InvalidUsage("--verbose cannot be combined with --quiet")
    targets = plan_reports(
        values["output_format"],
        values["output"],
        values["reports"],
        format_is_given="output_format" in resolved.given | resolved.configured,
    )
    with faster_imports():
        if values["engine"] == "embedded":
            import_arrow_alone()
        from deltaspec.validation.options import OptionArguments, Options
        from deltaspec.validation.stopping import parse_budget

    parse_budget(values["budget"])
    # with a state, the format does not change the samples: another format may be asked for when the run resumes
    only_text = all(each.format == "text" for each in targets)
    has_few = only_text and values["state"] is None and not values["verbose"]
    samples = values["samples"] or (TEXT_SAMPLES if has_few else _MACHINE_SAMPLES)
    chosen = {name: values[name] for name in OptionArguments.__annotations__}
    return ValidateRequest(
        table=resolved.table,
        options=Options.create(**{**chosen, "select": chosen["select"] or None, "samples": samples}),
        engine=values["engine"],
        storage=resolved.storage,
        targets=targets,
        samples=samples if values["verbose"] else values["samples"] or TEXT_SAMPLES,
        fail_on=values["fail_on"],
        exit_zero=values["exit_zero"],
        state=values["state"],
        resume=values["resume"],
        findings_out=values["findings_out"],
        budget=values["budget"],
        color=values["color"],
        quiet=values["quiet"],
        verbose=values["verbose"],
        configuration_file=resolved.configuration.file,
    )


def run_request(request: ValidateRequest, progress: Progress | None = None) -> Outcome:
    """Validate the table of a request.

    Args:
        request: the table, and what to check.
        progress: called while the run works; None for no calls.
    """
    with faster_imports():
        from msgspec.structs import replace

        from deltaspec.report.exit_reason import explain_exit_code
        from deltaspec.report.report_types import compute_exit_code
        from deltaspec.validation.options import RunSettings
        from deltaspec.validation.progress import PhaseTimer, ignore_progress
        from deltaspec.validation.stopping import parse_budget

    timer = PhaseTimer(progress or ignore_progress)
    settings = RunSettings(
        timer,
        request.state,
        request.resume,
        request.findings_out,
        budget=parse_budget(request.budget),
        interrupts=INTERRUPTS,
    )
    report = run_engine(request.table, request.engine, request.options, settings, request.storage)
    exit_code = EXIT_CODES.get(
        report.stopped or "", compute_exit_code(report, request.fail_on, exit_zero=request.exit_zero)
    )
    report = replace(report, exit_reason=explain_exit_code(report, exit_code, request.fail_on))
    return Outcome(report, exit_code, timer.finish())


def write_outcome(request: ValidateRequest, outcome: Outcome, stdout: Any) -> None:
    """Write the reports of a request, and what they do not contain to stderr.

    Args:
        request: names the reports.
        outcome: of the request.
        stdout: text stream for the report that goes to stdout.

    Raises:
        InvalidUsage: a report cannot be written.
    """
    report, exit_code = outcome.report, outcome.exit_code
    if request.configuration_file and not request.quiet:
        click.echo(f"defaults from {request.configuration_file}", err=True)
    if request.verbose:
        phases = ", ".join(f"{phase} {each:.2f}" for phase, each in outcome.seconds.items())
        click.echo(f"{sum(outcome.seconds.values()):.2f} seconds: {phases}", err=True)
    settings = RenderSettings(
        request.samples, request.color, exit_code, request.quiet, request.verbose, request.storage
    )
    write_reports(report, request.targets, settings, stdout)
    if not request.quiet and (files := [each.path for each in request.targets if each.path is not None]):
        shown = ", ".join(map(escape_file_name, files))
        click.echo(f"{report.describe_verdict(exit_code)} · report in {shown}", err=True)
    if report.stopped is not None:
        click.echo(f"deltaspec: {report.stopped}; {_describe_resuming(request.state)}", err=True)


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
