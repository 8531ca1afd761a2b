"""Points in time as options. The command line imports this module before it chooses Arrow's allocator."""

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.report.text import format_instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(msgspec.Struct, frozen=True):
    """A point in time that names a version: the latest one that was committed by then."""

    ms: int
    """Milliseconds since the epoch."""

    def __str__(self) -> str:
        return format_instant(self.ms)


_MAX_DIGITS = 4000
"""Python converts no more than 4,300 digits."""
At = int | Moment | None
"""A version, a time that names one, or None for the latest version."""
AtArgument = int | str | datetime | Moment | None
"""What users write for `At`: a version, or a time with a time zone."""


def parse_at(value: AtArgument) -> At:
    """Parse a version, or an ISO 8601 time with a time zone.

    Raises:
        InvalidUsage: it is neither.
    """
    if value is None or isinstance(value, Moment):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        if len(value) <= _MAX_DIGITS:
            return int(value)
    elif isinstance(value, str | datetime):
        with suppress(ValueError):
            found = datetime.fromisoformat(str(value))
    if found is None:
        expected = "expected a version, or a time such as 2026-11-21T12:00:00Z"
        raise InvalidUsage(f"invalid version or time {value!r}; {expected}")
    return Moment(_convert_to_ms(found, value))


def parse_instant(value: int | str | None) -> int | None:
    """Parse milliseconds since the epoch, `now`, or an ISO 8601 time with a time zone, into milliseconds.

    Raises:
        InvalidUsage: it is none of these.
    """
    if value is None or type(value) is int:
        return value
    if value == "now":
        return int(time.time() * 1000)
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError as fault:
        raise InvalidUsage(f"{value!r} is neither `now` nor a time such as 2026-11-21T12:00:00Z") from fault
    return _convert_to_ms(found, value)


def _convert_to_ms(found: datetime, written: object) -> int:
    if found.tzinfo is None:
        raise InvalidUsage(f"{str(written)!r} has no time zone; add one, such as Z for UTC")
    return (found - _EPOCH) // timedelta(milliseconds=1)
