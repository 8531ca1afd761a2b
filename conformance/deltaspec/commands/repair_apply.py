"""`deltaspec repair apply`: the only command that writes into a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from deltaspec.commands.configuration import ConfiguredCommand, get_given_options
from deltaspec.commands.printing import print_text
from deltaspec.commands.startup import choose_allocator, faster_imports, import_arrow_alone
from deltaspec.commands.validate import validate
from deltaspec.exit_codes import ExitCode

if TYPE_CHECKING:
    from deltaspec.repair.apply import Applied
    from deltaspec.repair.plan_format import RepairPlan

_SHARED = ("allow_outside", "writer_time_zone")
_MOST_SHOWN = 20


@click.command(cls=ConfiguredCommand, params=validate.select_options(_SHARED))
@click.argument("plan", type=click.Path(exists=True, file_okay=False), metavar="PLAN")
@click.option("--undo", is_flag=True, help="Undo what was applied, except for the published commit.")
def apply(plan: str, undo: bool, **_: Any) -> None:
    """Apply the repair in the folder PLAN, which `deltaspec repair` wrote. This writes into the table.

    Read PLAN/README.md first, and stop the writers of the table. The table must be as it was when the plan was made:
    same version, same files of the log, same verdict. Otherwise nothing is written, and the exit code is 3.

    Files of the log that are set aside are kept in PLAN/aside. PLAN/journal.jsonl lists every step before it begins: if
    the command is killed, the table can be read, and the same command continues. --undo puts back the files that were
    set aside. A published commit stays, because readers may have read it.

    Afterwards the table is validated again at the level of the plan, and the exit code is as of `deltaspec validate`.
    """
    choose_allocator()
    with faster_imports():
        import_arrow_alone()
        from deltaspec.repair.apply import apply_plan, undo_plan
        from deltaspec.repair.plan_folder import load_plan
        from deltaspec.report.report_types import EXIT_CODES_OF_VERDICTS
        from deltaspec.report.text import escape_text

    loaded = load_plan(plan)
    given = {name: value for name, value in get_given_options().items() if name in (*_SHARED, "config")}
    resolved = validate.resolve_options(given, loaded.plan.table)
    _print_plan(loaded.plan)
    applied = (undo_plan if undo else apply_plan)(
        plan,
        storage=resolved.storage,
        allow_outside=resolved.values["allow_outside"],
        writer_time_zone=resolved.values["writer_time_zone"],
        say=lambda line: print_text(escape_text(line, 1000)),
    )
    _print_verdicts(loaded.plan, applied)
    code = EXIT_CODES_OF_VERDICTS[applied.summary.verdict]
    if code is not ExitCode.OK:
        sys.exit(code)


def _print_plan(plan: RepairPlan) -> None:
    """Print what the plan does to which table, because its README is not compared with it."""
    from deltaspec.report.text import count, escape_text

    print_text(escape_text(f"{plan.table} at version {plan.version}"))
    for each in plan.repairs[:_MOST_SHOWN]:
        rows = [part.rows for part in each.rows]
        number = "an unknown number of rows" if None in rows or not rows else count(sum(filter(None, rows)), "row")
        effect = "" if each.effect == "none" else f" ({number} {each.effect})"
        print_text(escape_text(f"  {each.kind}: {', '.join(each.files[:3])}{effect}", 1000))
    if len(plan.repairs) > _MOST_SHOWN:
        print_text(f"  and {count(len(plan.repairs) - _MOST_SHOWN, 'more repair')}")


def _print_verdicts(plan: RepairPlan, applied: Applied) -> None:
    from deltaspec.repair.verdicts import describe_summary

    print_text(f"planned: from {describe_summary(plan.before)} to {describe_summary(plan.after)}")
    print_text(f"now: {describe_summary(applied.summary)}")
