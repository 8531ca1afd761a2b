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
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from deltaspec.commands.startup import choose_allocator, faster_imports, import_arrow_alone, leave_out_numpy
from deltaspec.commands.validate_request import ReportRequest, build_request, run_command, write_outcome
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import Terminated
from deltaspec.many_tables.runs import Failure, TableRun, describe_failure
from deltaspec.report.tables_summary import TableResult

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

    def run(self) -> TableRun:
        """Validate the table as `deltaspec validate` does; every error becomes a result."""
        started = time.monotonic()
        printed = StringIO()
        outcome: Outcome | None = None
        failure: Failure | None = None
        try:
            with redirect_stderr(StringIO()):
                request = build_table_request(self)
                outcome = run_command(request.request)
                is_notable = TableResult.from_report(outcome.report, outcome.exit_code, 0, ()).is_notable
                write_outcome(request, outcome, printed if is_notable else None)
        except (KeyboardInterrupt, Terminated):
            raise
        except BaseException as fault:  # noqa: BLE001 - panics of native code are not of class Exception
            failure = describe_failure(fault)
        if outcome is not None and failure is None:
            if outcome.exit_code == ExitCode.INTERRUPTED:  # after the report of this table; the others are not run
                raise KeyboardInterrupt
            if outcome.exit_code == ExitCode.TERMINATED:
                raise Terminated
        return TableRun.build(self.table, outcome, failure, time.monotonic() - started, self.files, printed.getvalue())


class Task(Protocol):
    """One table to validate, in any process."""

    @property
    def table(self) -> str:
        """Its location for display, without secrets."""
        ...

    def run(self) -> TableRun:
        """Validate the table; every error becomes a result."""
        ...


def build_table_request(task: TableTask) -> ReportRequest:
    """Build the request of a table from the options of the command line and its configuration."""
    command: ValidateCommand = import_module("deltaspec.commands.validate").validate
    return build_request(command.resolve_options(task.given, task.location))


def run_tables(tasks: Sequence[Task], outages: Outages) -> Generator[tuple[int, TableRun]]:
    """Validate tables in this process, and yield the number of each and its run; skip tables whose store is down."""
    for number, task in enumerate(tasks):
        if not outages.skip(task.table):
            run = task.run()
            outages.record(run.result)
            yield number, run


def run_in_workers(tasks: Sequence[Task], jobs: int, outages: Outages) -> Generator[tuple[int, TableRun]]:
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
        self._task: tuple[int, Task] | None = None
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

    def start_table(self, number: int, task: Task) -> None:
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

    def _describe_end(self, task: Task) -> TableRun:
        self._process.join()
        code = self._process.exitcode or 0
        how = f"with exit code {code}" if code >= 0 else f"on signal {-code}"
        hint = "; was there enough memory?" if -code == signal.SIGKILL else ""
        failure = Failure("failed", ExitCode.BUG, f"its process ended {how}{hint}")
        return TableRun.build(task.table, None, failure, time.monotonic() - self._started)

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
            connection.send(connection.recv().run())
