"""Run the suites against mutants until each is killed.

Every table is built once for all readers that are still alive; every writer performs its own histories and races. A
mutant is killed by the first case that it fails and that the reference passes. Drawn tables, histories and races come
first, so that their number says how soon a suite notices; mutants that survive them meet the written tables and
histories, then the golden cases.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from itertools import takewhile
from multiprocessing import get_context, parent_process
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.selftest.all_mutants import MUTANTS
from deltaspec.selftest.kills import Kill
from deltaspec.selftest.mutants import Mutant
from deltaspec.selftest.races import RACE, RaceTrack
from deltaspec.suites.cases import Case, list_cases, run_case
from deltaspec.suites.catalog import BY_PATH_TABLE
from deltaspec.suites.checks import CATALOG, CATALOG_SUITES, SUITES, WRITE_SUITES, TableUnderTest
from deltaspec.suites.outcomes import CaseResult
from deltaspec.suites.subjects import DRAWN, GOLDEN, HISTORY, Corpus, build_subject
from deltaspec_generators.histories.written import WRITTEN_HISTORIES

TABLE = "table"
_SECONDS_BETWEEN_REPORTS = 0.2


class MutantResult(msgspec.Struct, frozen=True):
    """Result of running the suites against one mutant: how it was caught, if it was."""

    mutant: str
    kill: Kill | None


class ReferenceFails(Exception):
    """The reference fails a case, so the case does not show a fault of a mutant."""


class Referee:
    """Confirms that the reference passes a case, at most once for each."""

    def __init__(self) -> None:
        self._reference: Candidate = InProcess(Engine())
        self._passed: set[str] = set()

    def confirm(self, case: Case) -> None:
        """Raise `ReferenceFails` if the reference fails the case."""
        if case.id in self._passed:
            return
        with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
            if case.subject.history is not None:  # it can be performed only once
                case = Case(case.check, build_subject(case.subject.id, Path(directory) / "history"))
            result = run_case(self._reference, case)
        if result.outcome.has_failed:
            raise ReferenceFails(f"{case.id}: {result.message}")
        self._passed.add(case.id)


def list_tables(corpus: Corpus, races: int = 0) -> list[str]:
    """List the ids of the tables and histories of a corpus and of races: drawn, then written, then golden ones."""
    written = [f"{HISTORY}.{name}" for name in WRITTEN_HISTORIES]
    ids = [*corpus.list_ids(), *written, *(f"{RACE}.{corpus.seed}.{number}" for number in range(races))]
    return sorted(ids, key=lambda each: (not is_drawn(each), each.startswith(f"{GOLDEN}.")))


def is_drawn(identity: str) -> bool:
    """Return whether an id names a drawn table, history or race: it has a seed and a number."""
    kind, _, name = identity.partition(".")
    return kind in (DRAWN, CATALOG, HISTORY, RACE) and all(part.isdecimal() for part in name.split("."))


def get_kind(identity: str) -> str:
    """Return the kind of subject that an id names: `history`, `race`, `catalog`, or `table` for a table to read."""
    kind = identity.partition(".")[0]
    return CATALOG if identity == BY_PATH_TABLE else kind if kind in (CATALOG, HISTORY, RACE) else TABLE


def get_kind_of_mutant(mutant: Mutant) -> str:
    """Return the kind of subject that shows the fault of a mutant."""
    kinds = {RACE: ("races",), HISTORY: WRITE_SUITES, CATALOG: CATALOG_SUITES}
    return next((kind for kind, suites in kinds.items() if set(mutant.suites) & set(suites)), TABLE)


def run_mutants(mutants: Sequence[Mutant], tables: Iterable[str]) -> Iterator[MutantResult]:
    """Yield the results of mutants as they are known: the killed ones in the order of their deaths.

    Raises:
        ReferenceFails: see there.
    """
    alive = {each.id: (each, InProcess(each.build())) for each in mutants}
    referee = Referee()
    drawn: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as shared:
        track = RaceTrack(Path(shared))
        for table in tables:
            kind = get_kind(table)
            drawn[kind] += is_drawn(table)
            racing = [each for each in alive.values() if get_kind_of_mutant(each[0]) == kind]
            if not racing:
                continue
            with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
                subject = build_subject(table, Path(directory)) if kind in (TABLE, CATALOG) else None
                for each, candidate in racing:
                    if kind == RACE:
                        kill = track.catch(each, table, Path(directory) / each.id)
                    else:
                        met = subject or build_subject(table, Path(directory) / each.id)
                        kill = _build_kill(table, catch(each, candidate, met, referee.confirm))
                    if kill is not None:
                        del alive[each.id]
                        count = drawn[kind] if is_drawn(table) else None
                        message = kill.message.replace(directory, "…")
                        yield MutantResult(each.id, replace(kill, tables=count, message=message))
    yield from (MutantResult(name, None) for name in alive)


def _build_kill(table: str, found: Sequence[CaseResult]) -> Kill | None:
    if not found:
        return None
    suites: tuple[Any, ...] = tuple(dict.fromkeys(each.suite for each in found))
    return Kill(table, None, found[0].check, suites, found[0].message.partition("\n")[0])


def catch(
    mutant: Mutant,
    candidate: Candidate,
    subject: TableUnderTest,
    confirm: Callable[[Case], None],
    *,
    only_its_suites: bool = False,
) -> list[CaseResult]:
    """Return the failed cases of a mutant on a table, the one that kills it first; none if it is not caught.

    Only the suites of the mutant can kill it. Unless `only_its_suites` is set, the others run on the table of its
    death, to record what they notice.
    """
    others = () if only_its_suites or subject.history else tuple(each for each in SUITES if each not in mutant.suites)
    order: list[Any] = [*mutant.suites, *others]
    found: list[CaseResult] = []
    for suite in order:
        if suite not in mutant.suites and not found:
            return []
        for case in list_cases(candidate.capabilities, [subject], (suite,)):
            result = run_case(candidate, case)
            if result.outcome.has_failed:
                confirm(case)
                found.append(result)
                break
    return found


def run_in_processes(
    names: Sequence[str], tables: Sequence[str], jobs: int, report: Callable[[MutantResult], None]
) -> list[MutantResult]:
    """Run mutants in several processes, which share them; return the results in the order of the names.

    Args:
        names: ids of the mutants.
        tables: ids of the tables.
        jobs: number of processes.
        report: called with each result when it is known.
    """
    results: dict[str, MutantResult] = {}
    context = get_context("spawn")
    queue: SimpleQueue[MutantResult] = context.SimpleQueue()
    stop = context.Event()

    def drain() -> None:
        while not queue.empty():
            result = queue.get()
            results[result.mutant] = result
            report(result)

    with ProcessPoolExecutor(jobs, context, initializer=_set_shared, initargs=(queue, stop)) as pool, _set_at_end(stop):
        running: list[Future[None]] = [
            pool.submit(run_share, list(names[start::jobs]), list(tables)) for start in range(jobs)
        ]
        while not all(each.done() for each in running):
            time.sleep(_SECONDS_BETWEEN_REPORTS)
            drain()
        for each in running:
            each.result()
        drain()
    return [results[name] for name in names]


@contextmanager
def _set_at_end(stop: Event) -> Iterator[None]:
    """Set the event at the end, so that the other processes stop after an error."""
    try:
        yield
    finally:
        stop.set()


result_queue: "tuple[SimpleQueue[MutantResult], Event] | None" = None
"""Queue for the results of a process, and the event that stops the process early."""


def _set_shared(queue: "SimpleQueue[MutantResult]", stop: Event) -> None:
    global result_queue
    result_queue = queue, stop


def run_share(names: list[str], tables: list[str]) -> None:
    """Run mutants in a process of the pool until the host stops it or ends."""
    assert result_queue is not None
    queue, stop = result_queue
    parent = parent_process()

    def is_wanted(_: object) -> bool:
        return not stop.is_set() and (parent is None or parent.is_alive())

    with redirect_stderr(StringIO()):  # the traceback of an engine that fails is expected here
        for result in run_mutants([MUTANTS[name] for name in names], takewhile(is_wanted, tables)):
            if is_wanted(result):  # otherwise nobody empties the queue
                queue.put(result)
