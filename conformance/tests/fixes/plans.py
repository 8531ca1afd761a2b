"""Prove the fixes of class `repair`: plan the repair of each planted table, and record what the plan ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from helpers.drawn_tables import draw_table
from planted_faults.caught_by import CAUGHT_BY

import deltaspec
from deltaspec.errors import TableUnreadable
from deltaspec.repair.plan_format import RepairPlan
from deltaspec.rules import RULES
from deltaspec_generators.table_files import write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS


class PlanOutcome(msgspec.Struct, frozen=True):
    """What a plan does to the findings of a rule in one planted table."""

    rule: str
    table: str
    """Name of a planted fault."""
    outcome: str
    """`conforms`, `conforms after log cleanup`, `refused`, `no finding in this revision` or `not repaired`."""
    kinds: tuple[str, ...] = ()
    """Kinds of the repairs."""
    choices: tuple[str, ...] = ()
    """Choices that were made."""
    reason: str = ""
    """Why it is not repaired."""


def iter_subjects() -> Iterator[tuple[str, str]]:
    """Yield the rules with a case of class `repair`, each with the planted faults that it finds."""
    for name, code in CAUGHT_BY.items():
        if any(case.fix_class == "repair" for case in RULES[code].fix_cases):
            yield code, name


def plan_planted(code: str, name: str, folder: Path) -> PlanOutcome:
    """Plan the repair of a planted table; if that does not end its finding, with the choices that the plan lists."""
    fault = PLANTED_FAULTS[name]
    table = folder / name
    write_table(draw_table(fault), table)
    try:
        plan = deltaspec.plan_repair(str(table), level=fault.level)
        choices = tuple(sorted({_simplify(choice) for each in plan.not_repaired for choice in each.choices}))
        if plan.after.verdict != "conforms" and plan.after_cleanup is None and choices:
            return _judge(code, name, deltaspec.plan_repair(str(table), level=fault.level, choose=choices), choices)
    except TableUnreadable as refusal:
        return PlanOutcome(code, name, "refused", reason=str(refusal).partition(": ")[2])
    return _judge(code, name, plan, ())


def _simplify(choice: str) -> str:
    return "vector=remove-file" if choice.startswith("vector=") else choice


def _judge(code: str, name: str, plan: RepairPlan, choices: tuple[str, ...]) -> PlanOutcome:
    kinds = tuple(sorted({each.kind for each in plan.repairs}))
    if code not in plan.before.violations and not kinds:
        return PlanOutcome(code, name, "no finding in this revision")
    later = plan.after_cleanup
    if plan.after.verdict == "conforms":
        return PlanOutcome(code, name, "conforms", kinds, choices)
    if later is not None and later.verdict == "conforms":
        return PlanOutcome(code, name, "conforms after log cleanup", kinds, choices)
    reason = next((each.reason for each in plan.not_repaired if each.rule == code), "")
    return PlanOutcome(code, name, "not repaired", kinds, choices, reason.replace(name, "t"))


def plan_every_table() -> list[PlanOutcome]:
    """Plan the repair of every planted table, and print the outcomes."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for code, name in iter_subjects():
            outcomes.append(plan_planted(code, name, Path(folder)))
            print(code, name, outcomes[-1].outcome, outcomes[-1].reason, flush=True)
    return outcomes
