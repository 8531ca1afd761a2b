"""Run the cases of suites against a candidate, table by table, with any number of candidates at once."""

import queue
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import msgspec

from deltaspec.candidates.host import Candidate, GivenUp
from deltaspec.candidates.messages import Capabilities
from deltaspec.errors import InvalidUsage
from deltaspec.protocol.revisions import Revision
from deltaspec.suites.cases import Case, list_cases, run_case
from deltaspec.suites.checks import CATALOG_SUITES, SUITES, WRITE_SUITES, SuiteName
from deltaspec.suites.outcomes import CaseResult
from deltaspec.suites.subjects import Corpus

Open: TypeAlias = Callable[[], Candidate]
"""Starts the candidate."""


class SuitePlan(msgspec.Struct, frozen=True):
    """The cases to ask a candidate: tables, suites and selection."""

    corpus: Corpus = msgspec.field(default_factory=Corpus)
    suites: Collection[SuiteName] = SUITES
    select: Callable[[str], bool] | None = None
    """Selects cases by id; None for all."""
    jobs: int = 1
    """Number of candidates that run at once."""
    stops_at: Callable[[CaseResult], bool] | None = None
    """Whether the run stops at a result; None to run every case."""


class TableDone(msgspec.Struct, frozen=True):
    """The results of all cases of one table."""

    table: str
    results: tuple[CaseResult, ...]


class Stopped(Exception):
    """The candidate died too often; the text is the reason."""


def run_suite_plan(open_candidate: Open, plan: SuitePlan, answered: Collection[str] = ()) -> Iterator[TableDone]:
    """Yield the results of every table, in the order in which they end.

    Args:
        open_candidate: starts the candidate.
        plan: what to ask.
        answered: ids of tables that are not asked about.

    Raises:
        Stopped: The candidate died five times in a row.
    """
    tables: queue.SimpleQueue[str] = queue.SimpleQueue()
    for identity in plan.corpus.list_ids():
        if identity not in answered:
            tables.put(identity)
    done: queue.SimpleQueue[TableDone | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()
    workers = [
        threading.Thread(target=_work, args=(open_candidate, plan, tables, done, stop), daemon=True)
        for _ in range(plan.jobs)
    ]
    for worker in workers:
        worker.start()
    running = len(workers)
    try:
        while running:
            match done.get():
                case None:
                    running -= 1
                case TableDone() as table:
                    yield table
                    if plan.stops_at is not None and any(map(plan.stops_at, table.results)):
                        return
                case GivenUp() as error:
                    raise Stopped(str(error)) from None
                case BaseException() as error:
                    raise error
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def _work(
    open_candidate: Open,
    plan: SuitePlan,
    tables: queue.SimpleQueue[str],
    done: queue.SimpleQueue[TableDone | BaseException | None],
    stop: threading.Event,
) -> None:
    try:
        with closing(open_candidate()) as candidate, tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
            while not stop.is_set():
                try:
                    identity = tables.get_nowait()
                except queue.Empty:
                    break
                done.put(run_table(candidate, identity, plan, Path(directory)))
    except BaseException as error:  # noqa: BLE001  (raised again by the thread that reads the results)
        done.put(error)
    done.put(None)


def run_table(candidate: Candidate, identity: str, plan: SuitePlan, directory: Path) -> TableDone:
    """Write a table below a directory, run its cases and remove it."""
    with tempfile.TemporaryDirectory(dir=directory) as here:
        subject = plan.corpus.build_subject(identity, Path(here))
        results = []
        for case in list_cases(candidate.capabilities, [subject], plan.suites):
            if _is_selected(plan, case):
                results.append(run_case(candidate, case))
                if plan.stops_at is not None and plan.stops_at(results[-1]):
                    break
        return TableDone(identity, tuple(results))


def _is_selected(plan: SuitePlan, case: Case) -> bool:
    return plan.select is None or plan.select(case.id)


def build_suite_plan(
    suites: Sequence[SuiteName],
    seed: int,
    tables: int,
    select: Callable[[str], bool] | None = None,
    jobs: int = 1,
    *,
    written: bool = True,
    golden: bool = False,
    revision: str = Revision.CURRENT,
) -> SuitePlan:
    """Return the plan of suites: as many drawn tables to read as histories to perform, and other tables.

    Args:
        suites: suites to run.
        seed: seed of the drawn tables and histories.
        tables: number of drawn tables, and of drawn histories.
        select: selects cases by id; None for all.
        jobs: number of candidates that run at once.
        written: whether to include the written tables and histories.
        golden: whether to include the golden cases, if a suite reads tables.
        revision: revision of the drawn tables; with an earlier one, there are no others.

    Raises:
        InvalidUsage: suites without drawn tables of an earlier revision are requested for one.
    """
    if revision != Revision.CURRENT:
        if left_out := [each for each in suites if each not in SUITES]:
            raise InvalidUsage(
                f"--revision {revision}: the tables of suite {', '.join(left_out)} are of the current one"
            )
        return SuitePlan(Corpus(seed, tables, written=False, revision=revision), suites, select, jobs)
    reads, catalog, writes = (any(each in suites for each in names) for names in (SUITES, CATALOG_SUITES, WRITE_SUITES))
    corpus = Corpus(
        seed,
        tables if reads else 0,
        written=written and (reads or catalog),
        catalog_tables=tables if catalog else None,
        histories=tables if writes else 0,
        written_histories=written and writes,
        golden=golden and reads,
    )
    return SuitePlan(corpus, suites, select, jobs)


def select_suites(names: Sequence[str]) -> tuple[SuiteName, ...]:
    """Return the suites of these names, or all that read tables. Raises `InvalidUsage` for an unknown one."""
    known = (*SUITES, *CATALOG_SUITES, *WRITE_SUITES)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidUsage(f"unknown suite {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(suite for suite in known if suite in names) or SUITES


def read_capabilities(open_candidate: Open) -> Capabilities:
    """Start the candidate, return its answer to `hello`, and end it."""
    with closing(open_candidate()) as candidate:
        return candidate.capabilities
