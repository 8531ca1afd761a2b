"""Trials without a fault: every kind of operation once on every base table.

They show that the operations work at all, how long they take, and how large the files are that they write.
"""

import time

from deltaspec.candidates.host import Died, Refused
from deltaspec.faults.bench import Trial, request
from deltaspec.faults.judging import list_files
from deltaspec.faults.workload import FIRST_NEW_ID, Rows, Workload, build_delete
from deltaspec.suites.checks import NotAsked


def run_control(trial: Trial, kind: str) -> None:
    """Perform one operation; a kind that the engine does not offer on this table is left out of other trials."""
    bench, base = trial.bench, trial.base
    rows = _prepare(trial, kind)
    step = Workload(trial.rng, (kind,), trial.directory, FIRST_NEW_ID).draw_step(rows)
    before, started = list_files(trial.table), time.monotonic()
    try:
        answer = request(bench.host, trial.table, step, note=bench.note)
    except Refused as refused:
        trial.note(step, refused)
        bench.offered[base.name].remove(kind)
        if refused.refusal.category == "unsupported":
            raise NotAsked(f"{kind} of a {base.name} table: {refused}") from None
        trial.faults.append(f"{step.title} was refused without a fault: {refused}")
        return
    except Died as death:
        bench.offered[base.name].remove(kind)
        trial.record_death(death, step.title)
        return
    bench.note_seconds(kind, time.monotonic() - started)
    sizes = [size for path, size in list_files(trial.table).items() if path not in before]
    bench.file_sizes.setdefault(kind, []).extend(sizes)
    trial.note(step, answer)
    trial.accepted = ()
    trial.judge([step.change(rows)])
    bench.known_violations.update(trial.violations)


def _prepare(trial: Trial, kind: str) -> Rows:
    """Delete a row before a checkpoint, which then has a tombstone; return the rows of the table."""
    rows = trial.base.rows
    if kind != "checkpoint" or "delete" not in trial.offered:
        return rows
    step = build_delete(0, 1)
    try:
        trial.note(step, request(trial.bench.host, trial.table, step))
    except Refused as refused:
        trial.note(step, refused)
        return rows
    return step.change(rows)
