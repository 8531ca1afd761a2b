"""Run a candidate in its own process: typed requests, checked answers, restarts.

    with open_candidate("deltalake") as candidate:
        answer = candidate.snapshot(messages.Snapshot(table="/tmp/t"))

Whatever the candidate does, a request ends in an answer or in one of these exceptions: `Refused`, `Died`, `GivenUp`.
"""

import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self, TypeAlias, TypeVar

import msgspec

from deltaspec.candidates.messages import (
    PROTOCOL_VERSION,
    Answer,
    Apply,
    ApplyAnswer,
    Bye,
    Capabilities,
    Changes,
    Hello,
    Refusal,
    Request,
    RowsAnswer,
    Scan,
    Snapshot,
    SnapshotAnswer,
)
from deltaspec.candidates.process import GRACE_SECONDS, CandidateProcess, Launch, ProcessFault, Reason, show_line
from deltaspec.candidates.rows import Rows, RowsFault, load_rows
from deltaspec.errors import DeltaspecError

DEADLINE_SECONDS = {"snapshot": 120.0, "scan": 120.0, "changes": 120.0, "apply": 180.0, "bye": 10.0}
MEMORY_LIMIT = 4 * 1024**3
"""Default limit of a candidate's process group, in bytes."""
MAX_RENEWALS = 4
"""How often progress renews a deadline."""
MAX_RESTARTS = 5
"""Restarts without an answer in between."""

CaseRequest: TypeAlias = Snapshot | Scan | Changes | Apply
T = TypeVar("T")


class Refused(Exception):
    """The candidate answered with an error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"refused as {refusal.category}: {refusal.message or 'no message'}")
        self.refusal = refusal


class Died(Exception):
    """The candidate gave no valid answer.

    Args:
        reason: `crash` (the process ended or used too much memory), `timeout` or `harness` (broken protocol).
        message: what happened, in one line.
        exit_code: exit code of the process; None if a signal ended it or if it still runs.
        signal: name of the signal that ended the process, also if the host sent it.
        stderr: last 64 KiB of stderr since the request.
        line: start of the line of stdout that broke the protocol.
        fails_alone: whether the request also crashes as the first of a fresh process; None if that was not tried.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        exit_code: int | None = None,
        signal: str | None = None,
        stderr: str = "",
        line: str = "",
        fails_alone: bool | None = None,
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason, self.message, self.exit_code, self.signal = reason, message, exit_code, signal
        self.stderr, self.line, self.fails_alone = stderr, line, fails_alone


class GivenUp(DeltaspecError):
    """The candidate died too often in a row; no more requests are sent."""

    exit_code = 3


class Candidate(Protocol):
    """An engine under test, in its own process (`Host`) or in this one (`InProcess`).

    Every method raises `Refused`, `Died` or `GivenUp`. The host chooses where rows are written: it replaces `out`.
    """

    @property
    def capabilities(self) -> Capabilities: ...

    def snapshot(self, request: Snapshot) -> SnapshotAnswer: ...

    def scan(self, request: Scan) -> Rows: ...

    def changes(self, request: Changes) -> Rows: ...

    def apply(self, request: Apply) -> ApplyAnswer: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Host:
    """A candidate in its own process.

    Args:
        launch: how to start it.
        timeout_scale: factor of all deadlines.
        memory_limit: bytes of memory that its process group may use; None for no limit.

    Raises:
        Died: the candidate did not answer `hello`.
    """

    def __init__(self, launch: Launch, *, timeout_scale: float = 1.0, memory_limit: int | None = MEMORY_LIMIT) -> None:
        self._launch = launch
        self._scale = timeout_scale
        self._memory_limit = memory_limit
        self._directory = Path(tempfile.mkdtemp(prefix="deltaspec-candidate-"))
        self._remove_directory = weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        self._process: CandidateProcess | None = None
        self._seq = 0
        self._restarts = 0
        self._previous = ""
        """Last request that the current process answered; empty after `hello`."""
        self.capabilities: Capabilities
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def snapshot(self, request: Snapshot) -> SnapshotAnswer:
        return self._request(request, SnapshotAnswer)

    def scan(self, request: Scan) -> Rows:
        return self._request_rows(request)

    def changes(self, request: Changes) -> Rows:
        return self._request_rows(request)

    def apply(self, request: Apply) -> ApplyAnswer:
        return self._request(request, ApplyAnswer)

    def close(self) -> None:
        """Ask the candidate to exit, end its processes and remove its temporary files."""
        process, self._process = self._process, None
        if process is not None:
            try:
                self._exchange(process, Bye(), DEADLINE_SECONDS["bye"])
                process.close_stdin()
                process.end("wait", seconds=DEADLINE_SECONDS["bye"] * self._scale)
            except (ProcessFault, Refused):
                process.end()
            except BaseException:
                process.end("kill")
                raise
        self._remove_directory()

    def _request_rows(self, request: Scan | Changes) -> Rows:
        out = self._directory / f"{self._seq + 1}.arrow"
        answer = self._request(msgspec.structs.replace(request, out=str(out)), RowsAnswer)
        try:
            return load_rows(answer, str(out))
        except RowsFault as fault:
            stderr = self._process.stderr if self._process is not None else ""
            raise Died("harness", str(fault), stderr=stderr) from fault
        finally:
            with suppress(OSError):
                out.unlink()

    def _request(self, request: CaseRequest, answer_type: type[T]) -> T:
        """Send a request, in a new process if the last one died, and return the checked answer."""
        if self._process is None:
            if self._restarts >= MAX_RESTARTS:
                raise GivenUp(f"the candidate died after each of {MAX_RESTARTS} restarts in a row")
            self._restarts += 1
            self._start()
        previous = self._previous
        try:
            answer = self._perform(request, answer_type)
        except Refused:
            self._restarts = 0
            raise
        except Died as death:
            if death.reason == "crash":
                self._explain_crash(death, request, answer_type, previous)
            raise
        self._restarts = 0
        return answer

    def _explain_crash(self, death: Died, request: CaseRequest, answer_type: type, previous: str) -> None:
        """Repeat a request that crashed in a fresh process, and add to the message whether it fails alone too."""
        if not previous:
            death.fails_alone = True
        elif isinstance(request, Apply):
            return  # a write must not be done twice
        else:
            try:
                self._start()
                self._perform(request, answer_type)
                death.fails_alone = False
            except Refused:
                death.fails_alone = False
            except Died as second:
                death.fails_alone = second.reason == "crash"
        death.message += "; fails alone too" if death.fails_alone else f"; only after {previous}"

    def _start(self) -> None:
        """Start a process and check its answer to `hello`."""
        directory = Path(tempfile.mkdtemp(prefix="work-", dir=self._directory))
        grace = GRACE_SECONDS * min(self._scale, 1.0)
        try:
            self._process = CandidateProcess(
                self._launch, directory, memory_limit=self._memory_limit, grace_seconds=grace
            )
        except ProcessFault as fault:
            raise Died(fault.reason, fault.message) from fault
        try:
            found = self._perform(Hello(tmp=str(directory)), Capabilities, self._launch.hello_seconds)
        except Refused as refused:
            raise self._bury(ProcessFault("harness", str(refused)), "hello") from None
        except Died as death:
            if self._process is not None:
                self._bury(ProcessFault("harness", death.message), "hello")
            raise
        if found.protocol != PROTOCOL_VERSION:
            text = f"speaks version {found.protocol} of the candidate protocol; expected {PROTOCOL_VERSION}"
            raise self._bury(ProcessFault("harness", text), "hello")
        if found != getattr(self, "capabilities", found):
            raise self._bury(ProcessFault("harness", "answered differently after a restart"), "hello")
        self.capabilities = found
        self._previous = ""

    def _perform(self, request: Hello | CaseRequest, answer_type: type[T], seconds: float | None = None) -> T:
        """Send a request to the current process and decode its answer."""
        assert self._process is not None
        operation = str(request.__struct_config__.tag)
        try:
            answer = self._exchange(self._process, request, seconds or DEADLINE_SECONDS[operation])
        except ProcessFault as fault:
            raise self._bury(fault, operation) from None
        finally:
            if not isinstance(request, Hello):
                self._previous = f"{operation} of {request.table}"
        try:
            return msgspec.json.decode(answer, type=answer_type)
        except (msgspec.DecodeError, RecursionError) as fault:
            text = f"the answer to {operation} is invalid: {fault}"
            raise Died("harness", text, stderr=self._process.stderr, line=show_line(answer)) from None

    def _exchange(self, process: CandidateProcess, request: Request, seconds: float) -> bytes:
        """Send a request and return the JSON text of `ok`.

        Raises:
            ProcessFault: the process must be ended.
            Refused: the answer is an error.
        """
        self._seq += 1
        message = {"seq": self._seq, **msgspec.to_builtins(request)}
        process.begin(msgspec.json.encode(message) + b"\n")
        start = time.monotonic()
        limit = seconds * self._scale
        deadline = start + limit
        while (answer := self._read_answer(process, deadline)).progress is not msgspec.UNSET:
            deadline = min(time.monotonic() + limit, start + limit * (1 + MAX_RENEWALS))
        process.check_no_output("after the answer")
        if answer.error is not msgspec.UNSET:
            raise Refused(answer.error)
        assert isinstance(answer.ok, msgspec.Raw)
        return bytes(answer.ok)

    def _read_answer(self, process: CandidateProcess, deadline: float) -> Answer:
        """Read one line: progress, or an answer with either `ok` or `error`."""
        line = process.read_line(deadline)
        try:
            line.decode("utf-8")
            answer = msgspec.json.decode(line, type=Answer)
        except UnicodeDecodeError as fault:
            raise ProcessFault("harness", f"wrote a line that is not UTF-8 ({fault.reason})", show_line(line)) from None
        except msgspec.ValidationError as fault:
            raise ProcessFault("harness", f"wrote an invalid answer: {fault}", show_line(line)) from None
        except (msgspec.DecodeError, RecursionError):
            text = "wrote a line that is not JSON to stdout; print to stderr"
            raise ProcessFault("harness", text, show_line(line)) from None
        if answer.seq != self._seq:
            text = f"answered with seq {answer.seq}; expected {self._seq}"
            raise ProcessFault("harness", text, show_line(line))
        if [answer.ok, answer.error, answer.progress].count(msgspec.UNSET) != 2:
            text = "an answer needs exactly one of ok, error and progress"
            raise ProcessFault("harness", text, show_line(line))
        return answer

    def _bury(self, fault: ProcessFault, operation: str) -> Died:
        """End the current process and return what happened to it."""
        assert self._process is not None
        process, self._process = self._process, None
        end = process.end(fault.ending)
        shutil.rmtree(process.directory, ignore_errors=True)
        text = str(end) if fault.ending == "wait" else fault.message
        return Died(fault.reason, f"{text} during {operation}", end.code, end.signal, end.stderr, fault.line)
