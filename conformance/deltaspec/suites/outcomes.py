"""Results of cases: the outcome of each question to a candidate."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec


class Outcome(StrEnum):
    """Outcome of a case: passed, failed, refused, not asked, or compared with the known failures."""

    PASSED = "passed"
    FAILED = "failed"
    """A wrong answer, or a refusal where the table must be read."""
    WARNING = "warning"
    """A wrong answer that breaks only what the protocol says an engine *should* do."""
    WEAK = "weak"
    """Refused as required, but for the wrong reason or in the wrong phase."""
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    HARNESS_FAULT = "harness-fault"
    """The candidate broke the candidate protocol."""
    NOT_ASKED = "not-asked"
    """The candidate does not offer it; the message is the reason."""
    EXPECTED_FAILURE = "expected-failure"
    """Listed as a known failure, and failed as listed."""
    UNEXPECTED_PASS = "unexpected-pass"
    """Listed as a known failure, but passed."""
    DRIFT = "drift"
    """Listed as a known failure, but failed in another way."""

    @property
    def is_bad(self) -> bool:
        """Whether a run with such a case fails."""
        return self.has_failed and self is not Outcome.WARNING

    @property
    def has_failed(self) -> bool:
        """Whether the answer was wrong and is not listed; a warning does not make the run fail."""
        return self not in (Outcome.PASSED, Outcome.NOT_ASKED, Outcome.EXPECTED_FAILURE)


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wrong with an answer, in words that are the same for every table that shows it."""

    title: str
    """One line without names of files, columns and values, and without counts."""
    breaks: tuple[str, ...] = ()
    """Requirements that the engine breaks, the most specific first; empty if the answer does not show them."""
    types: tuple[str, ...] = ()
    """Delta types of the values that are wrong."""


FILE_TIMES = Cause("file times are used instead of in-commit timestamps", ("in-commit-timestamp.used-for-time-travel",))


class CaseResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The result of one case, with everything needed to understand a failure and run it again."""

    case: str
    """`check/table`, the id for `deltaspec replay`."""
    suite: str
    check: str
    table: str
    outcome: Outcome
    seconds: float
    message: str = ""
    """Description of the failure, or why the case was not asked; the first line is short."""
    causes: tuple[Cause, ...] = ()
    """What may be wrong, the most specific first, if the case failed."""
    requirements: tuple[str, ...] = ()
    """Requirements that the check tests on this table, if the case failed."""
    features: tuple[str, ...] = ()
    """Reader features of the table."""
    history: tuple[str, ...] = ()
    """Operations that produced the table, if the case failed."""
    counts: dict[str, int] = {}
    known_failure: str = ""
    """The entry of the known failures that matches."""
    known_link: str = ""
    """Where that entry is described: a URL, or a path in the repository."""
    found: Outcome | None = None
    """Actual outcome of the case, if `outcome` is drift or an expected failure."""

    @property
    def golden_chapter(self) -> str:
        """Chapter of a golden case, or an empty text."""
        kind, _, name = self.table.partition(".")
        return name.partition(".")[0] if kind == "golden" else ""

    @property
    def signature(self) -> str:
        """The kind of failure: the first line of the message without numbers, names and values."""
        return build_signature(self.message)


_VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|(?:/[\w.%+=-]+){2,}|@[0-9a-f]{5,8}\b|\d+")
"""Quoted text, paths, hash codes of Java objects and numbers: parts that differ between cases with one cause."""


_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
"""Characters with a meaning in regular expressions. `re.escape` would also escape blanks and hyphens."""


def build_signature(message: str) -> str:
    """Return the first line of a message with its variable parts replaced."""
    return _VARIABLE.sub("…", message.partition("\n")[0])[:200]


def build_pattern(message: str) -> str:
    """Return a regular expression for messages with this signature, without quotation marks."""
    parts = [_SPECIAL.sub(r"\\\g<0>", part) for part in build_signature(message).split("…")]
    return ".*".join(parts).replace("'", ".").replace('"', ".")


def count_outcomes(results: Sequence[CaseResult]) -> dict[str, dict[str, int]]:
    """Count the outcomes of each suite; outcomes in the order of `Outcome`."""
    found: dict[str, dict[str, int]] = {}
    for each in results:
        counts = found.setdefault(each.suite, {})
        counts[each.outcome.value] = counts.get(each.outcome.value, 0) + 1
    order = [each.value for each in Outcome]
    return {
        suite: dict(sorted(counts.items(), key=lambda item: order.index(item[0]))) for suite, counts in found.items()
    }


def to_json(value: Any) -> str:
    """Encode a result as one line of JSON."""
    return msgspec.json.encode(value).decode()
