"""A process that validates mutated tables one by one. The harness may kill it at any time.

Each line of stdin is the number of a mutation or the path of a saved table. Each answer is a line of JSON on stdout.
"""

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz.mutate import TableBytes, build_mutation, unpack
from fuzz.subjects import SUBJECTS, choose_subject
from helpers.raw_logs import compute_fingerprint

import deltaspec
from deltaspec.errors import DeltaspecError

ADDRESS_BYTES = 8 << 30
"""Limit of the address space; Arrow and Polars reserve about a third of it at start."""
BASE_MEMORY_BYTES = 160 << 20
MEMORY_PER_FILE_BYTE = 200
"""Memory limit of a run: `BASE_MEMORY_BYTES` for pools and decoded pages, plus this factor times the table's size."""
VERDICTS = {"violations": "findings", "incomplete": "not-checked", "conforms": "conforms"}


@dataclass
class Answer:
    """The outcome for one table."""

    outcome: str
    """`findings`, `not-checked`, `conforms`; or a failure: `traceback`, `over memory`, `noise`, `changed`."""
    mutation: str
    path: str
    seconds: float
    peak_bytes: int
    """Additional memory that the run used."""
    details: str = ""


class Tables:
    """The sound tables, written to a directory where one of them at a time is mutated."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sound: dict[str, TableBytes] = {}

    def get_sound_table(self, subject: str) -> TableBytes:
        """Return a sound table as bytes; write it to its directory on first use."""
        if subject not in self._sound:
            self._sound[subject] = SUBJECTS[subject].build()
            write_files(self.get_directory(subject), self._sound[subject])
            # modules and caches loaded by the first run do not count as memory of a table
            validate(self.get_directory(subject), SUBJECTS[subject].level)
        return self._sound[subject]

    def get_directory(self, subject: str) -> Path:
        return self._folder / subject.replace(" ", "_")


def write_files(root: Path, files: TableBytes) -> None:
    """Write files below a directory."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def validate(root: Path, level: str) -> str:
    """Validate a table and return the outcome."""
    return VERDICTS[deltaspec.validate(str(root), level=level, history="all").verdict]


def validate_mutation(tables: Tables, seed: int, number: int) -> Answer:
    """Mutate a table, validate it, and restore it."""
    subject = choose_subject(number)
    sound = tables.get_sound_table(subject)
    mutation = build_mutation(sound, seed, number)
    root = tables.get_directory(subject)
    write_files(root, mutation.files)
    try:
        answer = run_monitored(root, SUBJECTS[subject].level)
    finally:
        write_files(root, {path: sound[path] for path in mutation.files})
    answer.mutation, answer.path = mutation.name, f"{subject}: {mutation.path}"
    return answer


def validate_saved(folder: Path, file: Path) -> Answer:
    """Validate a saved table."""
    root = folder / "replayed"
    shutil.rmtree(root, ignore_errors=True)
    write_files(root, unpack(file))
    answer = run_monitored(root, "rows")
    answer.mutation, answer.path = "replayed", file.name
    return answer


def run_monitored(root: Path, level: str) -> Answer:
    """Validate a table; measure time and peak memory, and detect output on stderr and changes of the table."""
    before, stderr_size_before = compute_fingerprint(root), os.fstat(2).st_size
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    _reset_peak()
    memory_before, start, details = _read_memory("VmRSS"), time.monotonic(), ""
    try:
        outcome = validate(root, level)
    except DeltaspecError as fault:
        outcome, details = "traceback", f"no report: {fault}"
    except BaseException:  # noqa: BLE001 - any exception is an outcome
        outcome, details = "traceback", traceback.format_exc()
    seconds, peak = time.monotonic() - start, max(_read_memory("VmHWM") - memory_before, 0)
    if outcome != "traceback":
        if peak > BASE_MEMORY_BYTES + MEMORY_PER_FILE_BYTE * size:
            outcome, details = "over memory", f"{peak} bytes of memory for {size} bytes of files"
        elif os.fstat(2).st_size != stderr_size_before:
            outcome, details = "noise", "something was written to stderr"
        elif compute_fingerprint(root) != before:
            outcome, details = "changed", "validation changed the table"
    return Answer(outcome, "", "", seconds, peak, details)


def _reset_peak() -> None:
    """Reset Linux's memory peak of this process; without permission it counts from the process start."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _read_memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise RuntimeError(f"no {name} in /proc/self/status")


def main(seed: int) -> None:
    """Answer until stdin ends; on SIGUSR1 print the stacks of all threads to stderr."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="deltaspec-fuzz-") as folder:
        tables = Tables(Path(folder))
        for line in sys.stdin:
            job = line.strip()
            is_number = job.isdigit()
            answer = validate_mutation(tables, seed, int(job)) if is_number else validate_saved(Path(folder), Path(job))
            print(json.dumps(asdict(answer)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
