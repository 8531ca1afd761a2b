"""`deltaspec faults`."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deltaspec import __version__
from deltaspec.commands.options import CountRange, NumberRange, parse_names
from deltaspec.commands.progress import show_progress
from deltaspec.commands.run_output import EVENTS, OUTPUT, format_option, require_events, resume_option, write_report
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import translate_write_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltaspec.commands.run_output import Renderers
    from deltaspec.faults.trials import Fault, FaultReport

_COUNT = CountRange(min=0)


@click.command("faults")
@click.argument("candidate")
@click.option("--kills", type=_COUNT, default=200, show_default=True, help="Number of killed writers.")
@click.option("--races", type=_COUNT, default=40, show_default=True, help="Number of races of two or four writers.")
@click.option("--s3-races", type=_COUNT, default=20, show_default=True, help="Number of races in an object store.")
@click.option(
    "--storage",
    type=_COUNT,
    default=40,
    show_default=True,
    help="Number of trials each with a full disk, a limited file size, and read-only directories.",
)
@click.option("--with", "others", multiple=True, callback=parse_names, metavar="CANDIDATES", help="Also in the races.")
@click.option("--seed", type=_COUNT, default=1, show_default=True, help="Seed of operations, moments and limits.")
@click.option("--only", multiple=True, callback=parse_names, metavar="TRIALS", help="Only these, such as kill.17.")
@click.option("--repeat", type=CountRange(min=1), default=1, metavar="TIMES", help="Repeat each trial of --only.")
@click.option("--keep", type=click.Path(file_okay=False), metavar="DIR", help="Keep the tables of failed trials here.")
@format_option("text", "json", "markdown")
@OUTPUT
@EVENTS
@resume_option("Trials in the --events file are not run again.")
@click.option(
    "--timeout-scale",
    type=NumberRange(min=0.01),
    default=1.0,
    show_default=True,
    help="Multiplies all deadlines of the candidates, for slow machines.",
)
def faults(
    candidate: str,
    kills: int,
    races: int,
    s3_races: int,
    storage: int,
    others: list[str],
    seed: int,
    only: list[str],
    repeat: int,
    keep: str | None,
    output_format: str,
    output: str | None,
    events: str | None,
    resume: bool,
    timeout_scale: float,
) -> None:
    """Kill CANDIDATE while it writes, let writers race, and remove disk space and permissions.

    CANDIDATE is as for `deltaspec test`, and must offer the kinds create and append of the operation apply. After each
    trial, the table must validate and have exactly the rows of the acknowledged operations; a killed or failed
    operation is done completely or not at all. It takes minutes.

    Operations, moments and limits follow from the seed; how far an engine has come at a moment does not. The exit code
    is 0 if all trials passed, 1 if not, 2 if nothing was asked, 3 if a candidate does not start or died too often.
    """
    from deltaspec.faults.rendering import render_markdown, render_text
    from deltaspec.faults.trials import Fault

    storage_faults = (Fault.FULL_DISK, Fault.FILE_SIZE, Fault.READ_ONLY)
    numbers = {Fault.KILL: kills, Fault.RACE: races, Fault.S3_RACE: s3_races, **dict.fromkeys(storage_faults, storage)}
    trials: dict[Fault, Sequence[int]] = {fault: range(number) for fault, number in numbers.items()}
    if only:
        trials = _parse_trials(only, repeat)
    require_events(events, resume=resume)
    if resume and repeat > 1:
        raise InvalidUsage("--resume cannot be combined with --repeat")
    report = _run(candidate, others, seed, trials, keep, events, timeout_scale, resume=resume)
    renderers: Renderers[FaultReport] = {"text": render_text, "markdown": render_markdown}
    write_report(report, renderers, output_format, output, report.exit_code)
    sys.exit(report.exit_code)


def _parse_trials(names: Sequence[str], repeat: int) -> dict[Fault, Sequence[int]]:
    from deltaspec.faults.trials import Fault

    faults = [fault.value for fault in Fault if fault is not Fault.NONE]
    found: dict[Fault, list[int]] = {}
    for name in names:
        match = re.fullmatch(r"([a-z-]+)\.(\d{1,9})", name)
        if match is None or match[1] not in faults:
            raise InvalidUsage(f"unknown trial {name}: expected FAULT.NUMBER with one of {', '.join(faults)}")
        found.setdefault(Fault(match[1]), []).extend([int(match[2])] * repeat)
    return dict(found)


def _run(
    candidate: str,
    others: Sequence[str],
    seed: int,
    trials: dict[Fault, Sequence[int]],
    keep: str | None,
    events: str | None,
    timeout_scale: float,
    *,
    resume: bool,
) -> FaultReport:
    from deltaspec.candidates.host import Died, GivenUp
    from deltaspec.faults.bench import build_bench
    from deltaspec.faults.runner import FaultPlan, run_trials
    from deltaspec.faults.trials import Fault, FaultRun, TrialResult, build_fault_report
    from deltaspec.suites.checks import NotAsked
    from deltaspec.suites.events import open_events
    from deltaspec.suites.startup import start_candidate

    started = time.monotonic()
    known: set[str] = set()
    complete = True
    with ExitStack() as stack:
        stack.enter_context(translate_write_errors(keep or "the temporary directory"))
        run_arguments = {"candidates": (candidate, *others), "seed": seed}
        sink, results = stack.enter_context(open_events(events, TrialResult, run_arguments, resume=resume))
        done = frozenset(each.trial for each in results)
        asked = {f"{fault}.{number}" for fault, numbers in trials.items() for number in numbers}
        if strange := {each.trial for each in results if each.fault is not Fault.NONE} - asked:
            raise InvalidUsage(f"--resume: the events are of a run with other arguments: {min(strange)}")
        seconds = sum(each.seconds for each in results)
        place = None if keep is None else Path(keep)
        plan = FaultPlan(candidate, trials, tuple(others), timeout_scale, place, done)
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deltaspec-faults-")))
        advance = stack.enter_context(show_progress())
        host = stack.enter_context(start_candidate(candidate, timeout_scale=timeout_scale))
        try:
            bench = build_bench(host, directory, seed)
            known = bench.known_violations
            for result in run_trials(bench, plan):
                results.append(result)
                if sink is not None:
                    sink.append([result])
                advance(result.fault.value, len(results), None)
        except NotAsked as error:
            click.echo(f"deltaspec: {error}", err=True)
        except (GivenUp, Died) as error:
            complete = False
            click.echo(f"deltaspec: {error}", err=True)
        run = FaultRun(
            deltaspec=__version__,
            candidates=(candidate, *others),
            seed=seed,
            trials={fault.value: len(numbers) for fault, numbers in trials.items()},
            seconds=round(seconds + time.monotonic() - started, 3),
            complete=complete,
        )
        return build_fault_report(run, host.capabilities, results, sorted(known))
