"""Run a candidate in its own process: typed requests, checked answers, restarts.

    with open_candidate("deltalake") as candidate:
        answer = candidate.snapshot(messages.Snapshot(table="/tmp/t"))

Whatever the candidate does, a request ends in an answer or in one of these exceptions: `Refused`, `Died`, `GivenUp`.
"""

import os
import shutil
import signal
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, Self, TypeAlias, TypeVar

import msgspec

from deltaspec.candidates.messages import (
    Apply,
    ApplyAnswer,
    Capabilities,
    Changes,
    RowsAnswer,
    Scan,
    Snapshot,
    SnapshotAnswer,
)
from deltaspec.candidates.outcomes import Died, GivenUp, Refused
from deltaspec.candidates.process import Launch
from deltaspec.candidates.process_groups import kill_group
from deltaspec.candidates.rows import Rows, RowsFault, RowsFile, load_rows
from deltaspec.candidates.session import Session

__all__ = ["Candidate", "Died", "GivenUp", "Host", "Refused", "Rows"]

MEMORY_LIMIT = 4 * 1024**3
"""Default limit of a candidate's process group, in bytes."""
MAX_RESTARTS = 5
"""Restarts without an answer in between."""

CaseRequest: TypeAlias = Snapshot | Scan | Changes | Apply
T = TypeVar("T")


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


class Traffic(msgspec.Struct, frozen=True):
    """What a candidate has written besides its answers."""

    stderr_bytes: int = 0
    progress_messages: int = 0


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
        self.directory = Path(tempfile.mkdtemp(prefix="deltaspec-candidate-"))
        self._remove_directory = weakref.finalize(self, _remove_directory, self.directory, os.getpid())
        self.session: Session | None = None
        self._files = 0
        self._output_limit: tuple[Path, int] | None = None
        """File that the current request writes, and the bytes that it may have; None for no limit."""
        self._restarts = 0
        self._earlier_traffic = Traffic()
        self._previous = ""
        """Last request that the current process answered; empty after `hello`."""
        try:
            self.capabilities = self._start_session()
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

    @contextmanager
    def open_rows(self, request: Scan | Changes, limit: int) -> Iterator[RowsFile]:
        """Ask for rows and yield them in their file, which is removed afterwards.

        Args:
            request: the request; the host chooses its `out`.
            limit: bytes that the file may have; the candidate is killed when it writes more.

        Raises:
            Refused, Died, GivenUp: as for `scan`.
        """
        with self._choose_file(request) as (asked, out):
            self._output_limit = (out, limit)
            try:
                answer = self._request(asked, RowsAnswer)
            finally:
                self._output_limit = None
            try:
                rows = RowsFile(answer, str(out), limit)
            except RowsFault as fault:
                raise self._blame(fault) from fault
            with rows:
                yield rows

    @property
    def process_group(self) -> int | None:
        """Group of the candidate's processes; None if there are none, until the next request."""
        return None if self.session is None or self.session.is_over else self.session.process.pid

    @property
    def traffic(self) -> Traffic:
        """What all processes of the candidate have written so far."""
        if self.session is None:
            return self._earlier_traffic
        earlier, session = self._earlier_traffic, self.session
        return Traffic(
            earlier.stderr_bytes + session.process.stderr_bytes, earlier.progress_messages + session.progress_messages
        )

    def ensure_started(self) -> None:
        """Start a new process if the last one ended.

        Raises:
            Died: it did not answer `hello`.
            GivenUp: it died too often in a row.
        """
        if self.session is None or self.session.is_over:
            if self._restarts >= MAX_RESTARTS:
                raise GivenUp(f"the candidate died after each of {MAX_RESTARTS} restarts in a row")
            self._restarts += 1
            self._restart()

    def kill(self) -> None:
        """Send SIGKILL to the candidate's processes, also while another thread waits for an answer."""
        if (group := self.process_group) is not None:
            kill_group(group, signal.SIGKILL)

    def discard_process(self) -> None:
        """Kill the candidate's processes; the next request starts a new one."""
        if self.session is not None:
            self.session.kill()

    def close(self) -> None:
        """Ask the candidate to exit, end its processes and remove its temporary files."""
        session, self.session = self.session, None
        try:
            if session is not None:
                session.close()
        finally:
            self._remove_directory()

    def _request_rows(self, request: Scan | Changes) -> Rows:
        with self._choose_file(request) as (asked, out):
            answer = self._request(asked, RowsAnswer)
            try:
                return load_rows(answer, str(out))
            except RowsFault as fault:
                raise self._blame(fault) from fault

    @contextmanager
    def _choose_file(self, request: Scan | Changes) -> Iterator[tuple[Scan | Changes, Path]]:
        """Yield a request with the file that it writes, which is removed afterwards."""
        self._files += 1
        out = self.directory / f"{self._files}.arrow"
        try:
            yield msgspec.structs.replace(request, out=str(out)), out
        finally:
            with suppress(OSError):
                out.unlink()

    def _blame(self, fault: RowsFault) -> Died:
        """Return the exception for rows that cannot be read."""
        stderr = self.session.process.stderr if self.session is not None else ""
        return Died("harness", str(fault), stderr=stderr)

    def _request(self, request: CaseRequest, answer_type: type[T]) -> T:
        """Send a request, in a new process if the last one died, and return the checked answer."""
        self.ensure_started()
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

    def _perform(self, request: CaseRequest, answer_type: type[T]) -> T:
        assert self.session is not None
        self._previous = f"{request.__struct_config__.tag} of {request.table}"
        self.session.process.output_limit = self._output_limit
        return self.session.perform(request, answer_type)

    def _explain_crash(self, death: Died, request: CaseRequest, answer_type: type, previous: str) -> None:
        """Repeat a request that crashed in a fresh process, and add to the message whether it fails alone too."""
        if not previous:
            death.fails_alone = True
        elif isinstance(request, Apply):
            return  # a write must not be done twice
        else:
            try:
                self._restart()
                self._perform(request, answer_type)
                death.fails_alone = False
            except Refused:
                death.fails_alone = False
            except Died as second:
                death.fails_alone = second.reason == "crash"
        death.message += "; fails alone too" if death.fails_alone else f"; only after {previous}"

    def _restart(self) -> None:
        found = self._start_session()
        if _sort_lists(found) != _sort_lists(self.capabilities):
            assert self.session is not None
            self.session.close()
            raise Died("harness", "answered hello differently after a restart")

    def _start_session(self) -> Capabilities:
        self._previous = ""
        self._earlier_traffic = self.traffic
        self.session = Session(self._launch, self.directory, timeout_scale=self._scale, memory_limit=self._memory_limit)
        return self.session.say_hello()


def _sort_lists(capabilities: Capabilities) -> dict[str, object]:
    """Return the fields with sorted lists; an engine may list a set in another order after a restart."""
    fields = msgspec.structs.asdict(capabilities)
    return {name: sorted(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _remove_directory(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # a fork of the host has a copy of the object, not the directory
        shutil.rmtree(directory, ignore_errors=True)
