"""Distribute mutations to worker processes, kill workers that hang, restart those that died, and count outcomes."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

TESTS = Path(__file__).resolve().parents[1]
FAILURES = ("traceback", "crash", "hang", "over memory", "noise", "changed")
OUTCOMES = ("findings", "not-checked", "conforms", *FAILURES)
SECONDS_EACH = 30.0
SECONDS_TO_START = 60.0


@dataclass
class Outcome:
    """The outcome of one job."""

    job: str
    outcome: str
    details: str = ""
    mutation: str = ""
    path: str = ""
    seconds: float = 0.0
    peak_bytes: int = 0


@dataclass
class Counts:
    """All outcomes of a run."""

    by_outcome: Counter[str] = field(default_factory=Counter)
    by_mutation: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Outcome] = field(default_factory=list)
    slowest: float = 0.0
    peak_bytes: int = 0

    def add(self, outcome: Outcome) -> None:
        self.by_outcome[outcome.outcome] += 1
        self.by_mutation[outcome.mutation, outcome.outcome] += 1
        self.slowest = max(self.slowest, outcome.seconds)
        self.peak_bytes = max(self.peak_bytes, outcome.peak_bytes)
        if outcome.outcome in FAILURES:
            self.failures.append(outcome)


class Worker:
    """A process that responds to each line with one line."""

    def __init__(self, command: Sequence[str], seconds_each: float, seconds_to_start: float) -> None:
        self._command = command
        self._seconds = seconds_each
        self._seconds_to_start = seconds_to_start
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def ask(self, job: str) -> Outcome:
        """Run a job. After a crash or a hang the process is dead; the next job starts a new one."""
        fresh = self._process is None
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{job}\n".encode())
            process.stdin.flush()
        except BrokenPipeError:
            return self._report_crash(job)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._seconds + (self._seconds_to_start if fresh else 0)):
                return self._report_hang(job)
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            return self._report_crash(job)
        answer: dict[str, Any] = json.loads(line)
        return Outcome(job=job, **answer)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                pipe.close()
            self._process.wait()
            self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            list(self._command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            bufsize=0,
        )
        return self._process

    def _report_hang(self, job: str) -> Outcome:
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        errors = self._read_errors()
        self.stop()
        return Outcome(job, "hang", f"no answer within {self._seconds} seconds: {errors}")

    def _read_errors(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        return self._errors.read()[-4000:].decode("utf-8", "backslashreplace")

    def _report_crash(self, job: str) -> Outcome:
        assert self._process is not None
        code, errors = self._process.wait(), self._read_errors()
        self.stop()
        return Outcome(job, "crash", f"exit code {code}: {errors}")


def worker_command(seed: int) -> list[str]:
    return [sys.executable, "-m", "fuzz.worker", str(seed)]


def run(
    jobs: Iterable[str],
    command: Sequence[str],
    *,
    workers: int,
    seconds_each: float = SECONDS_EACH,
    seconds_to_start: float = SECONDS_TO_START,
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> Counts:
    """Run all jobs in several workers and count the outcomes.

    Args:
        jobs: mutation numbers or paths of saved tables.
        command: command line of a worker.
        workers: number of worker processes.
        seconds_each: time limit of a job.
        seconds_to_start: additional time for the first job of a process.
        on_outcome: called after each job, never concurrently.
    """
    counts, lock, pending = Counts(), threading.Lock(), iter(jobs)

    def work() -> None:
        worker = Worker(command, seconds_each, seconds_to_start)
        try:
            for job in _iter_locked(pending, lock):
                outcome = worker.ask(job)
                with lock:
                    counts.add(outcome)
                    on_outcome(outcome)
        finally:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def _iter_locked(pending: Iterator[str], lock: threading.Lock) -> Iterator[str]:
    while True:
        with lock:
            job = next(pending, None)
        if job is None:
            return
        yield job
