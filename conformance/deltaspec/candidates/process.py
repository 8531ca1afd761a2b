"""A candidate's process: pipes, deadlines, memory limit, and a termination that leaves no process behind.

The process runs in its own process group and a temporary working directory. One loop writes the request and reads
stdout and stderr, so no pipe can fill up and block both sides. The host stores at most one line of stdout and the
last 64 KiB of stderr.
"""

import os
import selectors
import signal
import subprocess
import time
import uuid
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from deltaspec.candidates.messages import MAX_LINE_BYTES
from deltaspec.candidates.process_groups import (
    MARKER,
    MemoryWatch,
    find_pipe_descriptors,
    kill_group,
    kill_marked_processes,
)

Reason: TypeAlias = Literal["crash", "timeout", "output", "harness"]
Ending: TypeAlias = Literal["wait", "terminate", "kill"]

HELLO_SECONDS = 60.0
STDERR_BYTES = 64 * 1024
GRACE_SECONDS = 5.0
"""Time between SIGTERM and SIGKILL, and for a process to exit after it closed stdout."""
_CHUNK = 256 * 1024
_TICK_SECONDS = 0.1
_EXIT_TICK_SECONDS = 0.005
_KILL_SECONDS = 10.0
_MAX_DRAIN_BYTES = 4 * 1024 * 1024
"""Bytes of stderr to read after the process has ended or before a request; an endless writer must not stop the host."""


class Launch(msgspec.Struct, frozen=True):
    """How to start a candidate."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Variables to add to the environment of the host."""
    hello_seconds: float = HELLO_SECONDS
    """Deadline of `hello`, which includes the start of the process."""


class Exit(msgspec.Struct, frozen=True):
    """How a process ended."""

    code: int | None
    """None if a signal ended it, or if it could not be ended."""
    signal: str | None
    stderr: str
    """Last 64 KiB since the last request; since the start if there were fewer than two requests."""
    is_forced: bool = False
    """Whether the host sent a signal before the process exited."""

    def __str__(self) -> str:
        if self.signal is not None:
            return f"killed by {self.signal}"
        return "could not be killed" if self.code is None else f"exited with code {self.code}"


class ProcessFault(Exception):
    """The process broke the protocol, took too long, used too much memory, or ended. The host must end the process."""

    def __init__(self, reason: Reason, message: str, line: str = "", ending: Ending = "terminate") -> None:
        super().__init__(message)
        self.reason, self.message, self.line, self.ending = reason, message, line, ending


class CandidateProcess:
    """A started candidate. `begin` sends a request, `read_line` returns lines, `end` kills everything it started.

    Args:
        launch: command and environment.
        directory: working directory, also for temporary files.
        memory_limit: bytes of memory that the process group may use; None for no limit.
        grace_seconds: time between SIGTERM and SIGKILL.

    Raises:
        ProcessFault: the command cannot be started.
    """

    def __init__(
        self, launch: Launch, directory: Path, *, memory_limit: int | None, grace_seconds: float = GRACE_SECONDS
    ) -> None:
        self.directory = directory
        self.marker = uuid.uuid4().hex
        self.grace_seconds = grace_seconds
        self._pending = memoryview(b"")
        self._output = bytearray()
        self._searched = 0
        self._stderr = bytearray()
        self.stderr_bytes = 0
        """Bytes of stderr that were read since the start."""
        self._has_begun = False
        self._exit: Exit | None = None
        environment = {**os.environ, **launch.environment, MARKER: self.marker, "TMPDIR": str(directory)}
        try:
            self._popen = subprocess.Popen(
                launch.command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory,
                env=environment,
                process_group=0,
            )
        except (OSError, ValueError) as fault:
            raise ProcessFault("crash", f"{launch.command[0]} cannot be started: {fault}") from fault
        self.pid = self._popen.pid
        self._kill_at_exit = weakref.finalize(self, kill_candidate, self.pid, self.marker, os.getpid())
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self._stdin, self.stdout = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        self._stderr_pipe = self._popen.stderr.fileno()
        self._selector = selectors.DefaultSelector()
        for each in (self._stdin, self.stdout, self._stderr_pipe):
            os.set_blocking(each, False)
        for each in (self.stdout, self._stderr_pipe):
            self._selector.register(each, selectors.EVENT_READ)
        self.output_limit: tuple[Path, int] | None = None
        """File that the current request writes, and the bytes that it may have."""
        self._memory_watch = None if memory_limit is None else MemoryWatch(self.pid, memory_limit)

    @property
    def stderr(self) -> str:
        """Last 64 KiB of stderr since the last request; since the start if there were fewer than two requests."""
        self._drain_stderr()
        return self._stderr.decode("utf-8", "backslashreplace")

    def begin(self, request: bytes) -> None:
        """Start to send a request line, and forget the stderr of earlier requests.

        The stderr from before the first request is kept. If the process has ended, all of it is kept, because it may
        show the reason.

        Raises:
            ProcessFault: the process ended, or wrote a line after its last answer.
        """
        self._read_stdout()
        self.check_no_output("after the answer to an earlier request")
        if self._has_begun:
            self._drain_stderr()
            self._stderr.clear()
        self._has_begun = True
        self._pending = memoryview(request)
        self._selector.register(self._stdin, selectors.EVENT_WRITE)

    def close_stdin(self) -> None:
        """End the input, which asks the candidate to exit."""
        assert self._popen.stdin is not None
        self._popen.stdin.close()

    def check_no_output(self, when: str) -> None:
        """Raise `ProcessFault` if there is output that no request asked for."""
        if self._output:
            raise ProcessFault("harness", f"wrote to stdout {when}; print to stderr", show_line(self._output))

    def read_line(self, deadline: float) -> bytes:
        """Return the next line of stdout without its line break.

        Args:
            deadline: time of `time.monotonic()` at which to give up.

        Raises:
            ProcessFault: the process ended or exceeded a limit.
        """
        while True:
            end = self._output.find(b"\n", self._searched)
            if 0 <= end < MAX_LINE_BYTES:
                line = bytes(self._output[:end])
                del self._output[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._output)
            if self._searched >= MAX_LINE_BYTES:
                raise ProcessFault(
                    "harness", f"wrote a line longer than {MAX_LINE_BYTES:,} bytes", show_line(self._output)
                )
            self._wait(deadline)

    def find_output_descriptors(self) -> set[int]:
        """Return the descriptors, in all processes of the group, through which stdout is written; Linux only."""
        return find_pipe_descriptors(self.pid, os.fstat(self.stdout).st_ino)

    def end(self, ending: Ending = "terminate", *, seconds: float | None = None) -> Exit:
        """End the process, its group and everything that it started, and return how it ended.

        Args:
            ending: `wait` lets the process exit by itself first; `terminate` sends SIGTERM first; `kill` sends SIGKILL.
            seconds: how long `wait` lets the process exit by itself; None for `grace_seconds`.
        """
        if self._exit is not None:
            return self._exit
        has_exited = ending == "wait" and self.wait_for_exit(self.grace_seconds if seconds is None else seconds)
        is_forced = not has_exited and not self.has_exited()
        if ending != "kill" and is_forced:
            kill_group(self.pid, signal.SIGTERM)
            self.wait_for_exit(self.grace_seconds)
        self._kill_at_exit()
        with suppress(subprocess.TimeoutExpired):  # not even SIGKILL ends a process that hangs in the kernel
            self._popen.wait(_KILL_SECONDS)
        stderr = self.stderr
        self._selector.close()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            assert pipe is not None
            pipe.close()
        code = self._popen.returncode
        is_signal = code is not None and code < 0
        self._exit = Exit(
            None if is_signal else code, _get_signal_name(-code) if is_signal else None, stderr, is_forced
        )
        return self._exit

    def wait_for_exit(self, seconds: float) -> bool:
        """Return whether the process exits by itself within the time; its output is discarded meanwhile."""
        deadline = time.monotonic() + seconds
        while not self.has_exited():
            if time.monotonic() > deadline:
                return False
            number = self._read_stderr()
            with suppress(BlockingIOError):
                number += len(os.read(self.stdout, _CHUNK))
            if not number:
                time.sleep(_EXIT_TICK_SECONDS)
        return True

    def _wait(self, deadline: float) -> None:
        """Transfer what is ready on the pipes, or raise if a limit is exceeded or the process ended."""
        now = time.monotonic()
        if now >= deadline:
            raise ProcessFault("timeout", "sent no answer before the deadline")
        if self._memory_watch is not None and (used := self._memory_watch.find_excess(now)) is not None:
            limit = self._memory_watch.limit
            text = f"used {used / 2**20:,.0f} MiB of memory; the limit is {limit / 2**20:,.0f} MiB"
            raise ProcessFault("crash", text, ending="kill")
        self._check_output_file()
        ready = {key.fd for key, _ in self._selector.select(min(_TICK_SECONDS, deadline - now))}
        if self._stdin in ready:
            self._write_request()
        if self._stderr_pipe in ready:
            self._read_stderr()
        has_exited = self.stdout not in ready and self.has_exited()
        if not self._read_stdout() and has_exited:  # another process that it started still has the pipe open
            raise ProcessFault("crash", "ended", ending="wait")

    def _check_output_file(self) -> None:
        """Raise if the file that the request writes is too large."""
        if self.output_limit is None:
            return
        path, limit = self.output_limit
        with suppress(OSError):  # it does not exist yet
            if path.stat().st_size > limit:
                text = f"wrote more than {limit / 2**20:,.0f} MiB of rows, which is the limit"
                raise ProcessFault("output", text, ending="kill")

    def _write_request(self) -> None:
        try:
            self._pending = self._pending[os.write(self._stdin, self._pending[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the end of stdout reports that the process ended
            self._pending = self._pending[:0]
        if not self._pending:
            self._selector.unregister(self._stdin)

    def _read_stdout(self) -> int:
        """Read what is ready and return the number of bytes."""
        try:
            data = os.read(self.stdout, _CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            raise ProcessFault("crash", "ended", ending="wait")
        self._output += data
        return len(data)

    def _read_stderr(self) -> int:
        """Read what is ready and return the number of bytes."""
        try:
            data = os.read(self._stderr_pipe, _CHUNK)
        except BlockingIOError:
            return 0
        if data:
            self._stderr += data
            self.stderr_bytes += len(data)
            del self._stderr[:-STDERR_BYTES]
        elif self._stderr_pipe in self._selector.get_map():
            self._selector.unregister(self._stderr_pipe)
        return len(data)

    def _drain_stderr(self) -> None:
        number = 0
        while number < _MAX_DRAIN_BYTES and (more := self._read_stderr()):
            number += more

    def has_exited(self) -> bool:
        """Return whether the process ended. Do not reap it, so that the number of its process group is not reused."""
        if not hasattr(os, "waitid"):  # before Python 3.13 on macOS
            return self._popen.poll() is not None
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill_candidate(group: int, marker: str, owner: int) -> None:
    """Kill the process group of a candidate and every process with its marker, if this process is the owner."""
    if os.getpid() != owner:  # a fork of the host has a copy of the object, not the candidate
        return
    kill_group(group, signal.SIGKILL)
    kill_marked_processes(marker)


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def show_line(line: bytes | bytearray) -> str:
    """Return the start of a line as text."""
    return bytes(line[:400]).split(b"\n", 1)[0].decode("utf-8", "backslashreplace")
