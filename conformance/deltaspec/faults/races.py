"""Let two or four writers work on one table at once.

Every writer appends rows with its own ids and deletes only these and its own part of the table's first rows. So the
result does not depend on the order of the commits: every acknowledged operation must be visible, exactly once, and a
refused one must have left no trace. Optimize and the deletes of rows that share files make writers conflict.

In an object store the candidates get the URI of the table, and its objects are copied to the directory of the trial
before they are judged.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.host import Candidate, Died, Refused
from deltaspec.candidates.messages import ApplyAnswer
from deltaspec.faults.bench import BASE_APPENDS, BASE_ROWS, Trial, request
from deltaspec.faults.judging import Unreadable
from deltaspec.faults.object_store import ObjectStore
from deltaspec.faults.workload import FIRST_NEW_ID, Workload, apply_step, get_title
from deltaspec.suites.checks import NotAsked
from deltaspec.suites.write_judging import list_versions
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.histories.plain_table import ID, PlainTable

MAX_STEPS = 5
_KINDS = ("append", "delete", "optimize", "checkpoint")
_START_SECONDS = 60.0


class Racer(msgspec.Struct):
    """One writer of a race: its operations and the answers."""

    host: Candidate
    number: int
    own: range
    """Ids of its part of the first rows."""
    steps: list[Step]
    directory: Path
    """Where the rows of its operations are written."""
    results: list[ApplyAnswer | Refused | Died | Exception] = msgspec.field(default_factory=list)

    def run(self, table: str, start: Callable[[], object]) -> None:
        """Perform the operations, one after the other; `start` waits for the other writers."""
        try:
            start()
            for step in self.steps:
                try:
                    self.results.append(request(self.host, table, step, self.directory))
                except Refused as error:
                    self.results.append(error)
                except Died as error:
                    self.results.append(error)
                    return
        except Exception as error:  # noqa: BLE001  (raised again by the thread of the trial)
            self.results.append(error)

    def compute_tables(self, base: PlainTable) -> list[PlainTable]:
        """Return its rows after all acknowledged operations; two variants for each without an answer."""
        states = [_select_rows(base, self.own)]
        for step, result in zip(self.steps, self.results, strict=False):
            if isinstance(result, ApplyAnswer):
                states = [apply_step(table, step) for table in states]
            elif isinstance(result, Died):
                states += [apply_step(table, step) for table in states]
        return states


def _select_rows(table: PlainTable, ids: range) -> PlainTable:
    return replace(table, rows=tuple(row for row in table.rows if row[ID] in ids))


RunRacers: TypeAlias = Callable[[Sequence[Racer], str], None]
"""Lets all racers perform their operations on a table with this location."""


def run_at_once(racers: Sequence[Racer], location: str) -> None:
    """Let writers work in any order."""
    barrier = threading.Barrier(len(racers))
    run_threads([partial(racer.run, location, partial(barrier.wait, _START_SECONDS)) for racer in racers])


def run_threads(targets: Sequence[Callable[[], None]]) -> None:
    """Run functions in threads, and wait for all."""
    threads = [threading.Thread(target=each, daemon=True) for each in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_race(trial: Trial, hosts: Sequence[Candidate], run: RunRacers = run_at_once) -> None:
    """Let writers race in a directory, and judge the table."""
    _run_race(trial, hosts, str(trial.table), run, lambda: None)


def run_s3_race(trial: Trial, hosts: Sequence[Candidate], store: ObjectStore) -> None:
    """Let writers race in an object store, and judge the table."""
    if any("s3" not in host.capabilities.stores for host in hosts):
        raise NotAsked("a candidate does not declare the store s3")
    try:
        uri = store.upload(trial.table, trial.name)
        _run_race(trial, hosts, uri, run_at_once, partial(store.download, trial.name, trial.table))
    except Unreadable as fault:
        trial.faults.append(f"the table cannot be read: {fault}")
    finally:
        store.delete(trial.name)


def _run_race(
    trial: Trial, hosts: Sequence[Candidate], location: str, run: RunRacers, fetch: Callable[[], None]
) -> None:
    racers = [_build_racer(trial, number, hosts) for number in range(len(hosts))]
    first = max(list_versions(trial.table))
    run(racers, location)
    fetch()
    for racer in racers:
        for step, result in zip(racer.steps, racer.results, strict=False):
            if isinstance(result, Exception) and not isinstance(result, Refused | Died):
                raise result
            trial.note(step, result, f"writer {racer.number}: ")
            _check_answer(trial, racer, step, result)
    _check_versions(trial, racers, first)
    allowed = [replace(trial.base.content, rows=())]
    for racer in racers:
        tables = racer.compute_tables(trial.base.content)
        allowed = [replace(table, rows=(*table.rows, *own.rows)) for table in allowed for own in tables]
    found = trial.judge(allowed)
    if found is not None:
        trial.check_recovery(hosts[0], allowed[found], location, fetch)


def _build_racer(trial: Trial, number: int, hosts: Sequence[Candidate]) -> Racer:
    """Draw the operations of a writer; a delete touches only its own rows or its part of the first rows."""
    size = BASE_APPENDS * BASE_ROWS // len(hosts)
    own = range(number * size, (number + 1) * size)
    host = hosts[number]
    kinds = [kind for kind in _KINDS if kind in host.capabilities.kinds and kind in trial.offered]
    workload = Workload(trial.rng, kinds, FIRST_NEW_ID * (number + 1))
    table = _select_rows(trial.base.content, own)
    steps: list[Step] = []
    for _ in range(trial.rng.randint(2, MAX_STEPS)):
        step = workload.draw_step(table, own)
        table = apply_step(table, step)
        steps.append(step)
    return Racer(host, number, own, steps, trial.directory)


def _check_answer(trial: Trial, racer: Racer, step: Step, result: ApplyAnswer | Refused | Died) -> None:
    what = f"writer {racer.number}, {get_title(step)}"
    if isinstance(result, Died):
        trial.record_death(result, what)
    elif isinstance(result, Refused) and result.refusal.category not in ("conflict", "unsupported"):
        trial.weak.append(f"{what}: expected the category conflict, found {result}")


def _check_versions(trial: Trial, racers: Sequence[Racer], first: int) -> None:
    """Compare the number of new versions with the number of acknowledged operations."""
    results = [result for racer in racers for result in racer.results]
    acknowledged = sum(isinstance(each, ApplyAnswer) and each.committed for each in results)
    lost_answers = sum(isinstance(each, Died) for each in results)
    versions = len([version for version in list_versions(trial.table) if version > first])
    if not acknowledged <= versions <= acknowledged + lost_answers:
        text = f"{versions} new versions, but {acknowledged} acknowledged operations that committed"
        trial.faults.append(text if versions < acknowledged else f"a refused operation left a trace: {text}")
