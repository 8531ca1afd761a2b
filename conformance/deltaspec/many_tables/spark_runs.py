"""Validate tables on a Spark session for the command line and for Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING, Any

from deltaspec.commands.table_workers import TableTask, build_table_request
from deltaspec.commands.validate_request import ReportRequest, write_outcome
from deltaspec.many_tables.runs import Failure, RequestTask, TableRun, describe_failure
from deltaspec.validation.spark.many_tables import Attempt, validate_many_on_spark

if TYPE_CHECKING:
    from deltaspec.commands.outages import Outages


def run_tables_on_spark(
    session: Any, tasks: Sequence[TableTask], jobs: int, outages: Outages
) -> Generator[tuple[int, TableRun]]:
    """Validate tables for the command line, and yield the number of each and its run, in the order in which they end.

    The driver resolves the options of each table and writes its reports.
    """
    prepared: list[tuple[int, ReportRequest]] = []
    for number, task in enumerate(tasks):
        started = time.monotonic()
        try:
            prepared.append((number, build_table_request(task)))
        except Exception as fault:  # noqa: BLE001 - an error of one table is its result
            yield number, TableRun.build(task.table, None, describe_failure(fault), time.monotonic() - started)

    def finish(index: int, attempt: Attempt) -> TableRun:
        number, request = prepared[index]
        task, printed, failure = tasks[number], StringIO(), None
        if attempt.outcome is not None:
            try:
                with redirect_stderr(StringIO()):
                    write_outcome(request, attempt.outcome, printed)
            except Exception as fault:  # noqa: BLE001 - as above
                failure = describe_failure(fault)
        return _build_run(task.table, attempt, failure, task.files, printed.getvalue())

    names = [tasks[number].table for number, _ in prepared]
    requests = [request.request for _, request in prepared]
    for index, run in _run(session, requests, names, jobs, outages, finish):
        yield prepared[index][0], run


def run_requests_on_spark(
    session: Any, tasks: Sequence[RequestTask], jobs: int, outages: Outages
) -> Generator[tuple[int, TableRun]]:
    """Validate tables for Python, and yield the number of each and its run with the report."""

    def finish(number: int, attempt: Attempt) -> TableRun:
        return _build_run(tasks[number].table, attempt, None, keeps_report=True)

    requests, names = [each.request for each in tasks], [each.table for each in tasks]
    return _run(session, requests, names, jobs, outages, finish)


def _run(
    session: Any,
    requests: Sequence[Any],
    names: Sequence[str],
    jobs: int,
    outages: Outages,
    finish: Callable[[int, Attempt], TableRun],
) -> Generator[tuple[int, TableRun]]:
    attempts = validate_many_on_spark(session, requests, jobs, lambda number: outages.skip(names[number]))
    with closing(attempts):
        for number, attempt in attempts:
            run = finish(number, attempt)
            outages.record(run.result)
            yield number, run


def _build_run(
    table: str,
    attempt: Attempt,
    failure: Failure | None,
    files: Sequence[str] = (),
    text: str = "",
    *,
    keeps_report: bool = False,
) -> TableRun:
    if attempt.fault is not None:
        failure = describe_failure(attempt.fault)
    return TableRun.build(table, attempt.outcome, failure, attempt.seconds, files, text, keeps_report=keeps_report)
