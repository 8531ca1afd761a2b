"""Points in time as options. The command line imports this module before it chooses Arrow's allocator."""

import time
from datetime import UTC, datetime, timedelta

from deltaspec.errors import InvalidUsage


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
    if found.tzinfo is None:
        raise InvalidUsage(f"{value!r} has no time zone; add one, such as Z for UTC")
    return (found - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
