"""Advice as data: cases with a class and commands, and the steps around every repair.

Reports print what `advise` returns, and the tests execute the commands of the same cases.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import field

from deltaspec.scales import FixClass

DELTA_SPARK, DELTA_RS = "Delta Spark", "delta-rs"
"""Engines whose commands are executed by `nox -s fixes`: SQL statements, and expressions of Python."""
PLAN_COMMAND = "deltaspec repair t --output plan/"
"""Plans the repair of a table; it writes nothing into the table."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PLAIN_VALUE = re.compile(r"\w[\w.\-]*(\(\w*\))?", re.ASCII)
"""Values of a table that a command may contain: names, numbers and calls, without quotes, spaces and operators."""


class FixCase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to do about a finding, for one of its causes."""

    fix_class: FixClass = field(name="class")
    text: str = ""
    """Advice in sentences; next to commands and plans, what else must be known."""
    by_hand: str = ""
    """What can be done instead of a plan, for the class `repair`."""
    condition: str = ""
    """When the case applies, as a clause after `if`; empty if it always does."""
    evidence: str = ""
    """Column of the finding's evidence that decides whether the case applies; empty if the check does not know it."""
    value: str | None = None
    """Value of this column in the case; None for any value but null, false and an empty list."""
    engine: str = ""
    """Engine that executes the commands."""
    commands: tuple[str, ...] = ()
    """What the engine executes. `{t}` is the table, and other names in braces are columns of the evidence. A command is
    executed for each value of a list."""
    loses: str = ""
    """Which rows the commands lose; empty if none."""

    @property
    def advice(self) -> str:
        """The case in sentences, with `t` as the table."""
        action, rest = (self.text, "") if self._executed is None else (f"Run {self._executed}.", self.text)
        by_hand = f"By hand: {_lower(self.by_hand)}" if self.by_hand else ""
        start = f"If {self.condition}: {_lower(action)}" if self.condition else action
        return " ".join(filter(None, (start, rest, by_hand)))

    @property
    def _executed(self) -> str | None:
        """What the advice says to execute, as part of a sentence; None if it is not a command."""
        if self.commands:
            shown = ", then ".join(f"`{_PLACEHOLDER.sub(_show_placeholder, each)}`" for each in self.commands)
            return f"{shown} in {self.engine}"
        return f"`{PLAN_COMMAND}`, and review the plan and its choices" if self.fix_class == "repair" else None

    def applies_to(self, evidence: Mapping[str, Any]) -> bool:
        """Return whether the evidence of a finding shows that this case applies."""
        found = evidence.get(self.evidence) if self.evidence else None
        return bool(found) if self.value is None else found == self.value


Fix = tuple[FixCase, ...]
"""The cases of a rule. The first is the most frequent one."""


def advise(cases: Iterable[FixCase]) -> str:
    """Return all cases in sentences."""
    return " ".join(case.advice for case in cases)


def select_case(cases: Sequence[FixCase], evidence: Mapping[str, Any]) -> FixCase | None:
    """Return the case of a finding: the only one, or the first that its evidence shows; None if nothing decides."""
    return cases[0] if len(cases) == 1 else next((case for case in cases if case.applies_to(evidence)), None)


def fill_commands(case: FixCase, table: str, evidence: Mapping[str, Any]) -> list[str]:
    """Return the commands of a case for a finding.

    The list is empty if a value is unknown, or if it has characters that could change the meaning of a command.

    Args:
        case: the case.
        table: path or URI of the table.
        evidence: of the finding.
    """
    filled = []
    for command in case.commands:
        names = set(_PLACEHOLDER.findall(command)) - {"t"}
        lists = {name: _list_values(evidence.get(name)) for name in names}
        if not all(lists.values()) or not all(map(_PLAIN_VALUE.fullmatch, chain.from_iterable(lists.values()))):
            return []
        name_of_table = repr(table) if case.engine == DELTA_RS else f"delta.`{table.replace('`', '``')}`"
        for number in range(max(map(len, lists.values()), default=1)):
            values = {name: each[min(number, len(each) - 1)] for name, each in lists.items()} | {"t": name_of_table}
            filled.append(_PLACEHOLDER.sub(lambda match, values=values: values[match[1]], command))  # type: ignore[misc]
    return filled


def _list_values(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _show_placeholder(match: re.Match[str]) -> str:
    return "t" if match[1] == "t" else f"<{match[1]}>"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


class Step(msgspec.Struct, frozen=True):
    """A step of every repair."""

    name: str
    """`stop`, `copy`, `look`, `repair` or `validate`."""
    text: str
    command: str = ""
    """Command of the step; `t` is the table."""


def list_steps(rule: str, level: str, advice: str = "Follow the fix of each finding.") -> list[Step]:
    """Return the steps of a repair in their order.

    Args:
        rule: codes of the rules to look at, separated by commas.
        level: level of the validation that found the defect.
        advice: what to do in the step `repair`.
    """
    validate = f"deltaspec validate t --level {level} --history all"
    return [
        Step("stop", "Stop the writer that causes the defect."),
        Step("copy", "Copy the log.", "cp -r t/_delta_log backup"),
        Step("look", "Look at what is affected before you change it.", f"{validate} --select {rule} --samples 1000"),
        Step("repair", advice),
        Step(
            "validate",
            "Validate again. A finding about an older version remains until log cleanup deletes its commit.",
            validate,
        ),
    ]
