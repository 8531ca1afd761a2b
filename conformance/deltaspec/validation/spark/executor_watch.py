"""Cancel a run on a cluster that has no executor: Spark itself would wait for one forever."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from deltaspec.errors import InvalidUsage
from deltaspec.validation.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTOR_TIMEOUT_VARIABLE = "DELTASPEC_SPARK_EXECUTOR_SECONDS"
"""Environment variable: how long jobs wait for an executor, at the start or after all were lost."""
_DEFAULT_SECONDS = 300
_POLL_SECONDS = 1.0
_TAG = "deltaspec-waits-{}-seconds-{}"
_TAGGED = re.compile(r"deltaspec-waits-(\d+)-seconds-")


@contextmanager
def watch_executors(session: SparkSession) -> Iterator[None]:
    """Cancel jobs that this thread starts within the block if they wait too long for an executor.

    Spark Connect does not report executors, and with `local` they end with the driver: neither is watched.

    Raises:
        InvalidUsage: the environment variable is not a number of seconds.
    """
    if is_remote(session) or re.match(r"local(\[|$)", str(session.sparkContext.master)):
        yield
        return
    context: Any = session.sparkContext
    seconds = _read_timeout()
    tag = _TAG.format(seconds, uuid.uuid4().hex)
    context.addJobTag(tag)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, tag, seconds, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(30)
        with suppress(Exception):  # the session may be gone
            context.removeJobTag(tag)


def find_cancellation_reason(text: str) -> str | None:
    """Return why the watcher cancelled a job, from Spark's message; None if something else cancelled it."""
    found = _TAGGED.search(text)
    if found is None:
        return None
    return f"Spark had no executor for {found[1]} seconds; are the workers of the cluster running?"


def _watch(context: Any, tag: str, seconds: int, over: threading.Event) -> None:
    since: float | None = None
    while not over.wait(_POLL_SECONDS):
        try:
            java = context._jsc.sc()
            waits = java.getExecutorMemoryStatus().size() <= 1 and len(context.statusTracker().getActiveJobsIds()) > 0
            since = (since or time.monotonic()) if waits else None  # the memory status includes the driver
            if since is not None and time.monotonic() - since >= seconds:
                context.cancelJobsWithTag(tag)
        except Exception:  # noqa: BLE001 - the session has ended, which fails the job itself
            return


def _read_timeout() -> int:
    value = os.environ.get(EXECUTOR_TIMEOUT_VARIABLE, str(_DEFAULT_SECONDS))
    if not re.fullmatch(r"[1-9][0-9]{0,5}", value):
        raise InvalidUsage(f"{EXECUTOR_TIMEOUT_VARIABLE} is {value[:50]!r}; expected a number of seconds")
    return int(value)
