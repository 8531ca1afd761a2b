"""Run all trials of a candidate: without a fault first, then one fault after the other."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.host import Candidate, Host
from deltaspec.candidates.process import Launch
from deltaspec.candidates.registry import find_launch
from deltaspec.faults.bench import Bench, Trial
from deltaspec.faults.controls import run_control
from deltaspec.faults.kills import run_kill
from deltaspec.faults.object_store import ObjectStore
from deltaspec.faults.races import run_race, run_s3_race
from deltaspec.faults.small_disk import SmallDisk
from deltaspec.faults.storage_faults import run_file_size, run_full_disk, run_read_only, wrap_launch
from deltaspec.faults.trials import Fault, TrialResult
from deltaspec.output_files import fill_directory
from deltaspec.suites.checks import NotAsked
from deltaspec.suites.outcomes import Outcome

RACERS = (2, 4)
"""Numbers of writers in a race; trials alternate between them."""
_MESSAGE_CHARACTERS = 8_000
RunTrial: TypeAlias = Callable[[Trial], None]


class FaultPlan(msgspec.Struct, frozen=True):
    """Arguments of a run of trials: candidates, faults, numbers of trials and seed."""

    candidate: str
    """As on the command line."""
    trials: Mapping[Fault, Sequence[int]]
    """Numbers of the trials by fault."""
    others: tuple[str, ...] = ()
    """Candidates that race against the candidate under test."""
    timeout_scale: float = 1.0
    keep: Path | None = None
    """Where to save the tables of failed trials."""
    done: frozenset[str] = frozenset()
    """Names of trials that are not run again."""


def run_trials(bench: Bench, plan: FaultPlan) -> Iterator[TrialResult]:
    """Yield the results in order. All processes end with the iterator.

    Raises:
        GivenUp: a candidate died too often in a row.
        Died: a candidate does not start.
    """
    if not bench.bases:
        raise NotAsked("the candidate creates no table: " + "; ".join(bench.refused_bases.values()))
    for name, reason in bench.refused_bases.items():
        if f"{Fault.NONE}.{name}" not in plan.done:
            yield TrialResult(trial=f"{Fault.NONE}.{name}", outcome=Outcome.NOT_ASKED, seconds=0.0, message=reason)
    pairs = [(base, kind) for base in bench.bases for kind in bench.kinds]
    for number, (base, kind) in enumerate(pairs):
        if f"{Fault.NONE}.{number}" in plan.done:
            continue
        trial = partial(Trial, bench, Fault.NONE, number, base)
        yield _run_trial(bench, plan, trial, partial(run_control, kind=kind))
    for fault, numbers in plan.trials.items():
        left = [number for number in numbers if f"{fault}.{number}" not in plan.done]
        if not left:
            continue
        with ExitStack() as stack:
            run = _prepare(bench, plan, fault, stack)
            for number in left:
                yield _run_trial(bench, plan, partial(Trial, bench, fault, number, None), run)


def _prepare(bench: Bench, plan: FaultPlan, fault: Fault, stack: ExitStack) -> RunTrial:
    """Return the function that performs a trial; start the candidates that it needs."""

    def start(launch: Launch) -> Host:
        return stack.enter_context(Host(launch, timeout_scale=plan.timeout_scale))

    launch = find_launch(plan.candidate)
    launches = islice(cycle([launch, *map(find_launch, plan.others)]), max(RACERS))
    match fault:
        case Fault.RACE:
            return partial(_run_race, [bench.host, *map(start, islice(launches, 1, None))])
        case Fault.S3_RACE:
            try:
                store = stack.enter_context(ObjectStore())
            except NotAsked as error:
                return partial(_refuse, str(error))
            racers = [start(replace(each, environment={**each.environment, **store.environment})) for each in launches]
            return partial(_run_s3_race, racers, store)
        case Fault.FULL_DISK:
            path = bench.directory / "disk"
            path.mkdir(exist_ok=True)
            try:
                disk = stack.enter_context(SmallDisk(path))
            except NotAsked as error:
                return partial(_refuse, str(error))
            return partial(run_full_disk, host=start(disk.wrap(wrap_launch(launch))), disk=disk)
        case Fault.FILE_SIZE:
            return partial(run_file_size, host=start(wrap_launch(launch)))
        case Fault.READ_ONLY:
            return partial(run_read_only, host=start(wrap_launch(launch)))
    assert isinstance(bench.host, Host), "only a process can be killed"
    return partial(run_kill, host=bench.host)


def _run_race(hosts: Sequence[Candidate], trial: Trial) -> None:
    run_race(trial, _select_racers(hosts, trial))


def _run_s3_race(hosts: Sequence[Candidate], store: ObjectStore, trial: Trial) -> None:
    run_s3_race(trial, _select_racers(hosts, trial), store)


def _select_racers(hosts: Sequence[Candidate], trial: Trial) -> Sequence[Candidate]:
    return hosts[: RACERS[trial.number % len(RACERS)]]


def _refuse(reason: str, _: Trial) -> None:
    raise NotAsked(reason)


def _run_trial(bench: Bench, plan: FaultPlan, build: Callable[[Path], Trial], run: RunTrial) -> TrialResult:
    started = time.monotonic()
    trial = build(bench.directory / "trials")
    try:
        run(trial)
        outcome, message = trial.outcome, "\n".join([*trial.faults, *trial.weak])
    except NotAsked as error:
        outcome, message = Outcome.NOT_ASKED, str(error)
    result = TrialResult(
        trial=trial.name,
        outcome=outcome,
        seconds=round(time.monotonic() - started, 3),
        message=message if len(message) <= _MESSAGE_CHARACTERS else f"{message[:_MESSAGE_CHARACTERS]}…",
        history=tuple(trial.history),
        counts=dict(trial.counts),
        orphans=trial.orphans,
    )
    if outcome.is_bad and plan.keep is not None:
        with fill_directory(plan.keep / trial.name) as kept:
            shutil.copytree(trial.directory, kept, dirs_exist_ok=True)
            (kept / "trial.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    shutil.rmtree(trial.directory)
    return result
