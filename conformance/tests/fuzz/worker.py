"""A process that validates mutated tables, one after the other, as it is told on stdin; it may be killed at any time.

Each line of stdin is a number of a mutation, or the path of a saved table. Each answer is a line of JSON on stdout.
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

from deltaspec.errors import DeltaspecError
from deltaspec.validation import validate_table

ADDRESS_BYTES = 8 << 30
"""Address space; Arrow and Polars reserve about a third of it before they read anything."""
SPARE_BYTES = 160 << 20
BYTES_OF_A_BYTE = 200
"""What a table may take of memory: `SPARE_BYTES` for pools and decoded pages, and so much for each byte of it."""
VERDICTS = {"violations": "findings", "incomplete": "not-checked", "conforms": "conforms"}


@dataclass
class Answer:
    """What came of one table."""

    outcome: str
    """`findings`, `not-checked`, `conforms`; or a failure: `traceback`, `over memory`, `noise`, `changed`."""
    mutation: str
    path: str
    seconds: float
    peak_bytes: int
    """Memory that the run took beyond what the process had before."""
    said: str = ""


class Tables:
    """The sound tables, and a directory where one of them at a time is broken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sound: dict[str, TableBytes] = {}

    def sound(self, subject: str) -> TableBytes:
        """A table as bytes; in the directory it is laid down when it is first asked for."""
        if subject not in self._sound:
            self._sound[subject] = SUBJECTS[subject].build()
            write_files(self.place(subject), self._sound[subject])
            judge(self.place(subject), SUBJECTS[subject].level)  # what is loaded once is no table's fault
        return self._sound[subject]

    def place(self, subject: str) -> Path:
        return self._folder / subject.replace(" ", "_")


def write_files(root: Path, files: TableBytes) -> None:
    """Write files below a directory."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def judge(root: Path, level: str) -> str:
    """The outcome of a run."""
    return VERDICTS[validate_table(str(root), level=level, history="all").verdict]


def mutated(tables: Tables, seed: int, number: int) -> Answer:
    """Break a table, validate it, and mend it again."""
    subject = choose_subject(number)
    sound = tables.sound(subject)
    mutation = build_mutation(sound, seed, number)
    root = tables.place(subject)
    write_files(root, mutation.files)
    try:
        answer = watched(root, SUBJECTS[subject].level)
    finally:
        write_files(root, {path: sound[path] for path in mutation.files})
    answer.mutation, answer.path = mutation.name, f"{subject}: {mutation.path}"
    return answer


def replayed(folder: Path, file: Path) -> Answer:
    """Validate a table that was saved."""
    root = folder / "replayed"
    shutil.rmtree(root, ignore_errors=True)
    write_files(root, unpack(file))
    answer = watched(root, "rows")
    answer.mutation, answer.path = "replayed", file.name
    return answer


def watched(root: Path, level: str) -> Answer:
    """One run: what it says, how long it takes, and how much memory it takes at most."""
    before, said_before = compute_fingerprint(root), os.fstat(2).st_size
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    _reset_peak()
    held, began, said = _memory("VmRSS"), time.monotonic(), ""
    try:
        outcome = judge(root, level)
    except DeltaspecError as fault:
        outcome, said = "traceback", f"no report: {fault}"
    except BaseException:  # noqa: BLE001 - whatever comes is what is looked for
        outcome, said = "traceback", traceback.format_exc()
    seconds, peak = time.monotonic() - began, max(_memory("VmHWM") - held, 0)
    if outcome != "traceback":
        if peak > SPARE_BYTES + BYTES_OF_A_BYTE * size:
            outcome, said = "over memory", f"{peak} bytes for files of {size}"
        elif os.fstat(2).st_size != said_before:
            outcome, said = "noise", "something was written to stderr"
        elif compute_fingerprint(root) != before:
            outcome, said = "changed", "the table is not as it was"
    return Answer(outcome, "", "", seconds, peak, said)


def _reset_peak() -> None:
    """Let Linux count the peak of memory anew; elsewhere it counts from the begin of the process."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise RuntimeError(f"no {name} in /proc/self/status")


def main(seed: int) -> None:
    """Answer until stdin ends; tell on stderr where every thread is when asked by a signal."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="deltaspec-fuzz-") as folder:
        tables = Tables(Path(folder))
        for line in sys.stdin:
            job = line.strip()
            answer = mutated(tables, seed, int(job)) if job.isdigit() else replayed(Path(folder), Path(job))
            print(json.dumps(asdict(answer)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
