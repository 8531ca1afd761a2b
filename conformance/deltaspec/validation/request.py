"""A validation as one value, which the command line, configuration files, Python and Spark build alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.report.exit_reason import explain_exit_code
from deltaspec.report.report_types import Report, compute_exit_code
from deltaspec.scales import Severity
from deltaspec.validation.backend_choice import parse_backend
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.progress import PhaseTimer, Progress, ignore_progress
from deltaspec.validation.stopping import BudgetArgument, parse_budget
from deltaspec.validation.unity_tables import resolve_table
from deltaspec.wire.catalog.names import is_catalog_table
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

if TYPE_CHECKING:
    from deltaspec.validation.acceptance import RecordedFindings

_CODES_OF_STOPPED_RUNS = {each.summary: each for each in (ExitCode.INTERRUPTED, ExitCode.TERMINATED)}


class ValidateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to validate, and how."""

    table: str
    """Path, URI, or name in a catalog, such as `uc://catalog.schema.table`."""
    options: Options
    backend: str = "embedded"
    """`embedded`, `spark` or `spark=MASTER`."""
    storage: StorageSettings = ENVIRONMENT
    state: str | None = None
    """Directory for the resume state; None saves none."""
    resume: bool = False
    findings_out: str | None = None
    """Where to write every finding as Parquet; None for nowhere."""
    budget: BudgetArgument = None
    """Time from the start of the run after which it stops; None for no limit."""
    fail_on: Severity = "violation"
    exit_zero: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """The result of a request."""

    report: Report
    exit_code: ExitCode
    seconds: Mapping[str, float]
    """Duration of each phase."""


def run_request(
    request: ValidateRequest,
    progress: Progress | None = None,
    *,
    interrupts: Mapping[type[BaseException], str] | None = None,
    recorded: RecordedFindings | None = None,
    session: Any = None,
) -> Outcome:
    """Validate the table of a request.

    Args:
        request: the table, and what to check.
        progress: called while the run works; None for no calls.
        interrupts: exceptions that stop the run with a report, and what the report calls them.
        recorded: receives every finding that no entry accepts; None if they are not needed.
        session: `SparkSession` of a run on Spark; None to use the active one of this process, or start one.
    """
    named, request = request.table, ask_catalog(request)
    timer = PhaseTimer(progress or ignore_progress)
    settings = RunSettings(
        timer,
        request.state,
        request.resume,
        request.findings_out,
        recorded=recorded,
        budget=parse_budget(request.budget),
        interrupts=interrupts or {},
    )
    if request.backend == "embedded":
        from deltaspec.validation import run

        report = run.run_embedded(request.table, request.options, settings, request.storage)
    else:
        report = _run_on_spark(request, settings, session)
    exit_code = _CODES_OF_STOPPED_RUNS.get(
        report.stopped or "", compute_exit_code(report, request.fail_on, exit_zero=request.exit_zero)
    )
    report = replace(report, exit_reason=explain_exit_code(report, exit_code, request.fail_on))
    if is_catalog_table(named):
        report = replace(report, table=named)
    return Outcome(report, exit_code, timer.finish())


def ask_catalog(request: ValidateRequest) -> ValidateRequest:
    """Return the request with location, credentials and ratified commits of a table that is named by a catalog.

    Raises:
        InvalidUsage: the name or the address of the catalog is not valid, or `catalog_commits` is given too.
        TableUnreadable: the catalog knows no such table, refuses access, or its answer cannot be used.
        StorageUnavailable: the catalog does not answer.
    """
    if not is_catalog_table(request.table):
        return request
    if request.options.ratified is not None:
        raise InvalidUsage("--catalog-commits cannot be combined with uc://")
    found = resolve_table(request.table, request.options.catalog, request.storage)
    options = replace(request.options, ratified=found.catalog, source=found.source)
    return replace(request, table=found.location, storage=found.storage, options=options)


def _run_on_spark(request: ValidateRequest, settings: RunSettings, session: Any) -> Report:
    """Run a request on Spark.

    Raises:
        TableUnreadable: the table is a local path that does not exist; Spark is not started.
    """
    from deltaspec.validation.spark.run import run_on_spark
    from deltaspec.validation.spark.session import open_session

    if session is not None:
        return run_on_spark(session, request.table, request.options, settings, storage=request.storage)
    master = parse_backend(request.backend).master
    _check_local_table(request.table, master)
    with open_session(master) as started:
        return run_on_spark(started, request.table, request.options, settings, storage=request.storage)


def _check_local_table(table: str, master: str | None) -> None:
    """Raise `TableUnreadable` before Spark starts if the table is a local path that does not exist."""
    from deltaspec.validation.spark.catalog import is_catalog_name
    from deltaspec.validation.spark.environment import is_configured
    from deltaspec.wire.storage.factory import is_local, open_store

    is_on_this_machine = is_local(table) and not is_catalog_name(table)
    if not is_configured() and (master is None or master.startswith("local")) and is_on_this_machine:
        open_store(table).list_log()
