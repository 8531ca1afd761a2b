"""One process of a candidate that answers typed requests, from `hello` to `bye`."""

import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from deltaspec.candidates.messages import (
    PROTOCOL_VERSION,
    Answer,
    Capabilities,
    Hello,
    Request,
)
from deltaspec.candidates.outcomes import Died, Refused
from deltaspec.candidates.process import GRACE_SECONDS, CandidateProcess, Ending, Exit, Launch, ProcessFault, show_line

DEADLINE_SECONDS = {"snapshot": 120.0, "scan": 120.0, "changes": 120.0, "apply": 180.0, "bye": 10.0}
MAX_RENEWALS = 4
"""How many deadlines progress can add to the first."""

T = TypeVar("T")


class Session:
    """A started process. `ask` ends it if it breaks the protocol or dies; the session is then over.

    Args:
        launch: how to start it.
        parent: directory in which its working directory is created; that is removed at the end.
        timeout_scale: factor of all deadlines.
        memory_limit: bytes of memory that its process group may use; None for no limit.

    Raises:
        Died: it cannot be started.
    """

    def __init__(self, launch: Launch, parent: Path, *, timeout_scale: float, memory_limit: int | None) -> None:
        self.is_over = False
        self._hello_seconds = launch.hello_seconds
        self._scale = timeout_scale
        self._seq = 0
        self.progress_messages = 0
        """Progress messages since the start."""
        self.directory = Path(tempfile.mkdtemp(prefix="work-", dir=parent))
        grace = GRACE_SECONDS * min(timeout_scale, 1.0)
        try:
            self.process = CandidateProcess(launch, self.directory, memory_limit=memory_limit, grace_seconds=grace)
        except ProcessFault as fault:
            raise Died(fault.reason, fault.message) from fault

    def say_hello(self) -> Capabilities:
        """Send the first request.

        Raises:
            Died: the candidate did not answer, refused, or speaks another version; the session is over.
        """
        try:
            found = self.perform(Hello(tmp=str(self.directory)), Capabilities)
        except Refused as refused:
            raise self._end(ProcessFault("harness", str(refused)), "hello") from None
        except Died as death:
            if not self.is_over:
                raise self._end(ProcessFault("harness", death.message, death.line), "hello") from None
            raise
        if found.protocol != PROTOCOL_VERSION:
            text = f"speaks version {found.protocol} of the candidate protocol; expected {PROTOCOL_VERSION}"
            raise self._end(ProcessFault("harness", text), "hello")
        return found

    def perform(self, request: Request, answer_type: type[T]) -> T:
        """Send a request and decode its answer.

        Raises:
            Refused: the answer is an error.
            Died: there is no valid answer.
        """
        answer = self.ask(msgspec.to_builtins(request))
        try:
            return msgspec.json.decode(answer, type=answer_type)
        except (msgspec.DecodeError, RecursionError) as fault:
            text = f"the answer to {request.__struct_config__.tag} is invalid: {fault}"
            raise Died("harness", text, stderr=self.process.stderr, line=show_line(answer)) from None

    def ask(self, request: Mapping[str, Any]) -> bytes:
        """Send the fields of a request and return the JSON text of `ok`.

        Raises:
            Refused: the answer is an error.
            Died: there is no answer; the session is over.
        """
        operation = str(request["op"])
        limit = self._scale * (self._hello_seconds if operation == "hello" else DEADLINE_SECONDS.get(operation, 60.0))
        self._seq += 1
        try:
            self.process.begin(msgspec.json.encode({"seq": self._seq, **request}) + b"\n")
            answer = self._read_answer(limit)
            self.process.check_no_output("after the answer")
        except ProcessFault as fault:
            raise self._end(fault, operation) from None
        if answer.error is not msgspec.UNSET:
            raise Refused(answer.error)
        assert isinstance(answer.ok, msgspec.Raw)
        return bytes(answer.ok)

    def close(self) -> Exit:
        """Say goodbye, and end the process if it does not exit."""
        if not self.is_over:
            try:
                self.ask({"op": "bye"})
                self.process.close_stdin()
            except (Refused, Died):
                pass
            except BaseException:
                self._clean_up("kill")
                raise
        return self._clean_up("wait", DEADLINE_SECONDS["bye"] * self._scale)

    def kill(self) -> None:
        """End the process with SIGKILL, without a request."""
        self._clean_up("kill")

    def _read_answer(self, limit: float) -> Answer:
        """Read lines until one is not progress; progress renews the deadline."""
        start = time.monotonic()
        deadline = start + limit
        while (answer := self._read_line(deadline)).progress is not msgspec.UNSET:
            self.progress_messages += 1
            deadline = min(time.monotonic() + limit, start + limit * (1 + MAX_RENEWALS))
        return answer

    def _read_line(self, deadline: float) -> Answer:
        line = self.process.read_line(deadline)
        try:
            line.decode("utf-8")
            answer = msgspec.json.decode(line, type=Answer)
        except UnicodeDecodeError as fault:
            raise ProcessFault("harness", f"wrote a line that is not UTF-8 ({fault.reason})", show_line(line)) from None
        except msgspec.ValidationError as fault:
            raise ProcessFault("harness", f"wrote an invalid answer: {fault}", show_line(line)) from None
        except (msgspec.DecodeError, RecursionError):
            number = find_number_of_python(line)
            text = "wrote a line that is not JSON to stdout; print to stderr"
            if number is not None:
                text = f"wrote {number}, which JSON does not have; write null or a string"
            raise ProcessFault("harness", text, show_line(line)) from None
        if answer.seq != self._seq:
            text = f"answered with seq {answer.seq}; expected {self._seq}"
            raise ProcessFault("harness", text, show_line(line))
        if [answer.ok, answer.error, answer.progress].count(msgspec.UNSET) != 2:
            text = "an answer needs exactly one of ok, error and progress"
            raise ProcessFault("harness", text, show_line(line))
        return answer

    def _end(self, fault: ProcessFault, operation: str) -> Died:
        """End the process and return what happened."""
        end = self._clean_up(fault.ending)
        text = fault.message if fault.ending != "wait" else "closed its stdout" if end.is_forced else str(end)
        return Died(fault.reason, f"{text} during {operation}", end.code, end.signal, end.stderr, fault.line)

    def _clean_up(self, ending: Ending, seconds: float | None = None) -> Exit:
        self.is_over = True
        try:
            return self.process.end(ending, seconds=seconds)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


def find_number_of_python(line: bytes) -> str | None:
    """Return the first NaN or Infinity of a line that is JSON apart from such numbers; None if it is not."""
    found: list[str] = []
    try:
        json.loads(line, parse_constant=found.append)
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None
