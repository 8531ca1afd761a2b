"""The ledger of a run: what could not be decided, and where; bounded, and the same in whatever order it is entered."""

from __future__ import annotations

from collections import Counter, defaultdict

from deltaspec.report.report_types import NotChecked

_PLACES_NAMED = 20
"""Places that the ledger names of one rule; further ones are counted."""

_Place = tuple[str, str | None]
"""A reason, and the file it goes for."""


class Ledger:
    """Reasons by rule: the first places in their order are named, the others counted.

    A reason that goes for no single file is one place, however often it is entered: every share of a table enters it
    anew. Such reasons are few, and all of them are kept.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, set[str]] = defaultdict(set)
        """Those that go for no single file."""
        self._places: dict[str, dict[_Place, int]] = defaultdict(dict)
        """How often each of the others was entered: one that gives way to another is counted as often."""
        self._left_out: Counter[str] = Counter()
        self._lacking: Counter[tuple[str, str]] = Counter()

    @property
    def entries(self) -> list[NotChecked]:
        """What was entered, of each rule the first places and how many more there are."""
        found = []
        for code in sorted({*self._reasons, *self._places}):
            every: dict[_Place, int] = {(reason, None): 1 for reason in self._reasons.get(code, ())}
            every |= self._places.get(code, {})
            places = sorted(every, key=_order)
            found += [NotChecked(rule=code, reason=reason, file=file) for reason, file in places[:_PLACES_NAMED]]
            if more := self._left_out[code] + sum(every[place] for place in places[_PLACES_NAMED:]):
                found.append(NotChecked(rule=code, reason=f"and at {more:,} more places"))
        for (code, view), rows in self._lacking.items():
            found.append(NotChecked(rule=code, reason=f"{rows} rows of {view} lack what the rule looks at"))
        return found

    def add_reason(self, code: str, reason: str, file: str | None, times: int = 1) -> None:
        """Note a place where a rule could not be decided."""
        if file is None:
            self._reasons[code].add(reason)
            return
        places, place = self._places[code], (reason, file)
        places[place] = places.get(place, 0) + times
        if len(places) > _PLACES_NAMED:
            self._left_out[code] += places.pop(max(places, key=_order))

    def add_undecided_rows(self, code: str, view: str, rows: int) -> None:
        """Note rows of a view that lack what a rule looks at."""
        self._lacking[code, view] += rows

    def replace_reasons(self, code: str, reason: str) -> None:
        """Replace all that is known of a rule by one reason."""
        self._reasons[code] = {reason}
        self._places.pop(code, None)
        self._left_out.pop(code, None)
        for each in [key for key in self._lacking if key[0] == code]:
            del self._lacking[each]

    def merge(self, other: Ledger) -> None:
        """Take over what another one holds."""
        for code, reasons in other._reasons.items():
            self._reasons[code] |= reasons
        for code, places in other._places.items():
            for (reason, file), times in places.items():
                self.add_reason(code, reason, file, times)
        self._left_out.update(other._left_out)
        self._lacking.update(other._lacking)


def _order(place: _Place) -> tuple[str, str]:
    reason, file = place
    return file or "", reason
