"""Mutates the Parquet files of a real log and validates it each time; run as a process of its own, with limits.

Prints a line before each mutation, so that the last one tells which killed the process, and at the end how many gave
which verdict.
"""

import random
import resource
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

from deltaspec.errors import DeltaspecError
from deltaspec.validate import validate_table

MEMORY_BYTES = 6 << 30
"""Address space; Arrow and Polars reserve about a third of it before they read anything."""
RESIDENT_BYTES = 1 << 30
SECONDS_EACH = 20.0


def mutate(data: bytes, chance: random.Random) -> bytes:
    """The file with a few bits or bytes changed, a piece cut out, pieces swapped, or a run overwritten."""
    broken = bytearray(data)
    at = chance.randrange(len(data))
    # half of the faults go where the format is densest: into the footer
    if chance.random() < 0.5:
        footer = int.from_bytes(data[-8:-4], "little") + 8
        at = len(data) - 1 - chance.randrange(min(footer, len(data)))
    match chance.randrange(6):
        case 0:
            broken[at] ^= 1 << chance.randrange(8)
        case 1:
            for _ in range(chance.randrange(2, 9)):
                broken[chance.randrange(len(data))] = chance.randrange(256)
        case 2:
            del broken[at : at + chance.randrange(1, 64)]
        case 3:
            return data[:at]
        case 4:
            other, length = chance.randrange(len(data)), chance.randrange(1, 32)
            broken[at : at + length], broken[other : other + length] = (
                broken[other : other + length],
                broken[at : at + length],
            )
        case 5:
            length = min(chance.choice((1, 4, 5, 8)), len(data) - at)
            broken[at : at + length] = chance.choice((b"\xff", b"\x7f", b"\x00", b"\x80")) * length
    return bytes(broken)


def main(table: Path, first: int, last: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    files = sorted((table / "_delta_log").rglob("*.parquet"))
    good = {file: file.read_bytes() for file in files}
    verdicts: Counter[str] = Counter()
    for seed in range(first, last):
        chance = random.Random(seed)
        copy = table.parent / "mutated"
        shutil.copytree(table, copy)
        file = chance.choice(files)
        print(f"seed {seed}: {file.name}", flush=True)
        (copy / file.relative_to(table)).write_bytes(mutate(good[file], chance))
        began = time.monotonic()
        try:
            report = validate_table(str(copy), history="all")
            verdicts[report.verdict] += 1
        except DeltaspecError as fault:
            raise AssertionError(f"seed {seed} gave no report: {fault}") from fault
        assert time.monotonic() - began < SECONDS_EACH, f"seed {seed} took long"
        shutil.rmtree(copy)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert peak < RESIDENT_BYTES, f"peak of {peak} bytes"
    print("verdicts", *(f"{name}={verdicts[name]}" for name in sorted(verdicts)), f"peak={peak}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
