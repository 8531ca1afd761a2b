"""Estimate how many steps a backtracking engine may need to match a pattern, and how they grow with the string.

Without nested quantifiers there are at most `ways * length ** degree` ways to match. Each quantifier without an upper
bound adds one to the degree, and so does an unanchored start.
"""

from __future__ import annotations

import re

import msgspec

from deltaspec.sql.terms import Undecided

_MAX_UNBOUNDED, _MAX_WILDCARDS = 2, 4
_MAX_WAYS = 4096
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


class PatternCost(msgspec.Struct, frozen=True):
    """Upper bound for the steps on one string: about `ways * length ** degree`."""

    ways: int
    degree: int


def compute_like_cost(pattern: str) -> PatternCost:
    """Return the cost of a LIKE pattern, which engines run as a regular expression.

    Raises `Undecided` if it has too many wildcards.
    """
    wildcards = pattern.count("%")
    if wildcards > _MAX_WILDCARDS:
        raise Undecided(f"a pattern has more than {_MAX_WILDCARDS} wildcards")
    return PatternCost(1, wildcards)


def compute_regex_cost(pattern: str) -> PatternCost:
    """Return the cost of searching a string for a Java regular expression.

    Raises `Undecided` for a repeated group, whose cost has no bound, and for too many quantifiers or alternatives.
    """
    reader = _Reader(pattern)
    reader.read()
    ways, unbounded = reader.ways, reader.unbounded
    if unbounded > _MAX_UNBOUNDED or ways > _MAX_WAYS:
        raise _too_costly()
    is_anchored = pattern.startswith("^") and not reader.has_top_level_choice
    return PatternCost(ways, unbounded + (0 if is_anchored else 1))


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.ways, self.unbounded = 1, 0
        self.has_top_level_choice = False
        self._choices: list[int] = []
        """Number of alternatives of each open group."""

    def read(self) -> None:
        """Count ways and unbounded quantifiers. Raises `Undecided`."""
        position = 0
        previous: str | None = None
        if r"\Q" in self._pattern:
            raise _too_costly()
        while position < len(self._pattern):
            token = _TOKEN.match(self._pattern, position)
            if token is None:
                raise _too_costly()
            position = token.end()
            match kind := token.lastgroup:
                case "members":
                    position = self._find_class_end(position)
                case "opens" if not token[0].endswith(")"):
                    self._choices.append(1)
                case "closes":
                    self.ways *= self._choices.pop() if self._choices else 1
                case "either" if self._choices:
                    self._choices[-1] += 1
                case "either":
                    self.has_top_level_choice = True
                    self.ways += 1
                case "repeats" if previous == "closes":
                    raise _too_costly()
                case "repeats" if previous != "repeats":  # after a quantifier it makes that one lazy or possessive
                    self._repeat(token)
            if self.ways > _MAX_WAYS:
                raise _too_costly()
            previous = kind

    def _repeat(self, token: re.Match[str]) -> None:
        least, more, most = token["least"], token["more"], token["most"]
        if token[0] in "*+" or (more and not most):
            self.unbounded += 1
        elif token[0] == "?":
            self.ways *= 2
        elif most:
            self.ways *= max(int(most) - int(least), 0) + 1

    def _find_class_end(self, position: int) -> int:
        """Return the earliest end of a character class; reading too little as members only raises the cost."""
        while member := _MEMBER.match(self._pattern, position):
            position = member.end()
        return position + 1


def _too_costly() -> Undecided:
    return Undecided("a regular expression may take too long")
