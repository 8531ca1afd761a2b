"""How much an engine that backtracks may have to try of a pattern: its ways through, and how these grow with the text.

A pattern whose quantifiers are none of another has at most `ways` times the length of the text to the power of `degree`
ways through; each quantifier without an end, and each place where it may begin, adds one to that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltaspec.sql.terms import Undecided

_MOST_ENDLESS, _MOST_WILDCARDS = 2, 4
_MOST_WAYS = 4096
_TOKEN = re.compile(
    r"""(?P<escaped>\\[pP]\{[\w=&]+\}|\\.)
      | (?P<opens>\((?:\?(?:[:=!>]|<[=!]|<\w+>|[idmsu]*(?:-[idmsu]+)?[:)])|(?!\?)))
      | (?P<closes>\))
      | (?P<members>\[)
      | (?P<either>\|)
      | (?P<repeats>[*+?]|\{(?P<least>\d{1,4})(?P<more>,(?P<most>\d{0,4}))?\})
      | (?P<other>[^{(])""",
    re.VERBOSE | re.DOTALL,
)
_MEMBER = re.compile(r"\\.|[^\]]", re.DOTALL)


@dataclass(frozen=True)
class PatternCost:
    """What one text may take: at most `ways * length ** degree` steps, about."""

    ways: int
    degree: int


def compute_like_cost(pattern: str) -> PatternCost:
    """Of LIKE, which engines make a regular expression of. Raises `Undecided` for more wildcards than are taken."""
    wildcards = pattern.count("%")
    if wildcards > _MOST_WILDCARDS:
        raise Undecided(f"a pattern with more than {_MOST_WILDCARDS} wildcards")
    return PatternCost(1, wildcards)


def compute_regex_cost(pattern: str) -> PatternCost:
    """Of a regular expression of Java that is looked for anywhere in a text.

    Groups that are repeated have ways without bound; they raise `Undecided`, as do more quantifiers, and more ways
    to choose, than are taken.
    """
    reader = _Reader(pattern)
    reader.read()
    ways, endless = reader.ways, reader.endless
    if endless > _MOST_ENDLESS or ways > _MOST_WAYS:
        raise _costly()
    is_anchored = pattern.startswith("^") and not reader.has_choice_at_top
    return PatternCost(ways, endless + (0 if is_anchored else 1))


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.ways, self.endless = 1, 0
        self.has_choice_at_top = False
        self._choices: list[int] = []
        """Of the groups that are open."""

    def read(self) -> None:
        """Count; raises `Undecided`."""
        place = 0
        before: str | None = None
        if r"\Q" in self._pattern:
            raise _costly()
        while place < len(self._pattern):
            token = _TOKEN.match(self._pattern, place)
            if token is None:
                raise _costly()
            place = token.end()
            match kind := token.lastgroup:
                case "members":
                    place = self._after_members(place)
                case "opens" if not token[0].endswith(")"):
                    self._choices.append(1)
                case "closes":
                    self.ways *= self._choices.pop() if self._choices else 1
                case "either" if self._choices:
                    self._choices[-1] += 1
                case "either":
                    self.has_choice_at_top = True
                    self.ways += 1
                case "repeats" if before == "closes":
                    raise _costly()
                case "repeats" if before != "repeats":  # after another one it says how that is tried
                    self._repeat(token)
            if self.ways > _MOST_WAYS:
                raise _costly()
            before = kind

    def _repeat(self, token: re.Match[str]) -> None:
        least, more, most = token["least"], token["more"], token["most"]
        if token[0] in "*+" or (more and not most):
            self.endless += 1
        elif token[0] == "?":
            self.ways *= 2
        elif most:
            self.ways *= max(int(most) - int(least), 0) + 1

    def _after_members(self, place: int) -> int:
        """Where a class of characters ends, at the earliest: what is taken for more than a member only counts more."""
        while member := _MEMBER.match(self._pattern, place):
            place = member.end()
        return place + 1


def _costly() -> Undecided:
    return Undecided("a regular expression that may take long")
