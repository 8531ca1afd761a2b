"""Register rules: one Polars expression over one view each, documented by its docstring.

The first line of the docstring is the message of a finding. The next paragraph says why it matters, and the paragraph
that begins with `Fix (class):` how to repair it, unless `rules/fixes.py` or `rules/command_fixes.py` has the fix. The
class is a key of `deltaspec.scales.FIX_CLASSES`. The `Conforms::` and `Violates::` blocks
contain example rows of the view, one a line, which are the rule's unit test.
"""

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

import msgspec
import polars as pl

from deltaspec.fix_cases import Fix, FixCase, advise
from deltaspec.requirements import REVISIONS, Requirement, load_requirements
from deltaspec.rules.examples import parse_rows
from deltaspec.rules.harms import HARMS_OF_RULES
from deltaspec.scales import LEVELS, FixClass, Harm, Level, Severity
from deltaspec.views.base import View

_SEVERITY_OF_STRENGTH: dict[str, Severity] = {"must": "violation", "is": "violation", "should": "warning"}
_FIX = re.compile(r"^Fix \((\w+)\):", re.MULTILINE)


class Rule(msgspec.Struct, frozen=True, dict=True):
    """A check: the rows of `view` for which `expression` is true are findings."""

    code: str
    name: str
    requires: tuple[str, ...]
    view: View
    undecided: str | None
    """Why a row with a null result is not checked; None if the rule does not apply to such a row."""
    divergence: str | None
    """Number of the erratum or silent point (`E..`, `S..`) that the protocol leaves undecided; otherwise None."""
    expression: Callable[[], pl.Expr]
    since: str = REVISIONS[0]
    """First revision in which the rule applies, even if its requirements apply earlier."""
    until: str = REVISIONS[-1]
    """Last revision in which the rule applies."""
    warning: bool = False
    """Whether findings are warnings although the requirement is a must; its reading gives the reason."""
    shared_fix: Fix | None = None
    """A fix of several rules or with several cases; None if the docstring has it."""
    without_feature: bool = False
    """Whether it can be the only rule that a table without the feature of its requirements violates."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a rule as its code, because functions of the package need not be sent."""
        return _load_rule, (self.code,)

    @property
    def prefix(self) -> str:
        """Letters of the code: a key of `deltaspec.rules.prefixes.PREFIXES`."""
        return self.code.rstrip("0123456789")

    @property
    def requirement(self) -> Requirement:
        """The requirement that findings cite in the newest revision in which the rule applies."""
        return self.requirement_in(self.revisions[-1])

    def requirement_in(self, revision: str) -> Requirement:
        """Return the requirement that findings cite in a revision: the first that applies in it.

        Raises:
            KeyError: the rule does not apply in that revision.
        """
        if revision not in self.revisions:
            raise KeyError(f"{self.code} does not apply in {revision}")
        return next(each for each in self._required if revision in each.revisions)

    @property
    def severity(self) -> Severity:
        """Severity of findings in the newest revision in which the rule applies."""
        return self.severity_in(self.revisions[-1])

    def severity_in(self, revision: str) -> Severity:
        """Return the severity of findings in a revision, by the strength of the requirement; `divergence` if undecided."""
        if self.divergence is not None:
            return "divergence"
        if self.warning:
            return "warning"
        return _SEVERITY_OF_STRENGTH[self.requirement_in(revision).strength]

    @property
    def harm(self) -> Harm:
        """What its defects do to the users of a table."""
        return HARMS_OF_RULES.get(self.code, "format")

    @cached_property
    def level(self) -> Level:
        """Level of the files that must be read: the highest of the view and the columns that the rule reads."""
        return max((self.view.level, *(self.view.columns[name].level for name in self.reads)), key=LEVELS.index)

    @cached_property
    def needs_clock(self) -> bool:
        """Whether the rule reads a column that depends on the current time."""
        return any(self.view.columns[name].needs_clock for name in self.reads)

    @cached_property
    def revisions(self) -> tuple[str, ...]:
        """Revisions from `since` to `until` in which at least one of the requirements applies."""
        of_requirements = {revision for each in self._required for revision in each.revisions}
        of_rule = REVISIONS[REVISIONS.index(self.since) : REVISIONS.index(self.until) + 1]
        return tuple(revision for revision in of_rule if revision in of_requirements)

    @property
    def _required(self) -> list[Requirement]:
        return [load_requirements()[name] for name in self.requires]

    @cached_property
    def message(self) -> str:
        """Message of a finding, in one sentence: the first line of the docstring."""
        return (self.expression.__doc__ or "").lstrip().partition("\n")[0].rstrip()

    @property
    def why(self) -> str:
        return self._parts[0]

    @cached_property
    def fix_cases(self) -> Fix:
        """What to do about a finding, for each of its causes. The first case is the most frequent one."""
        fix_class, text = cast(FixClass, self._parts[1]), self._parts[2]
        is_plan = fix_class == "repair"
        own = FixCase(fix_class=fix_class, text="" if is_plan else text, by_hand=text if is_plan else "")
        return self.shared_fix or (own,)

    @property
    def fix_class(self) -> FixClass:
        """Class of the most frequent case."""
        return self.fix_cases[0].fix_class

    @property
    def fix(self) -> str:
        """All cases in sentences."""
        return advise(self.fix_cases)

    @property
    def conforms(self) -> list[dict[str, Any]]:
        """Example rows without a finding."""
        return parse_rows(self._parts[3])

    @property
    def violates(self) -> list[dict[str, Any]]:
        """Example rows that are findings."""
        return parse_rows(self._parts[4])

    @cached_property
    def built_expression(self) -> pl.Expr:
        """The expression, built once."""
        return self.expression()

    @cached_property
    def answer(self) -> pl.Expr:
        """The expression as a column that has the code as its name."""
        return self.built_expression.alias(self.code)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Columns of the view that the expression reads, in the view's order."""
        used = set(self.built_expression.meta.root_names())
        return tuple(name for name in self.view.columns if name in used)

    @cached_property
    def decided_by(self) -> frozenset[str]:
        """Kinds of actions up to the version of a row that decide it, as the view and its columns say."""
        return self.view.decided_by.union(*(self.view.columns[name].decided_by for name in self.reads))

    @cached_property
    def _parts(self) -> tuple[str, str, str, str, str]:
        """Return the rest of the docstring: why it matters, class and text of the fix, and the blocks of examples."""
        text, _, violating = (inspect.getdoc(self.expression) or "").partition("Violates::")
        text, _, conforming = text.partition("Conforms::")
        why, fix_class, fix = (*_FIX.split(text.strip().partition("\n")[2], maxsplit=1), "", "")[:3]
        return " ".join(why.split()), fix_class, " ".join(fix.split()), conforming, violating


def _load_rule(code: str) -> Rule:
    """Return a rule while unpickling. Importing this module imports the package first, which registers all rules."""
    return RULES[code]


RULES: dict[str, Rule] = {}
"""All rules by code, in the order of registration. Importing `deltaspec.rules` fills it."""


def rule(
    code: str,
    *,
    requires: str | tuple[str, ...],
    view: View,
    undecided: str | None = None,
    divergence: str | None = None,
    since: str = REVISIONS[0],
    until: str = REVISIONS[-1],
    warning: bool = False,
    without_feature: bool = False,
    fix: Fix | None = None,
) -> Callable[[Callable[[], pl.Expr]], Callable[[], pl.Expr]]:
    """Register a function that returns the expression of a rule; its name becomes the name of the rule.

    Args:
        code: prefix of the module in `deltaspec.rules.prefixes`, and a number that was never used before.
        requires: ids of the requirements that it checks, the most important first.
        view: the view whose rows it checks.
        undecided: why a row with a null result is not checked; None if the rule does not apply to such a row.
        divergence: number of the erratum or silent point that the protocol leaves undecided.
        since: first revision in which it applies, if later than its requirements.
        until: last revision in which it applies, if earlier than its requirements.
        warning: findings are warnings although the requirement is a must; its reading gives the reason.
        without_feature: it can be the only rule that a table without the feature of its requirements violates, mostly
            because it forbids the use of the feature there.
        fix: constant of `deltaspec.rules.fixes` or `command_fixes`, if several rules share the fix, or if it has several
            cases or commands; then the docstring has none.
    """

    def register(expression: Callable[[], pl.Expr]) -> Callable[[], pl.Expr]:
        if code in RULES:
            raise ValueError(f"rule {code} is registered twice")
        RULES[code] = Rule(
            code=code,
            name=expression.__name__.replace("_", "-"),
            requires=(requires,) if isinstance(requires, str) else requires,
            view=view,
            undecided=undecided,
            divergence=divergence,
            expression=expression,
            since=since,
            until=until,
            warning=warning,
            without_feature=without_feature,
            shared_fix=fix,
        )
        return expression

    return register
