"""Kill a writer at a random moment of its operations.

The table must then validate and have the rows before or after the interrupted operation. So an operation that was
acknowledged before is present, and no operation is done in part.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from deltaspec.candidates.host import Died, Host, Refused
from deltaspec.faults.bench import Trial, request
from deltaspec.faults.workload import apply_step, get_title, list_rows
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.histories.plain_table import PlainTable

MAX_STEPS = 4
_POLL_SECONDS = 0.0005
_LATE = 1.05
"""Moments are drawn up to this multiple of the expected duration, so that some kills come after the last answer."""
_DELAY = 0.3
"""Part of the expected duration of an operation, by which a kill may follow a new file."""


class Moment(msgspec.Struct, frozen=True):
    """When to kill: after a time, or a time after the writer has created a number of files."""

    seconds: float
    files: int = 0

    def __str__(self) -> str:
        files = f" after {self.files} more files appeared" if self.files else ""
        return f"SIGKILL {self.seconds * 1000:.1f} ms{files or ' after the first request'}"


def run_kill(trial: Trial, host: Host) -> None:
    """Perform operations, kill the writer, and judge the table."""
    steps, states = draw_steps(trial)
    moment = _draw_moment(trial, steps)
    killed = threading.Event()
    stop = threading.Event()
    watcher = threading.Thread(target=_kill_at, args=(host, trial.table, moment, stop, killed.set), daemon=True)
    current, interrupted = 0, False
    watcher.start()
    try:
        for step in steps:
            started = time.monotonic()
            trial.note(step, request(host, trial.table, step, trial.directory))
            trial.bench.note_seconds(step.kind, time.monotonic() - started)
            current += 1
    except Refused as refused:
        trial.note(steps[current], refused)
        trial.faults.append(f"{get_title(steps[current])} was refused: {refused}")
    except Died as death:
        trial.note(steps[current], death)
        interrupted = killed.is_set()
        if not interrupted:
            trial.record_death(death, get_title(steps[current]))
    finally:
        stop.set()
        watcher.join()
        host.discard_process()
    trial.history.append(
        f"{moment}; {'during ' + get_title(steps[current]) if interrupted else 'after the last answer'}"
    )
    allowed = states[current : current + 2] if interrupted else [states[current]]
    found = trial.judge(allowed)
    if found is None:
        return
    kept = "while idle"
    if interrupted:
        same = len(allowed) == 2 and list_rows(allowed[0]) == list_rows(allowed[1])
        kept = f"{steps[current].kind}: " + ("rows unchanged" if same else "not done" if found == 0 else "done")
        trial.counts[f"killed during {kept}"] += 1
    else:
        trial.counts[f"killed {kept}"] += 1
    trial.check_recovery(host, allowed[found], trial.table)


def draw_steps(trial: Trial) -> tuple[list[Step], list[PlainTable]]:
    """Draw operations; return them with the table before the first and after each."""
    steps: list[Step] = []
    states = [trial.base.content]
    for _ in range(trial.rng.randint(1, MAX_STEPS)):
        steps.append(trial.workload.draw_step(states[-1]))
        states.append(apply_step(states[-1], steps[-1]))
    return steps, states


def _draw_moment(trial: Trial, steps: list[Step]) -> Moment:
    """Draw a moment within the time that these operations took without a fault, or by the files that they write."""
    bench, rng = trial.bench, trial.rng
    expected = [bench.seconds.get(step.kind, 0.1) for step in steps]
    if rng.random() < 0.5:
        return Moment(rng.uniform(0, _LATE * sum(expected)))
    files = sum(len(bench.file_sizes.get(step.kind, ())) // len(bench.bases) for step in steps)
    return Moment(rng.uniform(0, _DELAY) * sum(expected) / len(expected), rng.randint(1, max(1, files)))


def _kill_at(host: Host, table: Path, moment: Moment, stop: threading.Event, note: Callable[[], None]) -> None:
    wanted = _count_files(table) + moment.files
    while moment.files and _count_files(table) < wanted:
        if stop.wait(_POLL_SECONDS):
            return
    if not stop.wait(moment.seconds):
        note()
        host.kill()


def _count_files(table: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(table))
