"""Run validations in child processes and kill them (SIGKILL) at a given step, to test that runs can be resumed.

`python killed_runs.py` is a server. For every line of JSON on standard input it forks a child that validates a table or
applies a plan, and writes how the child ended. Forked children need no imports, which makes many short runs cheap.

A step is an audit event of Python: a file of the table or the state was opened, listed, renamed or removed.
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
"""Buckets of these runs; fewer than by default, because the table is small."""
STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.listdir")
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate")
"""Steps that change files; so does `open` with flags to write."""


class RunServer:
    """Client of the server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def validate(
        self,
        table: Path,
        report: Path,
        kill_at: int | None = None,
        *,
        on_spark: bool = False,
        seconds: float = 0.0,
        **options: Any,
    ) -> int | None:
        """Validate a table in a child process.

        Args:
            table: root of the table.
            report: file to write the report to, as JSON.
            kill_at: step at which the child is killed; None to let it finish.
            on_spark: use the Spark backend in a new session. Steps are then calls of the JVM.
            seconds: delay between the step and the kill; Spark only.
            options: options of `deltaspec.validate`.

        Returns:
            Number of steps of the child; None if it was killed.
        """
        request = {"table": str(table), "report": str(report), "kill_at": kill_at, "options": options}
        response = self._request(request | {"kind": "spark" if on_spark else "validate", "seconds": seconds})
        assert response["exit"] == 0, response
        steps: int | None = response["steps"]
        return steps

    def apply(
        self, plan: Path, kill_at: int | None = None, seconds: float = 0.0, *, undo: bool = False
    ) -> tuple[int | None, str]:
        """Apply a plan in a child process, or undo that.

        Args:
            plan: folder of the plan.
            kill_at: step that changes a file, before which the child is killed; None to let it finish.
            seconds: delay between the step and the kill.
            undo: whether to undo the application.

        Returns:
            Number of steps of the child, None if it was killed; and the message of the error that ended it.
        """
        request = {"plan": str(plan), "undo": undo, "kill_at": kill_at, "seconds": seconds, "kind": "apply"}
        response = self._request(request)
        assert response["exit"] == 0, response
        return response["steps"], response["error"]

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        _pipe(self._process.stdin).write(json.dumps(request) + "\n")
        _pipe(self._process.stdin).flush()
        response: dict[str, Any] = json.loads(_pipe(self._process.stdout).readline())
        assert response["signal"] in (0, signal.SIGKILL), response
        assert (response["steps"] is None) == (response["signal"] == signal.SIGKILL)
        return response


@contextmanager
def start_run_server() -> Iterator[RunServer]:
    """Run a server for a block."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield RunServer(process)
        _pipe(process.stdin).close()
        assert process.wait(60) == 0


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def _serve() -> None:
    import pandas  # noqa: F401 - pyarrow imports it, and each child would do so again

    import deltaspec.repair.apply
    import deltaspec.sql.parser
    import deltaspec.validation.data.data_stages
    import deltaspec.validation.resume.saved_buckets
    import deltaspec.validation.run  # noqa: F401 - imported for the children

    warnings.simplefilter("ignore", DeprecationWarning)  # about forks with threads; those of the imports hold no lock
    for line in sys.stdin:
        request = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _run_child(request, write)
        os.close(write)
        with os.fdopen(read) as output:
            steps, _, error = output.read().partition("\n")
        _, status = os.waitpid(child, 0)
        signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        response = {
            "signal": signal_number,
            "exit": status >> 8,
            "steps": int(steps) if steps else None,
            "error": error,
        }
        print(json.dumps(response), flush=True)


def _run_child(request: dict[str, Any], write: int) -> None:
    code = 1
    try:
        perform = {"validate": _validate, "spark": _validate_on_spark, "apply": _apply}[request["kind"]]
        os.write(write, str(perform(request)).encode())
        code = 0
    except Exception:  # noqa: BLE001 - the child must exit here
        traceback.print_exc()
    finally:
        os._exit(code)


def _validate(request: dict[str, Any]) -> int:
    import msgspec

    import deltaspec
    from deltaspec.validation import run

    steps = 0
    locations = request["table"], request["options"]["state"]

    def step(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal steps
        if event in STEPS and str(arguments[0]).startswith(locations):
            steps += 1
            if steps == request["kill_at"]:
                os.kill(os.getpid(), signal.SIGKILL)

    run.SPILLED_BUCKETS = BUCKETS  # type: ignore[attr-defined]
    sys.addaudithook(step)
    report = deltaspec.validate(request["table"], **request["options"])
    counted = steps
    Path(request["report"]).write_bytes(msgspec.json.encode(report))
    return counted


def _apply(request: dict[str, Any]) -> str:
    from deltaspec.errors import DeltaspecError
    from deltaspec.repair.apply import apply_plan, undo_plan

    steps = 0

    def step(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal steps
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in CHANGES:
            steps += 1
            if steps == request["kill_at"] and request["seconds"]:
                threading.Timer(request["seconds"], os.kill, (os.getpid(), signal.SIGKILL)).start()
            elif steps == request["kill_at"]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    try:
        (undo_plan if request["undo"] else apply_plan)(request["plan"])
    except DeltaspecError as fault:
        return f"{steps}\n{fault}"
    return str(steps)


def _validate_on_spark(request: dict[str, Any]) -> int:
    import msgspec

    sys.path.insert(0, str(Path(__file__).parents[1]))  # this module runs as a script
    from helpers.backends import validate_on_spark

    from deltaspec.validation.spark.session import open_session

    with open_session("local[2]") as session, count_jvm_calls() as calls:
        calls.kill_at, calls.seconds = request["kill_at"], request["seconds"]
        report = validate_on_spark(session, request["table"], **request["options"])
    Path(request["report"]).write_bytes(msgspec.json.encode(report))
    return calls.number


class JvmCalls:
    """Counts calls of the JVM and kills this process at one of them."""

    number = 0
    kill_at: int | None = None
    seconds = 0.0

    def count(self) -> None:
        self.number += 1
        if self.number == self.kill_at:
            threading.Timer(self.seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()


@contextmanager
def count_jvm_calls() -> Iterator[JvmCalls]:
    """Count calls of the JVM for a block, except finalizers of Python objects."""
    from py4j.java_gateway import GatewayClient

    calls, send = JvmCalls(), GatewayClient.send_command

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
