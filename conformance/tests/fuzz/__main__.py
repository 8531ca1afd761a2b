"""`python -m fuzz`: validate mutated tables; exit code 1 if one causes a crash, a hang or another failure."""

import argparse
import itertools
import os
import random
import sys
from pathlib import Path

from fuzz.harness import FAILURES, OUTCOMES, SECONDS_EACH, Counts, Outcome, run, worker_command
from fuzz.mutate import build_mutation, pack
from fuzz.subjects import SUBJECTS, choose_subject


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="Validates seeded mutations of sound tables.")
    parser.add_argument("--mutations", type=int, default=10_000, metavar="N")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="default: random")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="first mutation")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1), metavar="W")
    parser.add_argument("--seconds", type=float, default=SECONDS_EACH, metavar="T", help="time limit per table")
    parser.add_argument("--save", type=Path, default=Path("fuzz-failures"), metavar="DIRECTORY")
    parser.add_argument(
        "--replay", type=Path, action="append", default=[], metavar="FILE", help="validate a saved table"
    )
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    jobs = [str(file.resolve(strict=True)) for file in options.replay]
    if not jobs:
        jobs = [str(number) for number in range(options.first, options.first + options.mutations)]
        print(f"seed {seed}, mutations {options.first} to {options.first + options.mutations - 1}", flush=True)

    done = itertools.count(1)

    def on_outcome(outcome: Outcome) -> None:
        if (number := next(done)) % 1000 == 0:
            print(f"{number} of {len(jobs)}")
        if outcome.outcome in FAILURES:
            saved = save(outcome, seed, options.save) if outcome.job.isdigit() else outcome.job
            print(f"{outcome.outcome}: {outcome.mutation} of {outcome.path}, saved as {saved}\n{outcome.details}")
        elif options.replay:
            print(f"{outcome.outcome}: {outcome.path}, {outcome.seconds:.2f} s, {outcome.peak_bytes >> 20} MiB")
        sys.stdout.flush()

    counts = run(
        jobs, worker_command(seed), workers=options.workers, seconds_each=options.seconds, on_outcome=on_outcome
    )
    print(summary(counts))
    return 1 if counts.failures else 0


def save(outcome: Outcome, seed: int, folder: Path) -> Path:
    """Save the mutated table as an archive for `--replay`."""
    number = int(outcome.job)
    sound = SUBJECTS[choose_subject(number)].build()
    mutation = build_mutation(sound, seed, number)
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{outcome.outcome.replace(' ', '-')}-{seed}-{number}.zip"
    archive.write_bytes(pack({**sound, **mutation.files}))
    outcome.mutation, outcome.path = mutation.name, f"{choose_subject(number)}: {mutation.path}"
    return archive


def summary(counts: Counts) -> str:
    """Format the number of tables by outcome, the slowest run and the memory peak."""
    total = sum(counts.by_outcome.values())
    numbers = ", ".join(f"{name} {counts.by_outcome[name]}" for name in OUTCOMES)
    return f"{total} tables: {numbers}; slowest {counts.slowest:.2f} s, peak {counts.peak_bytes >> 20} MiB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
