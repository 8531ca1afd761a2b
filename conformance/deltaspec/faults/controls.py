"""Trials without a fault: every kind of operation once on every base table.

They show that the operations work at all, how long they take, and the sizes of the files that they write.
"""

import time

from deltaspec.candidates.host import Died, Refused
from deltaspec.faults.bench import Trial, request
from deltaspec.faults.judging import list_files
from deltaspec.faults.workload import FIRST_NEW_ID, Workload, apply_step, build_delete, get_title
from deltaspec.suites.checks import NotAsked
from deltaspec_generators.histories.plain_table import PlainTable


def run_control(trial: Trial, kind: str) -> None:
    """Perform one operation; a kind that the engine does not offer on this table is left out of other trials."""
    bench, base = trial.bench, trial.base
    table = _prepare(trial, kind)
    step = Workload(trial.rng, (kind,), FIRST_NEW_ID).draw_step(table)
    before, started = list_files(trial.table), time.monotonic()
    try:
        answer = request(bench.host, trial.table, step, trial.directory, note=bench.note)
    except Refused as refused:
        trial.note(step, refused)
        bench.offered[base.name].remove(kind)
        if refused.refusal.category == "unsupported":
            raise NotAsked(f"{kind} of a {base.name} table: {refused}") from None
        trial.faults.append(f"{get_title(step)} was refused without a fault: {refused}")
        return
    except Died as death:
        bench.offered[base.name].remove(kind)
        trial.record_death(death, get_title(step))
        return
    bench.note_seconds(kind, time.monotonic() - started)
    sizes = [size for path, size in list_files(trial.table).items() if path not in before]
    bench.file_sizes.setdefault(kind, []).extend(sizes)
    trial.note(step, answer)
    trial.accepted = ()
    trial.judge([apply_step(table, step)])
    bench.known_violations.update(trial.violations)


def _prepare(trial: Trial, kind: str) -> PlainTable:
    """Delete a row before a checkpoint, which then has a tombstone; return the content of the table."""
    table = trial.base.content
    if kind != "checkpoint" or "delete" not in trial.offered:
        return table
    step = build_delete(0, 1)
    try:
        trial.note(step, request(trial.bench.host, trial.table, step, trial.directory))
    except Refused as refused:
        trial.note(step, refused)
        return table
    return apply_step(table, step)
