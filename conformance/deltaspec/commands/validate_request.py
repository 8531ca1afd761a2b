"""Validate one table for the command line: build a request from options, run it, and write its reports."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from deltaspec.commands.notifications import NOTIFY, Notifications
from deltaspec.commands.report_formats import RenderSettings
from deltaspec.commands.report_output import ReportTarget, plan_reports, write_reports
from deltaspec.commands.startup import faster_imports, import_arrow_alone
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import Terminated, make_waits_interruptible
from deltaspec.wire.storage.interface import escape_file_name

if TYPE_CHECKING:
    from deltaspec.commands.configuration import TableOptions
    from deltaspec.validation.acceptance import RecordedFindings
    from deltaspec.validation.progress import Progress
    from deltaspec.validation.request import Outcome, ValidateRequest

INTERRUPTS: dict[type[BaseException], str] = {
    KeyboardInterrupt: ExitCode.INTERRUPTED.summary,
    Terminated: ExitCode.TERMINATED.summary,
}
"""Exceptions that stop a run with a partial report, and their names in the report."""
TEXT_SAMPLES = 5
_MACHINE_SAMPLES = 1000


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request of the command line, and the destinations of its reports."""

    request: ValidateRequest
    targets: Sequence[ReportTarget]
    samples: int
    """Number of findings of each rule that a text report shows."""
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    configuration_file: str = ""
    """Configuration file with the defaults; empty if there is none."""


def build_request(resolved: TableOptions) -> ReportRequest:
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
        resolved.storage,
        resolved.configuration.file or None,
        format_is_given="output_format" in resolved.given | resolved.configured,
    )
    notifications = Notifications.parse(values["notify"], values["notify_state"], resolved.configuration.file or None)
    if notifications is not None:
        targets.append(ReportTarget(NOTIFY, notifications.state, notifications))
    with faster_imports():
        if values["backend"] == "embedded":
            import_arrow_alone()
        from deltaspec.validation.options import OptionArguments, Options
        from deltaspec.validation.request import ValidateRequest
        from deltaspec.validation.stopping import parse_budget

    parse_budget(values["budget"])
    # with --state, samples do not depend on the format, because the resumed run may have another format
    only_text = all(each.format == "text" for each in targets)
    has_few = only_text and values["state"] is None and not values["verbose"]
    samples = values["samples"] or (TEXT_SAMPLES if has_few else _MACHINE_SAMPLES)
    chosen = {name: values[name] for name in OptionArguments.__annotations__}
    request = ValidateRequest(
        table=resolved.table,
        options=Options.create(**{**chosen, "select": chosen["select"] or None, "samples": samples}),
        backend=values["backend"],
        storage=resolved.storage,
        state=values["state"],
        resume=values["resume"],
        findings_out=values["findings_out"],
        budget=values["budget"],
        fail_on=values["fail_on"],
        exit_zero=values["exit_zero"],
    )
    return ReportRequest(
        request=request,
        targets=targets,
        samples=samples if values["verbose"] else values["samples"] or TEXT_SAMPLES,
        color=values["color"],
        quiet=values["quiet"],
        verbose=values["verbose"],
        configuration_file=resolved.configuration.file,
    )


def run_command(
    request: ValidateRequest, progress: Progress | None = None, *, recorded: RecordedFindings | None = None
) -> Outcome:
    """Run a request in the process of a command. An interrupt ends the run with a partial report.

    Args:
        request: the table, and what to check. The backend may be `auto`; the choice is explained on stderr.
        progress: called while the run works; None for no calls.
        recorded: receives every finding that no entry accepts, for a baseline.
    """
    from deltaspec.validation.backend_choice import parse_backend
    from deltaspec.validation.request import run_request
    from deltaspec.wire.catalog.names import is_catalog_table

    if parse_backend(request.backend).backend == "auto" and is_catalog_table(request.table):
        raise InvalidUsage("--backend auto cannot be combined with uc://; choose embedded or spark")
    if parse_backend(request.backend).backend == "auto":
        request = replace(request, backend=_choose_backend(request))
    if request.backend == "embedded":
        with faster_imports():
            import_arrow_alone()
            import deltaspec.validation.run  # noqa: F401
        make_waits_interruptible()
    return run_request(request, progress, interrupts=INTERRUPTS, recorded=recorded)


def _choose_backend(request: ValidateRequest) -> str:
    """Return the backend that suits the table, and explain the choice on stderr."""
    from deltaspec.validation.backend_choice import choose_backend
    from deltaspec.validation.describe.read_estimate import estimate_table
    from deltaspec.validation.spark.environment import find_missing_requirement

    options = request.options
    estimate = estimate_table(
        request.table,
        at=options.at,
        history=options.history,
        revision=str(options.revision),
        storage=request.storage,
    )
    choice = choose_backend(estimate, options.level, find_missing_requirement(None))
    click.echo(f"backend {choice.backend}: {choice.reason}", err=True)
    return choice.backend


def write_outcome(request: ReportRequest, outcome: Outcome, stdout: Any) -> None:
    """Write the reports of a request. Print to stderr what they do not contain.

    Args:
        request: has the formats and files of the reports.
        outcome: result of the request.
        stdout: text stream for the report that goes to stdout; None if a text report is not needed.

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
        request.samples,
        request.color,
        exit_code,
        request.quiet,
        request.verbose,
        sum(outcome.seconds.values()),
        request.request.storage,
    )
    write_reports(report, request.targets, settings, stdout)
    if not request.quiet and (
        files := [each.path for each in request.targets if each.path is not None and each.format != NOTIFY]
    ):
        shown = ", ".join(map(escape_file_name, files))
        click.echo(f"{report.describe_verdict(exit_code)} · report in {shown}", err=True)
    if report.stopped is not None:
        click.echo(f"deltaspec: {report.stopped}; {_describe_resuming(request.request.state)}", err=True)


def _describe_resuming(state: str | None) -> str:
    """Return how a run that stopped can be continued."""
    if state is None:
        return "the report is partial; with --state DIR, a later run can continue with --resume"
    return f"the report is partial; to continue, run the same command with --state {quote(state)} --resume"
