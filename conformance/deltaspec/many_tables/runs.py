"""The result of one of several tables: its report, or why there is none."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click
import msgspec

from deltaspec.errors import DeltaspecError, StorageUnavailable, TableUnreadable
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import describe_bug
from deltaspec.report.report_types import Report
from deltaspec.report.tables_summary import TableResult, TableVerdict
from deltaspec.validation.request import Outcome, ValidateRequest, run_request
from deltaspec.wire.storage.table_search import Unsearched


class Failure(msgspec.Struct, frozen=True):
    """Why a table has no report, or why its report could not be written."""

    verdict: TableVerdict
    exit_code: ExitCode
    reason: str


class TableRun(msgspec.Struct, frozen=True):
    """A validated table."""

    result: TableResult
    text: str
    """What the command printed."""
    report: Report | None = None
    """The report, if the caller needs it."""

    @classmethod
    def build(
        cls,
        table: str,
        outcome: Outcome | None,
        failure: Failure | None,
        seconds: float,
        files: Sequence[str] = (),
        text: str = "",
        *,
        keeps_report: bool = False,
    ) -> TableRun:
        """Build the result of a table.

        Args:
            table: location for display.
            outcome: of its request; None if there is none.
            failure: why there is no outcome, or why its report could not be written; None if nothing failed.
            seconds: how long the run took.
            files: files with the report.
            text: what the command printed.
            keeps_report: whether the result has the report.
        """
        seconds = round(seconds, 3)
        reason = None if failure is None else failure.reason.removeprefix(f"{table}: ")
        if outcome is not None:
            exit_code = outcome.exit_code if failure is None else failure.exit_code
            files = files if failure is None else ()
            result = TableResult.from_report(outcome.report, exit_code, seconds, files, reason)
            return cls(result, text, outcome.report if keeps_report else None)
        assert failure is not None
        return cls(
            TableResult(
                table=table, verdict=failure.verdict, exit_code=failure.exit_code, seconds=seconds, reason=reason
            ),
            text,
        )


class RequestTask(msgspec.Struct, frozen=True):
    """A request to run in this process or in a worker."""

    table: str
    """Location for display, without secrets."""
    request: ValidateRequest

    def run(self) -> TableRun:
        """Validate the table; every error becomes a result."""
        started = time.monotonic()
        outcome: Outcome | None = None
        failure: Failure | None = None
        try:
            outcome = run_request(self.request)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as fault:  # noqa: BLE001 - panics of native code are not of class Exception
            failure = describe_failure(fault)
        return TableRun.build(self.table, outcome, failure, time.monotonic() - started, keeps_report=True)


def describe_unsearched(unsearched: Unsearched) -> TableResult:
    """Return the result of a folder that could not be searched for tables."""
    return TableResult(
        table=unsearched.location,
        verdict="unavailable" if unsearched.is_outage else "unreadable",
        exit_code=(StorageUnavailable if unsearched.is_outage else TableUnreadable).exit_code,
        reason=unsearched.reason,
    )


def describe_failure(fault: BaseException) -> Failure:
    """Return why an exception left a table without a report."""
    if isinstance(fault, StorageUnavailable):
        return Failure("unavailable", fault.exit_code, str(fault))
    if isinstance(fault, DeltaspecError):
        return Failure("unreadable", fault.exit_code, str(fault))
    if isinstance(fault, click.ClickException):
        return Failure("unreadable", ExitCode(fault.exit_code), fault.format_message())
    return Failure("failed", ExitCode.BUG, describe_bug(fault))
