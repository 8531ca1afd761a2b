"""Interrupt the Spark jobs of a run, and no others.

PySpark answers SIGINT with a call to the JVM, in the middle of the call that it interrupts. Both fail with stack
traces, and the job continues. Therefore another thread waits for jobs, and an interrupt cancels them by their tag.
"""

from __future__ import annotations

import signal
import threading
import uuid
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from deltaspec.validation.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_CANCEL_SECONDS = 0.5
"""Pause before jobs that still run are cancelled again."""


class JobGroup:
    """Runs in several threads that are cancelled together."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._members: set[InterruptibleJobs] = set()
        self._lock = threading.Lock()

    def bind(self, run: Callable[..., T]) -> Callable[..., T]:
        """Return a function whose jobs belong to this group, for another thread."""

        def run_in_group(*arguments: Any) -> T:
            _GROUP.set(self)
            return run(*arguments)

        return run_in_group

    def cancel(self, futures: Collection[Future[Any]]) -> None:
        """Cancel all jobs of the group, until the futures that run them have ended."""
        self.is_cancelled = True
        for each in futures:
            each.cancel()
        while True:  # a job that begins after the interrupt is cancelled, too
            with self._lock:
                members = list(self._members)
            for member in members:
                member.cancel()
            if not wait(futures, _CANCEL_SECONDS).not_done:
                return

    @contextmanager
    def _including(self, member: InterruptibleJobs) -> Iterator[None]:
        with self._lock:
            self._members.add(member)
        try:
            yield
        finally:
            with self._lock:
                self._members.discard(member)


_GROUP: ContextVar[JobGroup | None] = ContextVar("deltaspec job group", default=None)
"""Group of the runs of this thread; None if it has none."""


class InterruptibleJobs:
    """Runs Spark jobs with a tag, which cancels them if this thread is interrupted."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._tag = f"deltaspec-{uuid.uuid4().hex}"
        self._group = _GROUP.get()

    @contextmanager
    def tag_jobs(self) -> Iterator[None]:
        """Tag the jobs that this thread starts within the block, and cancel those that still run at its end."""
        session: Any = self._session
        add, remove = (
            (session.addTag, session.removeTag)
            if is_remote(session)
            else (session.sparkContext.addJobTag, session.sparkContext.removeJobTag)
        )
        add(self._tag)
        try:
            with nullcontext() if self._group is None else self._group._including(self), default_interrupt_handler():
                yield
        finally:
            self.cancel()
            with suppress(Exception):  # the session may be gone
                remove(self._tag)

    def cancel(self) -> None:
        """Cancel the jobs with the tag."""
        session: Any = self._session
        with suppress(Exception):  # the session may be gone
            if is_remote(session):
                session.interruptTag(self._tag)
            else:
                session.sparkContext.cancelJobsWithTag(self._tag)

    def wait_for(self, run: Callable[[], T]) -> T:
        """Run jobs and return the result. An interrupt of this thread cancels them."""
        if self._group is not None and self._group.is_cancelled:
            raise CancelledError
        if threading.current_thread() is not threading.main_thread():  # no other thread is interrupted
            return run()
        from pyspark.util import inheritable_thread_target

        tagged: Callable[[], T] = inheritable_thread_target(self._session)(run)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(tagged)
            try:
                return future.result()
            finally:
                while not future.done():  # a job that begins after the interrupt is cancelled, too
                    self.cancel()
                    wait([future], _CANCEL_SECONDS)


@contextmanager
def default_interrupt_handler() -> Iterator[None]:
    """Replace the handler of PySpark, which cancels the jobs of everybody, within the block."""
    before = signal.getsignal(signal.SIGINT)
    replaced = threading.current_thread() is threading.main_thread() and (
        getattr(before, "__module__", None) == "pyspark.core.context"
    )
    if replaced:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if replaced:
            signal.signal(signal.SIGINT, before)
