"""Replace values by made-up ones of the same type, in the same order, so that comparisons between them stay true."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)([ T])(\d\d:\d\d:\d\d)(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FIRST_DAY = date(2000, 1, 1)
_FIRST_INSTANT = datetime(2000, 1, 1, tzinfo=UTC)
_MAX_STEP = timedelta(milliseconds=2)
"""Longest time between two consecutive made-up timestamps; shorter distances, as in rounded statistics, are kept."""


class Pseudonyms:
    """A map from values to made-up values. Collect all values first: the first pass returns every value unchanged."""

    def __init__(self) -> None:
        self._is_collecting = True
        self._known: dict[type, set[Any]] = {each: set() for each in (str, bytes, Decimal, date, datetime)}
        self._map: dict[type, dict[Any, Any]] = {}
        self._moments: set[str] = set()
        self._made_up_moments: set[str] = set()

    @property
    def replaced_texts(self) -> set[str]:
        """The strings that are replaced, also dates and timestamps, except those that are equal to made-up ones."""
        return self._known[str] | (self._moments - self._made_up_moments)

    def end_collecting(self) -> None:
        """Assign the made-up values. Later calls return them."""
        self._is_collecting = False
        texts, binaries = sorted(self._known[str]), sorted(self._known[bytes])
        digits = max(4, len(str(len(texts) + len(binaries))))
        numbers = sorted(self._known[Decimal])
        instants: dict[datetime, datetime] = {}
        for before, moment in pairwise([None, *sorted(self._known[datetime])]):
            assert moment is not None
            instants[moment] = _FIRST_INSTANT if before is None else instants[before] + min(moment - before, _MAX_STEP)
        self._map = {
            str: {text: f"s{rank:0{digits}d}" for rank, text in enumerate(texts, 1)},
            bytes: {data: b"b%0*d" % (digits, rank) for rank, data in enumerate(binaries, 1)},
            Decimal: {
                **{number: rank for rank, number in enumerate((each for each in numbers if each > 0), 1)},
                **{number: -rank for rank, number in enumerate((each for each in reversed(numbers) if each < 0), 1)},
                Decimal(0): 0,
            },
            date: {day: _FIRST_DAY + timedelta(rank) for rank, day in enumerate(sorted(self._known[date]))},
            datetime: instants,
        }

    def replace_name(self, text: str) -> str:
        """Return the made-up string of a name or of any other string; an empty string stays."""
        if _UUID.fullmatch(text):
            return _build_uuid(self._replace(str, text))
        return text and str(self._replace(str, text))

    def replace_value(self, value: Any) -> Any:
        """Return a made-up value of the same type. A string that is a number, date or timestamp stays one."""
        match value:
            case None | bool():
                return value
            case int():
                return int(self._replace(Decimal, Decimal(value)))
            case float():
                return value if not math.isfinite(value) else float(self._replace(Decimal, Decimal(repr(value))))
            case Decimal():
                return self._replace_decimal(value)
            case bytes():
                return value and self._replace(bytes, value)
            case datetime():
                moment = value if value.tzinfo else value.replace(tzinfo=UTC)
                return self._replace(datetime, moment.astimezone(UTC)).replace(tzinfo=value.tzinfo and UTC)
            case date():
                return self._replace(date, value)
            case str():
                return self._replace_text(value)
        raise TypeError(f"no made-up values of type {type(value).__name__}")

    def _replace_text(self, text: str) -> str:
        try:
            if _NUMBER.fullmatch(text):
                return str(self._replace_decimal(Decimal(text)))
            if _DATE.fullmatch(text):
                return self._note_moment(text, str(self._replace(date, date.fromisoformat(text))))
            if match := _INSTANT.fullmatch(text):
                return self._note_moment(text, self._replace_instant(match))
        except ValueError:
            pass  # it looks like a date, but is none
        return self.replace_name(text)

    def _note_moment(self, text: str, made_up: str) -> str:
        if self._is_collecting:
            self._moments.add(text)
        else:
            self._made_up_moments.add(made_up)
        return made_up

    def _replace_instant(self, match: re.Match[str]) -> str:
        day, separator, time, fraction, zone = match.groups()
        moment = datetime.fromisoformat(f"{day}T{time}{fraction or ''}{zone or 'Z'}").astimezone(UTC)
        found = self._replace(datetime, moment)
        digits = f"{found.microsecond:06d}"[: len(fraction) - 1] if fraction else ""
        # a made-up time is in UTC, like the offset that is written
        offset = "" if zone is None else "Z" if zone == "Z" else "+00:00"
        return f"{found:%Y-%m-%d}{separator}{found:%H:%M:%S}{(fraction and '.') or ''}{digits}{offset}"

    def _replace_decimal(self, value: Decimal) -> Decimal:
        found = Decimal(self._replace(Decimal, value.normalize() if value else Decimal(0)))
        return found.quantize(Decimal(1).scaleb(int(value.as_tuple().exponent)))

    def _replace(self, kind: type, value: Any) -> Any:
        if self._is_collecting:
            self._known[kind].add(value)
            return value
        return self._map[kind][value]


def _build_uuid(text: str) -> str:
    """Return a UUID with the number of a made-up string; other strings stay."""
    return f"00000000-0000-4000-8000-{int(text[1:]):012d}" if re.fullmatch(r"s\d+", text) else text
