"""Results of `nox -s fixes`: `reports/fixes.json`, and the page `reports/fixes.md`."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import msgspec
from fixes.plans import PlanOutcome
from fixes.proof import Outcome, iter_command_cases

from deltaspec.rules import RULES
from deltaspec.scales import FIX_CLASSES

REPORTS = Path(__file__).parents[3] / "reports"
RESULTS, PLANS, PAGE = REPORTS / "fixes.json", REPORTS / "planned-fixes.json", REPORTS / "fixes.md"
_HEAD = """# Proved fixes

`nox -s fixes` executes the commands of each fix of class `command` on tables with the defect, and writes this page. A
fix is proved if the engine executes its commands, the finding is gone, no rule finds a new violation, and the rows and
all earlier versions are as before, except for rows that the fix says are lost. A table without data files has its live
files compared. *In the new version* means that the old commit, as long as the log has it, is still reported.

"""


_PLANS_HEAD = """
## Planned repairs

`deltaspec repair` plans the fixes of class `repair`. These are its plans for tables with the defect, with the choices
that a plan lists if nothing else ends the finding. *After log cleanup* means that the state is repaired, and that the
old commit shows the finding until then.
"""


def load_results() -> list[Outcome]:
    """Return the recorded outcomes, in the order of rules, cases and planted faults."""
    return msgspec.json.decode(RESULTS.read_bytes(), type=list[Outcome])


def save_results(outcomes: list[Outcome], *, codes: Collection[str] = ()) -> list[Outcome]:
    """Write the results and the page, and return all results.

    Args:
        outcomes: of this run.
        codes: rules of this run, whose results are replaced; empty for all.
    """
    if codes:
        outcomes = [*(each for each in load_results() if each.rule not in codes), *outcomes]
    outcomes = sorted(outcomes, key=lambda each: (each.rule, each.case, each.table))
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes), indent=1) + b"\n")
    PAGE.write_text(render_page(outcomes, load_plans()), "utf-8")
    return outcomes


def load_plans() -> list[PlanOutcome]:
    """Return the recorded outcomes of plans."""
    return msgspec.json.decode(PLANS.read_bytes(), type=list[PlanOutcome])


def save_plans(outcomes: list[PlanOutcome]) -> None:
    """Write the outcomes of plans, and the page."""
    outcomes = sorted(outcomes, key=lambda each: (each.rule, each.table))
    PLANS.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes), indent=1) + b"\n")
    PAGE.write_text(render_page(load_results(), outcomes), "utf-8")


def list_unproved(outcomes: list[Outcome]) -> list[str]:
    """Return the cases with commands that no run proved, or that a run refuted."""
    known = {(each.rule, each.case): [] for each in outcomes}
    for each in outcomes:
        known[each.rule, each.case].append(each)
    return [
        f"{code} case {number}"
        for code, number, case in iter_command_cases()
        if not (runs := known.get((code, number)))
        or any(each.failure or each.commands != case.commands for each in runs)
    ]


def render_page(outcomes: list[Outcome], plans: list[PlanOutcome]) -> str:
    """Return the page as Markdown: the fixes by class, each run, and each plan."""
    counts = Counter(rule.fix_class for rule in RULES.values())
    lines = ["| class of the most frequent case | rules | |", "|-|-|-|"]
    lines += [f"| `{name}` | {counts[name]} | {meaning} |" for name, meaning in FIX_CLASSES.items()]
    lines += ["", "| rule | class | commands | engine | table | outcome |", "|-|-|-|-|-|-|"]
    lines += [f"| {' | '.join(_list_cells(each))} |" for each in outcomes]
    lines += [_PLANS_HEAD, "| rule | table | choices | repairs | outcome |", "|-|-|-|-|-|"]
    for each in plans:
        choices, kinds = (" ".join(f"`{text}`" for text in texts) for texts in (each.choices, each.kinds))
        reason = f": {each.reason}" if each.reason else ""
        lines.append(f"| {each.rule} | {each.table} | {choices} | {kinds} | {each.outcome}{reason.replace('|', '/')} |")
    return _HEAD + "\n".join(lines) + "\n"


def _list_cells(outcome: Outcome) -> list[str]:
    case = RULES[outcome.rule].fix_cases[outcome.case]
    compared = "no data files" if outcome.rows is None else f"{outcome.rows} rows"
    proved = f"gone {outcome.gone}; {compared}, {outcome.versions} earlier versions as before"
    commands = "<br>".join(f"`{each}`" for each in outcome.commands)
    if case.loses:
        proved += f"; lost: {case.loses}"
    return [
        outcome.rule + (f", if {case.condition}" if case.condition else ""),
        case.fix_class,
        commands,
        f"{outcome.engine} {outcome.version}",
        outcome.table,
        outcome.failure or proved,
    ]
