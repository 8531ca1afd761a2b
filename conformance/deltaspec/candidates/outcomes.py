"""Exceptions for requests to a candidate that end without an answer."""

from deltaspec.candidates.messages import Refusal
from deltaspec.candidates.process import Reason
from deltaspec.errors import DeltaspecError
from deltaspec.exit_codes import ExitCode


class Refused(Exception):
    """The candidate answered with an error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"refused as {refusal.category}: {refusal.message or 'no message'}")
        self.refusal = refusal


class Died(Exception):
    """The candidate gave no valid answer.

    Args:
        reason: `crash` (the process ended or used too much memory), `timeout`, `output` (too many bytes of rows) or
            `harness` (broken protocol).
        message: what happened, in one line.
        exit_code: exit code of the process; None if a signal ended it or if it still runs.
        signal: name of the signal that ended the process, even if the host sent it.
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
        super().__init__()
        self.reason, self.message, self.exit_code, self.signal = reason, message, exit_code, signal
        self.stderr, self.line, self.fails_alone = stderr, line, fails_alone

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class GivenUp(DeltaspecError):
    """The candidate died too often in a row; no more requests are sent."""

    exit_code = ExitCode.INCOMPLETE
