"""Races whose order follows from the seed: one writer at a time, the same interleaving every time."""

import random
from functools import partial
from pathlib import Path

from deltaspec.candidates.reference.engine import Engine
from deltaspec.faults.races import run_threads
from deltaspec.selftest.all_mutants import MUTANTS
from deltaspec.selftest.races import RaceTrack, Turns, wait_turn


def record_turns(seed: int) -> list[int]:
    turns, found = Turns(random.Random(seed), 3), list[int]()

    def work(number: int) -> None:
        for _ in range(4):
            found.append(number)
            wait_turn()

    run_threads([partial(turns.run, number, partial(work, number)) for number in range(3)])
    return found


def test_seed_decides_the_order() -> None:
    assert record_turns(1) == record_turns(1)
    assert sorted(record_turns(1)) == sorted([0, 1, 2] * 4)
    assert record_turns(2) != record_turns(1)


def test_waiting_outside_of_a_race_does_nothing() -> None:
    wait_turn()


def test_reference_wins_and_overwritten_commits_lose(tmp_path: Path) -> None:
    track = RaceTrack(tmp_path)
    sound = track.run(Engine, "race.1.1", tmp_path / "reference")
    assert any("refused: conflict" in line for line in sound.history), sound.history
    assert not sound.outcome.is_bad
    kill = track.catch(MUTANTS["concurrency.commits-overwritten"], "race.1.1", tmp_path / "mutant")
    assert kill is not None
    assert "acknowledged" in kill.message
