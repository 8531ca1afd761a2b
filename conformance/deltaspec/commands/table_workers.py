"""Validate several tables: in worker processes, or one after another in this process."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from importlib import import_module
from io import StringIO
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deltaspec.commands.startup import choose_allocator, faster_imports, import_arrow_alone, leave_out_numpy
from deltaspec.commands.validate_request import build_request, run_command, write_outcome
from deltaspec.errors import DeltaspecError, StorageUnavailable
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import Terminated, describe_bug
from deltaspec.report.tables_summary import TableResult, TableVerdict

if TYPE_CHECKING:
    from deltaspec.commands.configuration import ValidateCommand
    from deltaspec.commands.outages import Outages
    from deltaspec.validation.request import Outcome


class TableTask(msgspec.Struct, frozen=True):
    """One table to validate."""

    table: str
    """Its location for display, without secrets."""
    location: str
    given: Mapping[str, Any]
    """Options of `deltaspec validate`, by parameter, as text. The configuration of the table gives the others."""
    files: tuple[str, ...] = ()
    """Files that the reports are written to."""


class TableRun(msgspec.Struct, frozen=True):
    """A validated table."""

    result: TableResult
    text: str
    """What the command printed."""


def run_table(task: TableTask) -> TableRun:
    """Validate one table as `deltaspec validate` does; every error becomes a result."""
    started = time.monotonic()
    printed, exit_code, reason = StringIO(), ExitCode.BUG, None
    verdict: TableVerdict = "failed"
    outcome: Outcome | None = None
    try:
        command: ValidateCommand = import_module("deltaspec.commands.validate").validate
        with redirect_stderr(StringIO()):
            request = build_request(command.resolve_options(task.given, task.location))
            outcome = run_command(request.request)
            exit_code = outcome.exit_code
            write_outcome(request, outcome, printed)
    except StorageUnavailable as fault:
        exit_code, verdict, reason = fault.exit_code, "unavailable", str(fault)
    except DeltaspecError as fault:
        exit_code, verdict, reason = fault.exit_code, "unreadable", str(fault)
    except click.ClickException as fault:
        exit_code, verdict, reason = ExitCode(fault.exit_code), "unreadable", fault.format_message()
    except (KeyboardInterrupt, Terminated):
        raise
    except BaseException as fault:  # noqa: BLE001 - panics of native code are not of class Exception
        reason = describe_bug(fault)
    if exit_code == ExitCode.INTERRUPTED:  # after the report of this table; the others are not validated
        raise KeyboardInterrupt
    if exit_code == ExitCode.TERMINATED:
        raise Terminated
    if reason is not None:
        reason = reason.removeprefix(f"{task.table}: ")
    seconds = round(time.monotonic() - started, 3)
    if outcome is None:
        result = TableResult(table=task.table, verdict=verdict, exit_code=exit_code, seconds=seconds, reason=reason)
    else:
        result = TableResult.from_report(
            outcome.report, exit_code, seconds, task.files if reason is None else (), reason
        )
    return TableRun(result, printed.getvalue())


def run_tables(tasks: Sequence[TableTask], outages: Outages) -> Generator[tuple[int, TableRun]]:
    """Validate tables in this process, and yield the number of each and its run; skip tables whose store is down."""
    for number, task in enumerate(tasks):
        if not outages.skip(task.table):
            run = run_table(task)
            outages.record(run.result)
            yield number, run


def run_in_workers(tasks: Sequence[TableTask], jobs: int, outages: Outages) -> Generator[tuple[int, TableRun]]:
    """Validate tables in worker processes, and yield the number of each and its run, in the order in which they end.

    A worker validates one table after another. If its process ends, the table is reported as failed, and another
    worker continues. Tables of a store that is down are not started.
    """
    waiting = deque(enumerate(tasks))
    workers = [_Worker() for _ in range(min(jobs, len(tasks)))]
    try:
        while True:
            for worker in workers:
                while waiting and outages.skip(waiting[0][1].table):
                    waiting.popleft()
                if waiting and not worker.is_busy:
                    worker.start_table(*waiting.popleft())
            if not any(worker.is_busy for worker in workers):
                return
            busy = {worker.connection: worker for worker in workers if worker.is_busy}
            for connection in wait(list(busy)):
                number, run = busy[connection].receive()  # type: ignore[index]
                outages.record(run.result)
                yield number, run
    finally:
        for worker in workers:
            worker.kill()


class _Worker:
    """A process that validates tables, one at a time. It is replaced if it ends."""

    def __init__(self) -> None:
        self._task: tuple[int, TableTask] | None = None
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")  # a fork would copy the locks of running threads
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()  # so that the end of the process ends the connection

    @property
    def is_busy(self) -> bool:
        """Whether a table is being validated."""
        return self._task is not None

    def start_table(self, number: int, task: TableTask) -> None:
        """Start to validate a table."""
        self._task, self._started = (number, task), time.monotonic()
        with suppress(OSError):  # the process has ended; `receive` reports it
            self.connection.send(task)

    def receive(self) -> tuple[int, TableRun]:
        """Return the table's number and its run, after the connection has become readable."""
        assert self._task is not None
        (number, task), self._task = self._task, None
        try:
            run: TableRun = self.connection.recv()
        except (EOFError, OSError):
            run = self._describe_end(task)
            self.kill()
            self._start()
        return number, run

    def _describe_end(self, task: TableTask) -> TableRun:
        self._process.join()
        code = self._process.exitcode or 0
        how = f"with exit code {code}" if code >= 0 else f"on signal {-code}"
        hint = "; was there enough memory?" if -code == signal.SIGKILL else ""
        seconds = round(time.monotonic() - self._started, 3)
        reason = f"its process ended {how}{hint}"
        return TableRun(
            TableResult(table=task.table, verdict="failed", exit_code=ExitCode.BUG, seconds=seconds, reason=reason), ""
        )

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection[Any, Any]) -> None:
    """Validate the tables that arrive, until the other end is closed. The parent handles interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    choose_allocator()
    leave_out_numpy()
    with faster_imports():  # so that the time of the first table does not include them
        import_arrow_alone()
        import deltaspec.validation.run  # noqa: F401
    with suppress(EOFError, OSError):
        while True:
            connection.send(run_table(connection.recv()))
