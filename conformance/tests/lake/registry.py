"""Faults of tables in a lake, and what `deltaspec validate --level rows` must say about each.

A fault is a function that damages a sound table, which Delta Spark or delta-rs wrote. Its docstring says what happened
to the table. Several decorators register the fault on several tables, or with several options. Several functions may
have the number of one fault.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lake.table import LakeTable

Damage = Callable[[LakeTable], None]
Verdict = Literal["conforms", "violations", "incomplete", "unreadable"]
EXIT_CODES: dict[Verdict, int] = {"conforms": 0, "violations": 1, "unreadable": 2, "incomplete": 3}


@dataclass(frozen=True)
class Fault:
    """A damaged table and the expected report."""

    number: int
    damage: Damage
    title: str
    base: str
    """Name of the sound table in `lake.bases.BASES`."""
    verdict: Verdict
    rules: frozenset[str]
    """Rules with findings; no other rule may find anything."""
    says: tuple[str, ...]
    """Parts of the text report that a reader needs."""
    options: tuple[str, ...]
    """Options of `validate` for the damaged table, in addition to the level."""
    base_options: tuple[str, ...]
    """Options for the sound table."""
    gap: str
    """What the report does not say or decide, and why; empty if nothing."""

    @property
    def name(self) -> str:
        """Unique name: number, function, table and options."""
        return "-".join((f"{self.number:02}", self.damage.__name__, self.base, *self.options))

    @property
    def exit_code(self) -> int:
        """Exit code of the command for the damaged table."""
        return EXIT_CODES[self.verdict]


FAULTS: list[Fault] = []


def fault(
    number: int,
    base: str,
    verdict: Verdict,
    *rules: str,
    says: tuple[str, ...],
    options: tuple[str, ...] = (),
    base_options: tuple[str, ...] | None = None,
    gap: str = "",
) -> Callable[[Damage], Damage]:
    """Register a function as a fault of a table; `base_options` defaults to `options`."""

    def register(damage: Damage) -> Damage:
        title = " ".join((inspect.getdoc(damage) or "").split())
        of_base = options if base_options is None else base_options
        FAULTS.append(Fault(number, damage, title, base, verdict, frozenset(rules), says, options, of_base, gap))
        return damage

    return register
