"""Gives up a run on a cluster that has no executor left: Spark itself waits for one without end."""

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

PATIENCE = "DELTASPEC_SPARK_EXECUTOR_SECONDS"
"""Variable of how long jobs wait for a first executor, or for another one where all are lost."""
_SECONDS = 300
_PAUSE = 1.0
_TAG = "deltaspec-waits-{}-seconds-{}"
_TAGGED = re.compile(r"deltaspec-waits-(\d+)-seconds-")


@contextmanager
def watch_executors(session: SparkSession) -> Iterator[None]:
    """Cancel the jobs that this thread starts within the block once they have waited too long for an executor.

    A server of Spark Connect tells nothing of executors, and those of `local` end with the driver: neither is watched.

    Raises:
        InvalidUsage: the environment says no number of seconds.
    """
    if is_remote(session) or re.match(r"local(\[|$)", str(session.sparkContext.master)):
        yield
        return
    context: Any = session.sparkContext
    seconds = _patience()
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
    """What to say of a job, by the words in which Spark says that it was cancelled; None where it was not by us."""
    found = _TAGGED.search(text)
    if found is None:
        return None
    return f"Spark had no executor for {found[1]} seconds: are the workers of the cluster up?"


def _watch(context: Any, tag: str, seconds: int, over: threading.Event) -> None:
    since: float | None = None
    while not over.wait(_PAUSE):
        try:
            java = context._jsc.sc()
            waits = java.getExecutorMemoryStatus().size() <= 1 and len(context.statusTracker().getActiveJobsIds()) > 0
            since = (since or time.monotonic()) if waits else None  # the driver is one of them
            if since is not None and time.monotonic() - since >= seconds:
                context.cancelJobsWithTag(tag)
        except Exception:  # noqa: BLE001 - the session ends, which whoever waits for the job is told
            return


def _patience() -> int:
    told = os.environ.get(PATIENCE, str(_SECONDS))
    if not re.fullmatch(r"[1-9][0-9]{0,5}", told):
        raise InvalidUsage(f"{PATIENCE} is {told[:50]!r}, and no number of seconds")
    return int(told)
