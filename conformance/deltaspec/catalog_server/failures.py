"""Failures that the catalog shows on request."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import msgspec

KINDS = {
    "late": "answers after a number of seconds",
    "unavailable": "answers with status 503, and does nothing",
    "denied": "answers with status 403, and does nothing",
    "lost-answer": "does what is asked, and closes the connection without an answer",
    "state-unknown": "does what is asked, and answers with CommitStateUnknownException",
    "duplicate": "receives the request twice, as from a proxy that repeats it, and gives the second answer",
    "not-json": "answers with text that is not JSON",
    "wrong-shape": "answers with JSON of another shape",
    "huge": "answers with gigabytes of JSON",
    "slow": "answers one byte per second",
    "redirect": "redirects to another host",
    "endless": "answers every page of a list with the token of a further one",
}
"""Kinds of failures."""
AFTER_SUCCESS = frozenset({"late", "lost-answer", "state-unknown", "duplicate", "slow", "endless"})
"""Kinds for which the request is carried out."""


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure of some requests."""

    kind: str
    operation: str | None = None
    """`operationId` of the requests; None for all."""
    count: int | None = 1
    """How many requests; None for all."""
    seconds: float = 60.0
    """Delay of late answers."""
    target: str = "http://127.0.0.1:9/"
    """Where redirects lead to."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind {self.kind!r}; choose from {', '.join(KINDS)}")


class Failures:
    """Planned failures, in the order in which they apply."""

    def __init__(self, planned: Iterable[Failure] = ()) -> None:
        self._lock = threading.Lock()
        self._planned = [(each, each.count) for each in planned]

    def plan(self, failures: Iterable[Failure]) -> None:
        """Replace the planned failures."""
        with self._lock:
            self._planned = [(each, each.count) for each in failures]

    def take(self, operation: str) -> Failure | None:
        """Return the first failure that applies to a request, and count it."""
        with self._lock:
            for number, (failure, left) in enumerate(self._planned):
                if failure.operation in (None, operation) and left != 0:
                    self._planned[number] = (failure, None if left is None else left - 1)
                    return failure
        return None
