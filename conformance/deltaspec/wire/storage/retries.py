"""Retries of requests to object stores: how long, and how often."""

import random
import re
import time
from urllib.parse import urlsplit

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.interface import redact_uri
from deltaspec.wire.storage.interruption import IS_ENDING
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

RETRY_SECONDS = 60.0
"""`DELTASPEC_STORE_RETRY_SECONDS`: time after the first attempt within which a request is retried."""
TIMEOUT_SECONDS = 15.0
"""`DELTASPEC_STORE_TIMEOUT_SECONDS`: timeout for connecting, and between the bytes of a response."""
FIRST_PAUSE_SECONDS = 0.2
MAX_PAUSE_SECONDS = 10.0
OUTAGE_RETRY_SECONDS = 5.0
"""Time for retries while a store is unavailable: since a request got no answer in the configured time."""
_CLIENT_RETRIES = 2
_CLIENT_RETRY_SECONDS = 2.0

UNAVAILABLE: set[str] = set()
"""Stores that are unavailable, as far as this process knows."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """Retries and timeouts of a store."""

    retries: int | None = None
    """`DELTASPEC_STORE_RETRIES`: limit of retries of a request; None if only the time limits them."""
    retry_seconds: float = RETRY_SECONDS
    timeout_seconds: float = TIMEOUT_SECONDS

    @classmethod
    def from_settings(cls, settings: StorageSettings = ENVIRONMENT) -> "RetryPolicy":
        """Read the policy from the settings, with defaults for unset ones.

        Raises:
            InvalidUsage: a setting is not a number from 0 to 999999.
        """
        retries = _read_number(settings, "DELTASPEC_STORE_RETRIES")
        seconds = _read_number(settings, "DELTASPEC_STORE_RETRY_SECONDS")
        timeout = _read_number(settings, "DELTASPEC_STORE_TIMEOUT_SECONDS")
        return cls(
            None if retries is None else int(retries),
            RETRY_SECONDS if seconds is None else seconds,
            TIMEOUT_SECONDS if timeout is None else max(timeout, 0.001),
        )

    @property
    def client_retries(self) -> int:
        """Retries that the client makes itself, which resume an interrupted response."""
        return _CLIENT_RETRIES if self.retries is None else min(_CLIENT_RETRIES, self.retries)

    @property
    def client_retry_seconds(self) -> float:
        """Time within which the client itself retries, if their number is not given; interrupts wait for it."""
        return self.retry_seconds if self.retries is not None else min(self.retry_seconds, _CLIENT_RETRY_SECONDS)


def _read_number(settings: StorageSettings, name: str) -> float | None:
    text = settings.get(name)
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text):
        raise InvalidUsage(f"{name} is not a number from 0 to 999999")
    return float(text)


class Attempts:
    """Attempts of one request, with growing, jittered pauses."""

    def __init__(self, policy: RetryPolicy, store: str) -> None:
        """Start the time for retries.

        Args:
            policy: how long and how often the request may be retried.
            store: identifies the store. While it is unavailable, requests are retried for a short time, so that a run
                over many files or tables ends.
        """
        self.policy = policy
        self._store = store
        self._seconds = policy.retry_seconds
        if store in UNAVAILABLE:
            self._seconds = min(self._seconds, OUTAGE_RETRY_SECONDS)
        self._end = time.monotonic() + self._seconds
        self._pause = FIRST_PAUSE_SECONDS
        self._count = 0

    def wait(self, attempts: int = 1) -> bool:
        """Wait before the next attempt.

        Args:
            attempts: how many attempts failed since the last call.

        Returns:
            Whether another attempt may be made.
        """
        self._count += attempts
        if self.policy.retries is not None and self._count > self.policy.retries:
            return False
        rest = self._end - time.monotonic()
        if rest <= 0:
            UNAVAILABLE.add(self._store)
            return False
        pause = self._pause * random.uniform(0.5, 1.5)
        self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)
        return not IS_ENDING.wait(min(pause, rest))

    def describe(self) -> str:
        """Return how often or how long the request was retried, for the end of a message."""
        limit = self.policy.retries
        if limit is not None and self._count > limit:
            return f", after {limit} {'retry' if limit == 1 else 'retries'}" if limit else ""
        return f", after {self._seconds:g} s of retries" if self._seconds else ""


def identify_store(uri: str, settings: StorageSettings) -> str:
    """Return an identity of the store, the same for tables whose requests go to the same bucket and endpoint."""
    endpoint = settings.get("AWS_ENDPOINT_URL") or ""
    return f"{urlsplit(redact_uri(uri)).netloc} {endpoint}"


def mark_available(store: str) -> None:
    """Record that a store answered."""
    UNAVAILABLE.discard(store)
