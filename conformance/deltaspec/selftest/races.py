"""Races of mutants with an order that follows from the seed.

The races of `deltaspec faults` depend on the scheduler of the machine. Here one writer works at a time: before each
commit, and where a fault waits, a seeded choice decides which writer continues.
"""

import random
import shutil
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.faults.bench import LAYOUTS, Bench, Trial, build_bench
from deltaspec.faults.races import Racer, run_race, run_threads
from deltaspec.faults.runner import RACERS
from deltaspec.faults.trials import Fault
from deltaspec.protocol.property_names import ROW_TRACKING
from deltaspec.selftest.kills import Kill
from deltaspec.selftest.mutants import Mutant

RACE = "race"
_LAYOUTS = {
    "plain": LAYOUTS["plain"],
    "vectors": LAYOUTS["vectors"],
    "row ids": ((), {ROW_TRACKING: "true"}),
}
_thread = threading.local()


class Turns:
    """Lets one of several threads run at a time.

    Args:
        rng: chooses the writer that continues.
        number: number of threads.
    """

    def __init__(self, rng: random.Random, number: int) -> None:
        self._rng = rng
        self._changed = threading.Condition()
        self._working = set(range(number))
        self._waiting: set[int] = set()
        self._next: int | None = None

    def run(self, number: int, work: Callable[[], None]) -> None:
        """Run the work of a thread, in turns with the others."""
        _thread.wait_turn = partial(self._wait, number)
        try:
            self._wait(number)
            work()
        finally:
            with self._changed:
                self._working.discard(number)
                self._choose()

    def _wait(self, number: int) -> None:
        with self._changed:
            self._waiting.add(number)
            self._choose()
            self._changed.wait_for(lambda: self._next == number)
            self._next = None
            self._waiting.discard(number)

    def _choose(self) -> None:
        """Let one thread continue as soon as all of them wait."""
        if self._waiting and self._waiting == self._working:
            self._next = self._rng.choice(sorted(self._waiting))
            self._changed.notify_all()


def wait_turn() -> None:
    """Let the other writers of a race continue; without a race, do nothing."""
    getattr(_thread, "wait_turn", lambda: None)()


def run_in_turns(rng: random.Random, racers: Sequence[Racer], table: str) -> None:
    """Let writers work one at a time, in an order that `rng` chooses."""
    turns = Turns(rng, len(racers))
    run_threads([partial(turns.run, number, partial(each.run, table, wait_turn)) for number, each in enumerate(racers)])


def interrupt_before_commits(engine: Engine) -> Engine:
    """Let the writer of an engine wait for its turn before each commit."""
    original = engine.writer.transaction.commit

    def commit(transaction: Any, options: Any) -> int:
        wait_turn()
        return original(transaction, options)

    waiting = type("Transaction", (engine.writer.transaction,), {"commit": commit})
    engine.writer = type("Writer", (engine.writer,), {"transaction": waiting})  # type: ignore[assignment]
    return engine


class RaceTrack:
    """Runs races on tables that the reference has created.

    Args:
        directory: where the tables are kept.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @cached_property
    def _bench(self) -> Bench:
        return build_bench(InProcess(Engine()), self._directory, 0, _LAYOUTS)

    def catch(self, mutant: Mutant, race: str, directory: Path) -> Kill | None:
        """Return how a race catches a mutant; None if its tables are right.

        Args:
            mutant: the writer, which races against itself.
            race: id of the race, `race.SEED.NUMBER`.
            directory: where to write the table.
        """
        trial = self.run(mutant.build, race, directory)
        if not trial.outcome.is_bad:
            return None
        return Kill(race, None, "faults.race", ("races",), [*trial.faults, *trial.weak][0].partition("\n")[0])

    def run(self, build: Callable[[], Engine], race: str, directory: Path) -> Trial:
        """Run a race of engines and judge it."""
        _, seed, number = race.split(".")
        bench = self._bench
        bench.seed = int(seed)
        trial = Trial(bench, Fault.RACE, int(number), None, directory)
        hosts = [InProcess(interrupt_before_commits(build())) for _ in range(RACERS[int(number) % len(RACERS)])]
        run_race(trial, hosts, partial(run_in_turns, random.Random(f"deltaspec turns {seed} {number}")))
        shutil.rmtree(directory, ignore_errors=True)
        return trial
