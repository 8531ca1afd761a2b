"""`deltaspec repair`: plan the repair of a table."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from deltaspec.commands.completion import complete_table
from deltaspec.commands.configuration import ConfiguredCommand, get_given_options
from deltaspec.commands.printing import print_text
from deltaspec.commands.progress import show_progress
from deltaspec.commands.repair_apply import apply
from deltaspec.commands.startup import choose_allocator, faster_imports, import_arrow_alone
from deltaspec.commands.validate import validate
from deltaspec.exit_codes import ExitCode

if TYPE_CHECKING:
    from deltaspec.repair.plan_format import RepairPlan

_SHARED = ("allow_outside", "writer_time_zone", "max_requests_per_second")
_MOST_SHOWN = 20


class PlanByDefault(click.Group):
    """A group whose first argument may be a table: then `plan` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the group."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["plan", *args]
        return super().parse_args(ctx, args)


@click.group(cls=PlanByDefault)
def repair() -> None:
    """Plan the repair of a table, and prove the plan on a copy of its log in memory.

    `deltaspec repair TABLE --output DIR` is short for `deltaspec repair plan TABLE --output DIR`. For a table whose
    location is the name of a command, write `./plan`.
    """


@repair.command(cls=ConfiguredCommand, params=validate.select_options(_SHARED))
@click.argument("table", shell_complete=complete_table)
@click.option(
    "--output", required=True, type=click.Path(), metavar="DIR", help="Write the plan to this new or empty directory."
)
@click.option(
    "--level",
    type=click.Choice(["log", "files", "footers", "rows"]),
    default="rows",
    show_default=True,
    help="How much of the table is read to find damage and to prove the plan.",
)
@click.option(
    "--choose",
    multiple=True,
    metavar="CHOICE",
    help="What only the owner of the data can decide: vector=remove-file[:PATH], vector=drop-vector[:PATH], "
    "history=set-aside, later=set-aside, version=N.",
)
def plan(table: str, output: str, level: str, choose: tuple[str, ...], **_: Any) -> None:
    """Plan the repair of TABLE. Nothing is written into the table.

    DIR gets `plan.json`, the files to write in `files`, and `README.md` for the person who reviews the plan: what was
    found, what will be written, which rows are lost or come back, and what is not repaired and why.

    The plan is laid over the table and validated at the same level, and rows are compared by file. Repairs that add a
    finding, or change rows without saying so, are dropped. If nothing remains, no plan is written.

    CHOICE is one of these; without it, what needs a choice is listed as not repaired:

    \b
    vector=remove-file  files with a damaged deletion vector are removed
    vector=drop-vector  they are added again without it; deleted rows come back
    history=set-aside   a checkpoint replaces all older files of the log
    later=set-aside     checksums and compactions after the newest commit are set aside
    version=N           a table whose latest version is lost returns to version N

    The exit code has the meaning that it has for `deltaspec validate`, of the table as the plan would leave it.
    """
    choose_allocator()
    with faster_imports():
        import_arrow_alone()
        from deltaspec.repair.planner import plan_repair
        from deltaspec.report.report_types import EXIT_CODES_OF_VERDICTS

    given = {name: value for name, value in get_given_options().items() if name in (*_SHARED, "config")}
    resolved = validate.resolve_options(given, table)
    with show_progress() as progress:
        found = plan_repair(
            resolved.table,
            output=output,
            level=level,
            choose=choose,
            storage_options=resolved.storage,
            progress=progress,
            allow_outside=resolved.values["allow_outside"],
            writer_time_zone=resolved.values["writer_time_zone"],
        )
    _print_plan(found, output)
    code = EXIT_CODES_OF_VERDICTS[found.after.verdict]
    if code is not ExitCode.OK:
        sys.exit(code)


def _print_plan(found: RepairPlan, output: str) -> None:
    """Print what the plan does, and what it does not repair."""
    from deltaspec.report.text import count, escape_text

    print_text(f"{escape_text(found.table)} at version {found.version}: {found.before.verdict}")
    for each in found.repairs[:_MOST_SHOWN]:
        print_text(escape_text(f"  {each.kind}: {each.summary}"))
        for place in each.found_elsewhere:
            print_text(escape_text(f"    it may be at {place}"))
        for note in each.not_searched:
            print_text(escape_text(f"    the search for it is not complete: {note}"))
    if len(found.repairs) > _MOST_SHOWN:
        print_text(f"  and {count(len(found.repairs) - _MOST_SHOWN, 'more repair')}")
    for entry in found.not_repaired[:_MOST_SHOWN]:
        rule = f"{entry.rule} in " if entry.rule else ""
        print_text(escape_text(f"  not repaired: {rule}{entry.location}: {entry.reason}"))
        for choice in entry.choices:
            print_text(escape_text(f"    --choose {quote(choice)}"))
        for place in entry.found_elsewhere:
            print_text(escape_text(f"    the file may be at {place}"))
    if len(found.not_repaired) > _MOST_SHOWN:
        print_text(f"  and {len(found.not_repaired) - _MOST_SHOWN} more that are not repaired")
    if not found.repairs:
        print_text("nothing to repair" if not found.not_repaired else "no plan written: nothing can be repaired")
        return
    print_text(f"after the repair: {found.after.verdict}")
    if found.after_cleanup is not None:
        print_text(f"after log cleanup, which deletes older commits: {found.after_cleanup.verdict}")
    print_text(f"Next  read {quote(output)}/README.md")


repair.add_command(apply)
