"""Validate many tables on one Spark session: small ones inside of executors, large ones as runs on Spark."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from deltaspec.errors import DeltaspecError
from deltaspec.validation.request import Outcome, ValidateRequest, run_request
from deltaspec.validation.spark.catalog import find_table_uri
from deltaspec.validation.spark.interrupts import JobGroup, default_interrupt_handler
from deltaspec.validation.spark.jobs import (
    ExecutorMismatch,
    Jobs,
    SparkFailed,
    compute_parallelism,
    translating_spark_errors,
)
from deltaspec.validation.spark.payloads import payload_to_value, value_to_payload
from deltaspec.validation.spark.session import JobDescription
from deltaspec.validation.spark.small_tables import SmallTableTask
from deltaspec.validation.spark.table_access import resolve_local_path
from deltaspec.wire.catalog.names import is_catalog_table
from deltaspec.wire.storage.factory import is_local
from deltaspec.wire.storage.interface import format_local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASKS_PER_SLOT = 4
"""Tasks of a job for each one that runs at once, so that a slow table delays few others."""
_TABLES_PER_TASK = 4
_MAX_TABLES = 1000
"""Limit for the tables of a job, whose reports the driver collects together."""
_FIRST_TABLES_PER_SLOT = 2
"""Size of the first job, which shows whether the stores answer."""


class Attempt(msgspec.Struct, frozen=True):
    """The result of a request on Spark: an outcome, or the exception that ended it."""

    outcome: Outcome | None
    fault: BaseException | None
    seconds: float


Attempts = list[tuple[int, Attempt]]


def validate_many_on_spark(
    session: SparkSession,
    requests: Sequence[ValidateRequest],
    jobs: int,
    skip: Callable[[int], bool] = lambda _: False,
) -> Generator[tuple[int, Attempt]]:
    """Validate tables, and yield the number of each and its result, in the order in which they end.

    Tables are sent to executors, which validate the small ones. The others are runs on Spark. If the generator is
    closed or interrupted, it cancels the jobs of the run and no others.

    Args:
        session: classic or Connect. Its settings do not change.
        requests: one for each table.
        jobs: Spark jobs that run at once: each validates a group of small tables, or one large table.
        skip: called with the number of a table before its job starts; if true, the table is not run.

    Raises:
        ExecutorMismatch: executors do not have deltaspec, or another build.
    """
    lake = _Lake(session, requests, skip)
    group = JobGroup()
    running: set[Future[Attempts]] = set()
    with default_interrupt_handler(), ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                while len(running) < jobs and (job := lake.find_next_job()) is not None:
                    running.add(pool.submit(_inherit(session, group.bind(job))))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from future.result()
        finally:
            group.cancel(running)


def _inherit(session: SparkSession, job: Callable[[], Attempts]) -> Callable[[], Attempts]:
    """Return a function that runs a job with the properties of this thread, such as the scheduler pool of the user."""
    from pyspark.util import inheritable_thread_target

    inherited: Callable[[], Attempts] = inheritable_thread_target(session)(job)
    return inherited


class _Lake:
    """The tables of a run that have not been validated."""

    def __init__(self, session: SparkSession, requests: Sequence[ValidateRequest], skip: Callable[[int], bool]) -> None:
        self._session = session
        self._requests = requests
        self._skip = skip
        self._slots = compute_parallelism(session)
        self._is_first = True
        numbers = range(len(requests))
        self._unknown = deque(number for number in numbers if not _needs_spark(requests[number]))
        """Tables that executors have not seen."""
        self._large = deque(number for number in numbers if _needs_spark(requests[number]))
        """Tables for which executors are not enough. Threads append to it."""

    def find_next_job(self) -> Callable[[], Attempts] | None:
        """Return what validates the next tables; None if there are none at the moment."""
        while self._large:
            number = self._large.popleft()
            if not self._skip(number):
                return lambda: [(number, self._run_alone(number))]
        numbers = list(self._take_group())
        return (lambda: self._run_group(numbers)) if numbers else None

    def _take_group(self) -> Iterator[int]:
        per_slot = _FIRST_TABLES_PER_SLOT if self._is_first else _TASKS_PER_SLOT * _TABLES_PER_TASK
        limit = min(self._slots * per_slot, _MAX_TABLES)
        self._is_first = False
        while self._unknown and limit:
            number = self._unknown.popleft()
            if not self._skip(number):
                limit -= 1
                yield number

    def _run_alone(self, number: int) -> Attempt:
        started = time.monotonic()
        try:
            request = replace(self._requests[number], backend="spark")
            return Attempt(run_request(request, session=self._session), None, time.monotonic() - started)
        except ExecutorMismatch:
            raise
        except BaseException as fault:  # noqa: BLE001 - panics of native code are not of class Exception
            return Attempt(None, fault, time.monotonic() - started)

    def _run_group(self, numbers: list[int]) -> Attempts:
        """Validate the small ones of some tables. The others are appended to the large ones."""
        try:
            outcomes = self._run_on_executors(numbers)
        except SparkFailed:  # one table may have ended an executor; each is tried alone
            outcomes = {}
        self._large.extend(number for number in numbers if outcomes.get(number) is None)
        return [
            (number, Attempt(outcome, None, sum(outcome.seconds.values())))
            for number, outcome in outcomes.items()
            if outcome is not None
        ]

    def _run_on_executors(self, numbers: list[int]) -> dict[int, Outcome | None]:
        tasks = min(len(numbers), self._slots * _TASKS_PER_SLOT)
        outcomes: dict[int, Outcome | None] = {}
        with translating_spark_errors(), closing(Jobs(self._session)) as jobs:
            named = list(self._name_for_executors(numbers))
            rows = [value_to_payload("tables", task, named[task::tasks]) for task in range(tasks)]
            description = JobDescription(jobs.session)
            description.set(f"deltaspec: {len(numbers)} tables")
            try:
                frame = jobs.run(jobs.frame(rows, tasks), SmallTableTask())
                for row in jobs.collect_results(frame, tasks):
                    outcomes[row.bucket] = payload_to_value(row.payload)
            finally:
                description.restore()
        for number, outcome in outcomes.items():
            if outcome is not None:
                outcomes[number] = _name_as_given(outcome, self._requests[number].table)
        return outcomes

    def _name_for_executors(self, numbers: list[int]) -> Iterator[tuple[int, ValidateRequest]]:
        """Yield the requests with paths and URIs that executors can open, without tables that the catalog lacks."""
        for number in numbers:
            request = self._requests[number]
            with suppress(DeltaspecError):  # the run of this table alone raises it again
                uri = find_table_uri(self._session, request.table)
                yield number, replace(request, table=resolve_local_path(uri))


def _needs_spark(request: ValidateRequest) -> bool:
    """Return whether the driver is needed: a run writes to places that a backend names differently, or asks a catalog.

    Executors do not have the token of the catalog.
    """
    return request.findings_out is not None or request.state is not None or is_catalog_table(request.table)


def _name_as_given(outcome: Outcome, table: str) -> Outcome:
    """Return an outcome whose report names a relative path as the user did."""
    report = outcome.report
    if not is_local(table) or report.table != format_local_path(resolve_local_path(table)):
        return outcome
    return replace(outcome, report=replace(report, table=format_local_path(table)))
