"""Runs in processes of their own that are killed (SIGKILL) at a step of theirs: helpers of tests of runs that go on.

`python killed.py` is a server: for every line of JSON on its standard input it forks a child that judges a table, and
answers with how the child ended. A fork shares what was imported, so that twenty killed runs take as long as twenty
runs. Steps are what Python's audit hooks tell of the child: files opened, renamed and removed, of the table and of the
state, by whatever code.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

BUCKETS = 3
"""Of these runs: a table of a few files is looked at in fewer looks than it would be."""
STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.listdir")


class RunServer:
    """The server, and what is asked of it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def judge(
        self,
        table: Path,
        report: Path,
        kill_at: int | None = None,
        *,
        on_spark: bool = False,
        seconds: float = 0.0,
        **options: Any,
    ) -> int | None:
        """Judge a table in a child.

        Args:
            table: its root.
            report: file that gets the report as JSON.
            kill_at: step at which the child is killed; None: it is not.
            on_spark: the child starts a Spark of its own. Steps are then what it asks of the JVM while it judges.
            seconds: so long after the step it is killed, be it in the middle of a job.
            options: of `deltaspec.validate`.

        Returns:
            How many steps the child took; None where it was killed.
        """
        asked = {"table": str(table), "report": str(report), "kill_at": kill_at, "options": options}
        asked |= {"on_spark": on_spark, "seconds": seconds}
        _pipe(self._process.stdin).write(json.dumps(asked) + "\n")
        _pipe(self._process.stdin).flush()
        answer = json.loads(_pipe(self._process.stdout).readline())
        assert answer["signal"] in (0, signal.SIGKILL), answer
        assert answer["exit"] == 0, answer
        steps: int | None = answer["steps"]
        assert (steps is None) == (answer["signal"] == signal.SIGKILL)
        return steps


@contextmanager
def start_run_server() -> Iterator[RunServer]:
    """A server that lives as long as the block."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield RunServer(process)
        _pipe(process.stdin).close()
        assert process.wait(60) == 0


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def _serve() -> None:
    import deltaspec.validation.resume.saved_buckets
    import deltaspec.validation.run  # noqa: F401 - imported for the children

    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: those of imports hold no lock
    for line in sys.stdin:
        asked = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _be_the_child(asked, write)
        os.close(write)
        with os.fdopen(read) as told:
            steps = told.read()
        _, status = os.waitpid(child, 0)
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        answer = {"signal": ended, "exit": status >> 8, "steps": int(steps) if steps else None}
        print(json.dumps(answer), flush=True)


def _be_the_child(asked: dict[str, Any], write: int) -> None:
    code = 1
    try:
        steps = _judge_on_spark(asked) if asked["on_spark"] else _judge(asked)
        os.write(write, str(steps).encode())
        code = 0
    except Exception:  # noqa: BLE001 - a fork ends here, whatever happened
        traceback.print_exc()
    finally:
        os._exit(code)


def _judge(asked: dict[str, Any]) -> int:
    import msgspec

    import deltaspec
    from deltaspec.validation import run

    taken = 0

    places = asked["table"], asked["options"]["state"]

    def step(event: str, of: tuple[Any, ...]) -> None:
        nonlocal taken
        if event in STEPS and str(of[0]).startswith(places):
            taken += 1
            if taken == asked["kill_at"]:
                os.kill(os.getpid(), signal.SIGKILL)

    run.SPILLED_BUCKETS = BUCKETS  # type: ignore[attr-defined]
    sys.addaudithook(step)
    report = deltaspec.validate(asked["table"], **asked["options"])
    counted = taken
    Path(asked["report"]).write_bytes(msgspec.json.encode(report))
    return counted


def _judge_on_spark(asked: dict[str, Any]) -> int:
    import msgspec

    sys.path.insert(0, str(Path(__file__).parents[1]))  # this module runs as a script
    from helpers.engines import validate_on_spark

    from deltaspec.validation.spark.session import open_session

    with open_session("local[2]") as session, count_jvm_calls() as taken:
        taken.kill_at, taken.seconds = asked["kill_at"], asked["seconds"]
        report = validate_on_spark(session, asked["table"], **asked["options"])
    Path(asked["report"]).write_bytes(msgspec.json.encode(report))
    return taken.number


class Calls:
    """What this process has asked of its JVM."""

    number = 0
    kill_at: int | None = None
    seconds = 0.0

    def count(self) -> None:
        self.number += 1
        if self.number == self.kill_at:
            threading.Timer(self.seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()


@contextmanager
def count_jvm_calls() -> Iterator[Calls]:
    """Count the calls from here on; finalizers of what is no longer needed are none."""
    from py4j.java_gateway import GatewayClient

    calls, send = Calls(), GatewayClient.send_command

    def counted(client: Any, command: str, *args: Any, **options: Any) -> Any:
        if not command.startswith("m\nd\n"):
            calls.count()
        return send(client, command, *args, **options)

    GatewayClient.send_command = counted
    try:
        yield calls
    finally:
        GatewayClient.send_command = send


if __name__ == "__main__":
    _serve()
