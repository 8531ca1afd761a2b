"""Results of the benchmark as JSON: raw measurements of each case, with machine and time.

`reports/bench.json` is the only source of `reports/bench.md`. A run replaces the cases that it measures.
"""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

import msgspec

from deltaspec.output_files import write_file

_PEERS = ("deltalake", "polars", "pyarrow")


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """Machine and time of a measurement; empty or 0 if not recorded."""

    date: str
    """Day in UTC, ISO 8601."""
    commit: str = ""
    platform: str = ""
    processors: int = 0
    gibibytes: int = 0
    """Memory of the machine."""
    python: str = ""
    versions: dict[str, str] = {}
    """Version of each library, by name."""
    load: float = 0.0
    """Load average of one minute, before the first measurement."""
    note: str = ""


class Measurement(msgspec.Struct, omit_defaults=True):
    """Runs of one program on one case; the lists have a value for each run."""

    wall_seconds: list[float] = []
    cpu_seconds: list[float] = []
    megabytes: list[int] = []
    """Peak resident memory of a process in 10^6 bytes."""
    work: str = ""
    """Work of the program, such as the number of rules for deltaspec."""


class CaseResult(msgspec.Struct):
    """Measurements of one case in one session, by program."""

    session: Session
    programs: dict[str, Measurement]


class ScaleRow(msgspec.Struct, omit_defaults=True):
    """One program on one table of `bench-scale`."""

    table: str
    program: str
    wall_seconds: list[float]
    """Empty if the program did not finish."""
    cpu_seconds: list[float]
    memory: str
    """Peak memory, by process if it was measured so."""
    session: Session
    note: str = ""


class Results(msgspec.Struct):
    """Everything that was measured."""

    cases: dict[str, CaseResult] = {}
    scale: list[ScaleRow] = []

    def replace_scale_rows(self, rows: list[ScaleRow]) -> None:
        """Replace rows of the same table and program in their place; add other rows after the rows of their table."""
        for row in rows:
            keys = [(each.table, each.program) for each in self.scale]
            if (row.table, row.program) in keys:
                self.scale[keys.index((row.table, row.program))] = row
            else:
                self.scale.append(row)
                order = list(dict.fromkeys(each.table for each in self.scale))
                self.scale.sort(key=lambda each: order.index(each.table))


def load_results(path: Path) -> Results:
    """Read results; none if the file does not exist.

    Raises:
        SystemExit: the file has another structure.
    """
    if not path.exists():
        return Results()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except (msgspec.DecodeError, msgspec.ValidationError) as fault:
        sys.exit(f"{path}: {fault}")


def save_results(path: Path, results: Results) -> None:
    """Write results, and keep the earlier file if that fails."""
    write_file(path, msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def describe_session(folder: Path) -> Session:
    """Describe this machine, its libraries and the commit of the checkout that has `folder`."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=folder, capture_output=True, text=True)
    return Session(
        date=datetime.now(UTC).date().isoformat(),
        commit=commit.stdout.strip(),
        platform=platform.platform(),
        processors=os.cpu_count() or 0,
        gibibytes=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        python=platform.python_version(),
        versions={name: version(name) for name in _PEERS},
        load=round(os.getloadavg()[0], 1),
    )


def compute_ratio(result: CaseResult, program: str, peer: str) -> float | None:
    """Return the ratio of the median wall times of a program and a peer; None if one was not measured."""
    pair = [result.programs.get(name) for name in (program, peer)]
    medians = [median(each.wall_seconds) for each in pair if each is not None and each.wall_seconds]
    return medians[0] / medians[1] if len(medians) == 2 and medians[1] else None
