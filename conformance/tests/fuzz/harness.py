"""Hands mutations to worker processes, kills those that hang, starts those anew that died, and counts what comes."""

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
    """What came of one job."""

    job: str
    outcome: str
    said: str = ""
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
    """A process that answers one line with one line."""

    def __init__(self, command: Sequence[str], seconds_each: float, seconds_to_start: float) -> None:
        self._command = command
        self._seconds = seconds_each
        self._seconds_to_start = seconds_to_start
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def ask(self, job: str) -> Outcome:
        """The outcome of a job; the process is dead after a crash or a hang, and begins anew with the next job."""
        fresh = self._process is None
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{job}\n".encode())
            process.stdin.flush()
        except BrokenPipeError:
            return self._died(job)
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            if not waiting.select(self._seconds + (self._seconds_to_start if fresh else 0)):
                return self._hangs(job)
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            return self._died(job)
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

    def _hangs(self, job: str) -> Outcome:
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        said = self._said()
        self.stop()
        return Outcome(job, "hang", f"no answer within {self._seconds} seconds: {said}")

    def _said(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        return self._errors.read()[-4000:].decode("utf-8", "backslashreplace")

    def _died(self, job: str) -> Outcome:
        assert self._process is not None
        code, said = self._process.wait(), self._said()
        self.stop()
        return Outcome(job, "crash", f"exit code {code}: {said}")


def worker_command(seed: int) -> list[str]:
    return [sys.executable, "-m", "fuzz.worker", str(seed)]


def run(
    jobs: Iterable[str],
    command: Sequence[str],
    *,
    workers: int,
    seconds_each: float = SECONDS_EACH,
    seconds_to_start: float = SECONDS_TO_START,
    seen: Callable[[Outcome], None] = lambda _: None,
) -> Counts:
    """Hand out all jobs; gives what came of them."""
    counts, lock, coming = Counts(), threading.Lock(), iter(jobs)

    def work() -> None:
        worker = Worker(command, seconds_each, seconds_to_start)
        try:
            for job in _shared(coming, lock):
                outcome = worker.ask(job)
                with lock:
                    counts.add(outcome)
                    seen(outcome)
        finally:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def _shared(coming: Iterator[str], lock: threading.Lock) -> Iterator[str]:
    while True:
        with lock:
            job = next(coming, None)
        if job is None:
            return
        yield job
