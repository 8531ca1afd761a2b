"""Run the suites against mutants until each is killed.

Every table is built once for all mutants that are still alive. A mutant is killed by the first case that it fails and
that the reference passes. Drawn tables come first, so that the number of tables says how soon a suite notices; mutants
that survive them meet the written tables.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.selftest.all_mutants import MUTANTS
from deltaspec.selftest.mutants import Mutant
from deltaspec.suites.cases import Case, list_cases, run_case
from deltaspec.suites.checks import SUITES, SuiteName, TableUnderTest
from deltaspec.suites.outcomes import CaseResult
from deltaspec.suites.subjects import Corpus, build_subject, is_drawn

_SECONDS_BETWEEN_REPORTS = 0.2


@dataclass(frozen=True)
class Kill:
    """How a mutant was caught."""

    table: str
    """Id of the table."""
    tables: int | None
    """Number of drawn tables until then; None if only a written table caught it."""
    check: str
    suites: tuple[SuiteName, ...]
    """Suites that catch it on this table."""
    message: str
    """First line of the failure."""


@dataclass(frozen=True)
class MutantResult:
    """What became of a mutant."""

    mutant: str
    kill: Kill | None


class ReferenceFails(Exception):
    """The reference fails a case, so that the case does not show a fault of a mutant."""


class Referee:
    """Confirms that the reference passes a case, at most once for each."""

    def __init__(self) -> None:
        self._reference: Candidate = InProcess(Engine())
        self._passed: set[str] = set()

    def confirm(self, case: Case) -> None:
        """Raise `ReferenceFails` if the reference fails the case."""
        if case.id in self._passed:
            return
        result = run_case(self._reference, case)
        if result.outcome.is_bad:
            raise ReferenceFails(f"{case.id}: {result.message}")
        self._passed.add(case.id)


def list_tables(corpus: Corpus) -> list[str]:
    """List the ids of the tables of a corpus, the drawn ones first."""
    return sorted(corpus.list_ids(), key=lambda each: not is_drawn(each))


def run_mutants(mutants: Sequence[Mutant], tables: Sequence[str]) -> Iterator[MutantResult]:
    """Yield the results of mutants as they are known: the killed ones in the order of their deaths.

    Raises:
        ReferenceFails: see there.
    """
    alive = {each.id: (each, InProcess(each.build())) for each in mutants}
    referee = Referee()
    drawn = 0
    for table in tables:
        if not alive:
            return
        drawn += is_drawn(table)
        with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
            subject = build_subject(table, Path(directory))
            for each, candidate in list(alive.values()):
                found = catch(each, candidate, subject, referee.confirm)
                if found:
                    del alive[each.id]
                    suites = tuple(dict.fromkeys(result.suite for result in found))
                    first = found[0]
                    count = drawn if is_drawn(table) else None
                    message = first.message.partition("\n")[0].replace(directory, "…")
                    kill = Kill(table, count, first.check, suites, message)  # type: ignore[arg-type]
                    yield MutantResult(each.id, kill)
    yield from (MutantResult(name, None) for name in alive)


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
    others = () if only_its_suites else tuple(each for each in SUITES if each not in mutant.suites)
    order = [*mutant.suites, *others]
    found: list[CaseResult] = []
    for suite in order:
        if suite not in mutant.suites and not found:
            return []
        for case in list_cases(candidate.capabilities, [subject], (suite,)):
            result = run_case(candidate, case)
            if result.outcome.is_bad:
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

    def drain() -> None:
        while not queue.empty():
            result = queue.get()
            results[result.mutant] = result
            report(result)

    with ProcessPoolExecutor(jobs, context, initializer=_set_queue, initargs=(queue,)) as pool:
        running: list[Future[None]] = [
            pool.submit(_run_share, list(names[start::jobs]), list(tables)) for start in range(jobs)
        ]
        while not all(each.done() for each in running):
            time.sleep(_SECONDS_BETWEEN_REPORTS)
            drain()
        for each in running:
            each.result()
        drain()
    return [results[name] for name in names]


_queue: "SimpleQueue[MutantResult] | None" = None


def _set_queue(queue: "SimpleQueue[MutantResult]") -> None:
    global _queue
    _queue = queue


def _run_share(names: list[str], tables: list[str]) -> None:
    assert _queue is not None
    with redirect_stderr(StringIO()):  # the traceback of an engine that fails is no news here
        for result in run_mutants([MUTANTS[name] for name in names], tables):
            _queue.put(result)
