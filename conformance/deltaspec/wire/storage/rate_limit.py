"""Limit how many requests a process sends to object stores in a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.settings import StorageSettings

SETTING = "DELTASPEC_STORE_REQUESTS_PER_SECOND"
"""Setting with the limit. Without it, or if it is 0, there is no limit."""
MOST_REQUESTS = 1_000_000


class RateLimit:
    """Spaces requests evenly. Safe to use in threads."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin without requests.

        Args:
            per_second: requests in a second, above 0.
            clock: returns seconds.
            sleep: waits for a number of seconds.
        """
        self.per_second = per_second
        self._interval = 1 / per_second
        self._clock, self._sleep = clock, sleep
        self._next = clock()
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait until the next request may be sent."""
        with self._lock:
            now = self._clock()
            turn = max(self._next, now)
            self._next = turn + self._interval
        if turn > now:
            self._sleep(turn - now)


def get_rate_limit(settings: StorageSettings) -> RateLimit | None:
    """Return the limit of this process for the settings, which all stores share; None if there is no limit.

    Raises:
        InvalidUsage: the setting is not a number of requests.
    """
    text = settings.get(SETTING)
    if not text:
        return None
    try:
        per_second = float(text)
    except ValueError:
        per_second = -1.0
    if not 0 <= per_second <= MOST_REQUESTS:
        raise InvalidUsage(f"{SETTING} is not a number from 0 to {MOST_REQUESTS}")
    return get_shared_limit(per_second) if per_second else None


@lru_cache(maxsize=16)
def get_shared_limit(per_second: float) -> RateLimit:
    """Return the limit that all stores of this process share, for a number of requests per second."""
    return RateLimit(per_second)
