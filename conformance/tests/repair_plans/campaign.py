"""Damage drawn tables at random, plan the repair of each, and write the outcomes into `reports/repairs.md`.

Run `nox -s repairs`, or `python -m repair_plans.campaign` in conformance/tests.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace
from repair_plans.applied import apply_by_hand
from repair_plans.damages import draw_damage

import deltaspec
from deltaspec.errors import TableUnreadable
from deltaspec.repair.plan_format import RepairPlan
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.table_files import write_table
from deltaspec_generators.tables.corpus import draw_options, draw_table

PAGE = Path(__file__).parents[3] / "reports/repairs.md"
COUNT = 1000
OUTCOMES = (
    "conforms",
    "conforms with a choice",
    "improved; the rest is not repairable",
    "not repairable",
    "refused or unreadable",
    "no damage shows",
    "defect",
)


class Outcome(msgspec.Struct, frozen=True):
    """What came of one damage."""

    seed: int
    damage: str
    done: str
    outcome: str
    reasons: tuple[str, ...] = ()
    """Why findings are not repaired, each once."""
    kinds: tuple[str, ...] = ()
    """Kinds of the repairs."""


def run_trial(seed: int, folder: Path) -> Outcome:
    """Draw a table, damage it, and plan its repair. A plan is applied, and the table must have the planned verdict."""
    table = folder / "table"
    choices = SeededChoices(seed, 0)
    options = replace(draw_options(choices), endings=False)  # files elsewhere would not be read
    write_table(draw_table(choices, options).files, table)
    damage, done = draw_damage(table, seed)
    before = _digest(table)
    try:
        plan, chosen = _plan(table, folder)
        assert _digest(table) == before, "planning changed the table"
        _check_plan(table, plan, folder)
    except TableUnreadable as fault:
        return Outcome(seed, damage, done, "refused or unreadable", (_generalize(str(fault)),))
    except Exception:  # noqa: BLE001 - a defect is an outcome
        return Outcome(seed, damage, done, "defect", (traceback.format_exc(limit=-4),))
    reasons = tuple(sorted({_generalize(each.reason) for each in plan.not_repaired}))
    kinds = tuple(sorted({each.kind for each in plan.repairs}))
    return Outcome(seed, damage, done, _judge(plan, chosen=chosen), reasons, kinds)


def _plan(table: Path, folder: Path) -> tuple[RepairPlan, bool]:
    """Return the plan of a table; if something needs a choice, the plan with the choices that it lists."""
    output = folder / "plan"
    plan = deltaspec.plan_repair(str(table), output=str(output))
    choices = sorted({_simplify(choice) for each in plan.not_repaired for choice in each.choices})
    if not choices or plan.after.verdict == "conforms":
        return plan, False
    if any(each.startswith("version=") for each in choices):
        choices = [each for each in choices if each.startswith("version=")]
    shutil.rmtree(output, ignore_errors=True)
    return deltaspec.plan_repair(str(table), output=str(output), choose=choices), True


def _simplify(choice: str) -> str:
    return "vector=drop-vector" if choice.startswith("vector=") else choice


def _check_plan(table: Path, plan: RepairPlan, folder: Path) -> None:
    """Check that every violation is repaired or has a reason, and that the plan does what it says."""
    if plan.after.verdict != "conforms":
        assert plan.not_repaired, "the verdict is not conforms, and nothing is listed as not repaired"
    assert [each for each in plan.not_repaired if not each.reason] == []
    if not plan.repairs:
        assert plan.after == plan.before
        return
    assert apply_by_hand(table, folder / "plan") == plan
    report = deltaspec.validate(str(table), level="rows")
    assert (report.verdict, report.counts["violation"]) == (plan.after.verdict, sum(plan.after.violations.values()))


def _judge(plan: RepairPlan, *, chosen: bool) -> str:
    if plan.before.verdict == "conforms":
        return "no damage shows"
    if not plan.repairs:
        return "not repairable"
    if plan.after.verdict != "conforms":
        return "improved; the rest is not repairable"
    return "conforms with a choice" if chosen else "conforms"


def _digest(table: Path) -> str:
    files = [(str(path.relative_to(table)), path.read_bytes()) for path in sorted(table.rglob("*")) if path.is_file()]
    return sha256(repr(files).encode()).hexdigest()


def _generalize(reason: str) -> str:
    """Return a reason without names and numbers of one table."""
    words = [_generalize_word(word) for word in reason.split()]
    return " ".join(words)[:160]


def _generalize_word(word: str) -> str:
    plain = word.strip(",.;:()`'")
    if "/" in plain or "." in plain.strip(".") or len(plain) > 30:
        return word.replace(plain, "FILE")
    return word.replace(plain, "N") if plain.isdigit() else word


def run_campaign(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Yield the outcome of each trial."""
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            yield run_trial(seed, Path(folder))


def render_page(outcomes: list[Outcome]) -> str:
    """Return the page in Markdown."""
    lines = [
        "# Repairs of random damage",
        "",
        f"{len(outcomes):,} drawn tables were damaged at random, and `deltaspec repair` planned the repair of each.",
        "Each plan was applied by plain file operations, and `deltaspec validate --level rows` gave the verdict that",
        "the plan states. If something needs a choice, the choices that the plan lists were made.",
        "`nox -s repairs` writes this page.",
        "",
        "| damage | " + " | ".join(OUTCOMES) + " |",
        "|-|" + "-|" * len(OUTCOMES),
    ]
    counts = Counter((each.damage, each.outcome) for each in outcomes)
    for damage in sorted({each.damage for each in outcomes}):
        lines.append(f"| {damage} | " + " | ".join(str(counts[damage, each]) for each in OUTCOMES) + " |")
    totals = Counter(each.outcome for each in outcomes)
    lines.append("| all | " + " | ".join(str(totals[each]) for each in OUTCOMES) + " |")
    lines += ["", "## Repairs", "", "| kind | plans |", "|-|-|"]
    kinds = Counter(kind for each in outcomes for kind in each.kinds)
    lines += [f"| {kind} | {number} |" for kind, number in sorted(kinds.items())]
    lines += [
        "",
        "## Reasons",
        "",
        "Why findings were not repaired, without names and numbers:",
        "",
        "| tables | reason |",
        "|-|-|",
    ]
    reasons = Counter(reason for each in outcomes if each.outcome != "no damage shows" for reason in each.reasons)
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    lines += [f"| {number} | {reason.replace('|', '/').replace('<', '&lt;')} |" for reason, number in ordered]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the campaign, print defects, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print each outcome")
    arguments = parser.parse_args()
    outcomes = []
    for each in run_campaign(range(arguments.first, arguments.first + arguments.count)):
        outcomes.append(each)
        if arguments.show or each.outcome == "defect":
            print(each.seed, each.damage, "|", each.done, "|", each.outcome, "|", each.kinds, *each.reasons, sep="\n  ")
    if arguments.count == COUNT and not arguments.first:
        PAGE.write_text(render_page(outcomes), "utf-8")
    print(Counter(each.outcome for each in outcomes))


if __name__ == "__main__":
    main()
