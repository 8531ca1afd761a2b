"""Validate many tables for Python: in this process, in worker processes, or on Spark."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import Any

from deltaspec.commands.outages import Outages
from deltaspec.commands.table_locations import describe_location, find_locations
from deltaspec.commands.table_workers import run_in_workers, run_tables
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.many_tables.delta_results import DeltaResults
from deltaspec.many_tables.report import TablesReport
from deltaspec.many_tables.runs import RequestTask, TableRun, describe_unsearched
from deltaspec.report.tables_summary import TABLES_VERSION, TableResult, TablesSummary
from deltaspec.validation.options import OptionArguments, Options
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.request import ValidateRequest
from deltaspec.validation.stopping import BudgetArgument, parse_budget
from deltaspec.version import __version__
from deltaspec.wire.storage.settings import StorageSettings
from deltaspec.wire.storage.table_search import Unsearched

Runs = Generator[tuple[int, TableRun]]


def validate_tables(
    tables: str | Sequence[str],
    options: OptionArguments,
    *,
    jobs: int,
    results: str | None,
    storage_options: Mapping[str, str] | None,
    progress: Progress | None,
    budget: BudgetArgument,
    session: Any = None,
) -> TablesReport:
    """Validate many tables. `deltaspec.validate_many` and `deltaspec.spark.validate_many` document it.

    `session` is a Spark session, or None without Spark. If the run is interrupted, the results of the tables that have
    ended are appended to `results`.
    """
    started = time.monotonic()
    checked = Options.create(**options)
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise InvalidUsage(f"invalid jobs {jobs!r}; expected an integer from 1")
    parse_budget(budget)
    storage = StorageSettings(storage_options)
    table_of_results = None if results is None else DeltaResults(results, storage)
    named = [tables] if isinstance(tables, str) else list(tables)
    locations = list(find_locations(named, lambda _: storage, session, checked.catalog))
    tasks = [
        RequestTask(
            describe_location(each), ValidateRequest(table=each, options=checked, storage=storage, budget=budget)
        )
        for each in locations
        if isinstance(each, str)
    ]
    outages = Outages()
    ended: dict[int, TableRun] = {}
    try:
        _collect(_start(tasks, jobs, outages, session), ended, len(tasks), progress or ignore_progress)
    finally:
        runs = [ended.get(number) or _describe_not_run(task) for number, task in enumerate(tasks)]
        runs += [TableRun(describe_unsearched(each), "") for each in locations if isinstance(each, Unsearched)]
        if table_of_results is not None:
            table_of_results.write([(each.result, each.report) for each in runs])
    found = [each.result for each in runs]
    summary = TablesSummary(
        tables_version=TABLES_VERSION,
        deltaspec=__version__,
        exit_code=ExitCode.find_worst(each.exit_code for each in found),
        seconds=round(time.monotonic() - started, 3),
        notes=outages.describe(),
        tables=found,
    )
    return TablesReport(summary, [each.report for each in runs])


def _start(tasks: list[RequestTask], jobs: int, outages: Outages, session: Any) -> Runs:
    if session is not None:
        from deltaspec.many_tables.spark_runs import run_requests_on_spark

        return run_requests_on_spark(session, tasks, jobs, outages)
    if jobs == 1:
        return run_tables(tasks, outages)
    return run_in_workers(tasks, jobs, outages)


def _collect(runs: Runs, ended: dict[int, TableRun], total: int, progress: Progress) -> None:
    progress("tables", 0, total)
    with closing(runs):
        for number, run in runs:
            ended[number] = run
            progress("tables", len(ended), total)


def _describe_not_run(task: RequestTask) -> TableRun:
    return TableRun(TableResult(table=task.table, verdict="not run", exit_code=ExitCode.INCOMPLETE), "")
