"""Rules: one expression over one view, and everything that the kit says about it in its docstring.

The docstring's first line is the message of a finding, its further paragraphs say why it matters and how to mend it
(a paragraph that begins with `Fix:`), and its `Conforms::` and `Violates::` blocks hold example rows of the view,
one a line, which are the rule's unit test.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from deltaspec.requirements import REVISIONS, Requirement, requirements
from deltaspec.rules.examples import parse_rows
from deltaspec.views.base import LEVELS, Level, View

Severity = Literal["violation", "warning", "divergence"]
_SEVERITY_OF_LEVEL: dict[str, Severity] = {"must": "violation", "is": "violation", "should": "warning"}


@dataclass(frozen=True)
class Rule:
    """One check: the rows of `view` for which `expression` is true are findings."""

    code: str
    name: str
    requires: tuple[str, ...]
    view: View
    null: Literal["not applicable", "not checked"]
    """What a null result means; a null never passes for false silently."""
    divergence: str | None
    """Number of the erratum or silent point (`E..`, `S..`), where the text does not decide."""
    expression: Callable[[], pl.Expr]
    doc: str
    since: str = REVISIONS[0]
    """First revision it is asked in, where its requirements hold earlier too."""
    until: str = REVISIONS[-1]
    """Last revision it is asked in."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent elsewhere, a rule is its code: what it does stands in the package."""
        return _known_rule, (self.code,)

    @property
    def requirement(self) -> Requirement:
        """The requirement that a finding cites first in the newest revision the rule is asked in."""
        return self.requirement_in(self.revisions[-1])

    def requirement_in(self, revision: str) -> Requirement:
        """The requirement that a finding cites when a table is judged by a revision: the first that holds there.

        Raises:
            KeyError: the rule is not asked in that revision.
        """
        if revision not in self.revisions:
            raise KeyError(f"{self.code} is not asked in {revision}")
        return next(each for each in self._required if revision in each.revisions)

    @property
    def severity(self) -> Severity:
        """That of its findings in the newest revision the rule is asked in."""
        return self.severity_in(self.revisions[-1])

    def severity_in(self, revision: str) -> Severity:
        """Divergence where the text is silent; otherwise by the level of the requirement in a revision."""
        if self.divergence is not None:
            return "divergence"
        return _SEVERITY_OF_LEVEL[self.requirement_in(revision).level]

    @cached_property
    def level(self) -> Level:
        """What has to be opened to decide it: the most that its view or a column it reads needs."""
        return max((self.view.level, *(self.view.columns[name].level for name in self.reads)), key=LEVELS.index)

    @cached_property
    def needs_clock(self) -> bool:
        """Whether it looks at what only a clock can tell."""
        return any(self.view.columns[name].needs_clock for name in self.reads)

    @cached_property
    def revisions(self) -> tuple[str, ...]:
        """Revisions it is asked in: from `since` to `until`, where at least one of its requirements holds."""
        held = {revision for each in self._required for revision in each.revisions}
        asked = REVISIONS[REVISIONS.index(self.since) : REVISIONS.index(self.until) + 1]
        return tuple(revision for revision in asked if revision in held)

    @property
    def _required(self) -> list[Requirement]:
        return [requirements()[name] for name in self.requires]

    @property
    def message(self) -> str:
        """What is wrong, in one sentence."""
        return self._parts[0]

    @property
    def why(self) -> str:
        return self._parts[1]

    @property
    def fix(self) -> str:
        return self._parts[2]

    @property
    def conforms(self) -> list[dict[str, Any]]:
        """Example rows without a finding."""
        return parse_rows(self._parts[3])

    @property
    def violates(self) -> list[dict[str, Any]]:
        """Example rows of which each is a finding."""
        return parse_rows(self._parts[4])

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Columns of the view that the expression looks at, in the view's order."""
        used = set(self.expression().meta.root_names())
        return tuple(name for name in self.view.columns if name in used)

    @cached_property
    def _parts(self) -> tuple[str, str, str, str, str]:
        text, _, violating = self.doc.partition("Violates::")
        text, _, conforming = text.partition("Conforms::")
        first, _, rest = text.strip().partition("\n")
        why, _, fix = rest.partition("Fix:")
        return first.strip(), " ".join(why.split()), " ".join(fix.split()), conforming, violating


def _known_rule(code: str) -> Rule:
    """The rule of a code, where rules were perhaps not imported before."""
    import deltaspec.rules  # noqa: F401

    return RULES[code]


RULES: dict[str, Rule] = {}
"""Every registered rule by code, in the order of registration. Filled when `deltaspec.rules` is imported."""


def rule(
    code: str,
    *,
    requires: str | tuple[str, ...],
    view: View,
    null: Literal["not applicable", "not checked"] = "not applicable",
    divergence: str | None = None,
    since: str = REVISIONS[0],
    until: str = REVISIONS[-1],
) -> Callable[[Callable[[], pl.Expr]], Callable[[], pl.Expr]]:
    """Register an expression as a rule; the function's name says what is wrong.

    Args:
        code: chapter prefix and number, never reused.
        requires: ids of the requirements it checks, the one that owns it first.
        view: the relation it is written over.
        null: what a null result means.
        divergence: erratum or silent point, where the text does not decide.
        since: first revision it is asked in, where its requirements hold earlier too.
        until: last revision it is asked in, where they hold later too.
    """

    def register(expression: Callable[[], pl.Expr]) -> Callable[[], pl.Expr]:
        if code in RULES:
            raise ValueError(f"rule {code} stands twice")
        RULES[code] = Rule(
            code=code,
            name=expression.__name__.replace("_", "-"),
            requires=(requires,) if isinstance(requires, str) else requires,
            view=view,
            null=null,
            divergence=divergence,
            expression=expression,
            doc=inspect.getdoc(expression) or "",
            since=since,
            until=until,
        )
        return expression

    return register
