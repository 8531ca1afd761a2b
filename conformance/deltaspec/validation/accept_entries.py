"""Entries of the configuration that accept findings: `[[accept]]` with rule, path, reason, link and until."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from deltaspec.errors import InvalidUsage, suggest_name
from deltaspec.protocol.time_units import DAY_MS
from deltaspec.report.report_types import AcceptEntry
from deltaspec.rules import RULES

_KEYS = ("rule", "path", "reason", "link", "until")
_MAX_CHARACTERS = 1_000


def parse_accept_entry(where: str, entry: Any) -> AcceptEntry:
    """Parse an entry.

    Args:
        where: location of the entry, for messages.
        entry: a mapping with the keys `rule` (code, or prefix of codes) and `reason`, and if needed `path` (glob over
            data files or log files, relative to the table), `link`, and `until` (a date, or YYYY-MM-DD).

    Raises:
        InvalidUsage: it is not such a mapping.
    """
    if isinstance(entry, AcceptEntry):
        return entry
    if not isinstance(entry, Mapping):
        raise InvalidUsage(f"{where}: expected a table with the keys {', '.join(_KEYS)}")
    for key in entry:
        if key not in _KEYS:
            raise InvalidUsage(f"{where}.{key}: unknown key ({suggest_name(str(key), _KEYS)})")
    for key in ("rule", "reason"):
        if key not in entry:
            raise InvalidUsage(f"{where}: {key} is missing")
    texts = {key: _check_text(f"{where}.{key}", value) for key, value in entry.items() if key != "until"}
    code = texts["rule"].upper()
    if not any(each.startswith(code) for each in RULES):
        raise InvalidUsage(f"{where}.rule: unknown rule {texts['rule']!r}; see `deltaspec rules`")
    until = None if "until" not in entry else _parse_date(f"{where}.until", entry["until"]).isoformat()
    return AcceptEntry(
        rule=code, path=texts.get("path"), reason=texts["reason"], link=texts.get("link", ""), until=until
    )


def is_expired(entry: AcceptEntry, clock_ms: int | None) -> bool:
    """Return whether the last day of an entry is over, in UTC.

    Args:
        entry: the entry.
        clock_ms: clock of the run, in milliseconds since the epoch; None for the current time.
    """
    if entry.until is None:
        return False
    today = datetime.now(UTC).date()
    if clock_ms is not None:
        days = clock_ms // DAY_MS + date(1970, 1, 1).toordinal()
        today = date.fromordinal(min(max(days, date.min.toordinal()), date.max.toordinal()))
    return date.fromisoformat(entry.until) < today


def _check_text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_CHARACTERS:
        raise InvalidUsage(f"{where}: expected a text of at most {_MAX_CHARACTERS:,} characters")
    return value


def _parse_date(where: str, value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError) as fault:
        raise InvalidUsage(f"{where}: expected a date such as 2027-01-31") from fault
