"""`deltaspec baseline`: files with the findings that are known."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from deltaspec.commands.configuration import ConfiguredCommand, get_given_options, load_configuration
from deltaspec.commands.printing import print_text
from deltaspec.commands.startup import choose_allocator
from deltaspec.commands.validate import validate
from deltaspec.commands.validate_request import run_command
from deltaspec.errors import StorageUnavailable, TableUnreadable

if TYPE_CHECKING:
    from deltaspec.report.report_types import Report
    from deltaspec.validation.acceptance import RecordedFindings
    from deltaspec.validation.baseline import KnownFinding

_SHARED = ("level", "history", "revision", "clock", "select", "ignore", "allow_outside", "writer_time_zone", "backend")
_OPTIONS = validate.select_options(_SHARED)


@click.group()
def baseline() -> None:
    """Create, update and show baselines: JSON files with known findings.

    `deltaspec validate --baseline FILE` accepts the findings in FILE. A finding is known by its fingerprint: rule, data
    file or column, and what is wrong, but neither version nor line. So it stays known if commits are added, rewritten
    or cleaned up, or checkpoints are written. Paths of tables are relative to FILE.
    """


@baseline.command("update", cls=ConfiguredCommand, params=list(_OPTIONS))
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
def update(file: str, tables: tuple[str, ...], **_: Any) -> None:
    """Validate each TABLE, and write the findings into the baseline FILE.

    Entries of FILE for other tables, or for rules that this run did not decide completely, do not change.
    Findings that [[accept]] of a configuration file accepts are left out.
    """
    _update(file, tables, _read(file) if os.path.exists(file) else [], adds=True)


@baseline.command("prune", cls=ConfiguredCommand, params=list(_OPTIONS))
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
def prune(file: str, tables: tuple[str, ...], **_: Any) -> None:
    """Validate each TABLE, and remove from the baseline FILE the findings that are gone. Nothing is added.

    Use the same options as the runs with this baseline: a shorter --history finds fewer findings. Findings of
    rules that this run did not decide completely are not removed.
    """
    _update(file, tables, _read(file), adds=False)


@baseline.command()
@click.argument("file", type=click.Path(dir_okay=False))
def show(file: str) -> None:
    """Show the findings in the baseline FILE, by table and rule. FILE has a line for each different finding."""
    from deltaspec.report.text import count, escape_text
    from deltaspec.rules import RULES

    findings, lines = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for each in _read(file):
        findings[each.table, each.rule] += each.count
        lines[each.table, each.rule] += 1
    for table in sorted({table for table, _ in findings}):
        print_text(escape_text(table))
        for (_, rule), number in sorted(item for item in findings.items() if item[0][0] == table):
            name = f" {RULES[rule].name}" if rule in RULES else ""
            print_text(escape_text(f"  {rule}{name}: {count(number, 'finding')}, {lines[table, rule]:,} different"))
    print_text(f"{count(findings.total(), 'finding')} of {count(len({table for table, _ in findings}), 'table')}")


def _read(file: str) -> list[KnownFinding]:
    from deltaspec.validation.baseline import read_baseline

    return read_baseline(file)


def _update(file: str, tables: tuple[str, ...], known: list[KnownFinding], *, adds: bool) -> None:
    """Validate the tables, and write the baseline when all have been validated."""
    from deltaspec.report.text import count, escape_text
    from deltaspec.validation.baseline import build_table_key, update_findings, write_baseline
    from deltaspec.validation.output_location import require_outside_table

    choose_allocator()
    require_outside_table(file, None)
    given = get_given_options()
    lines = []
    for location in _list_locations(tables, given):
        report, recorded = _validate(location, given)
        table = build_table_key(recorded.table_root, file)
        before = sum(each.count for each in known if each.table == table)
        known = update_findings(known, table, recorded.findings, report.checked.decided_rules, adds=adds)
        after = sum(each.count for each in known if each.table == table)
        line = f"{table}: {count(after, 'finding')}, before {before:,}"
        if undecided := len(report.checked.undecided_rules):
            line += f"; {count(undecided, 'rule')} not completely checked"
        lines.append(escape_text(line))
    write_baseline(file, known)
    for line in lines:
        print_text(line)


def _list_locations(tables: tuple[str, ...], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the location of each table; for a glob, the locations of all matching tables.

    Raises:
        TableUnreadable: a glob matches no table, or a folder cannot be searched.
    """
    from deltaspec.commands.table_locations import find_locations
    from deltaspec.wire.storage.settings import StorageSettings

    def get_storage(location: str) -> StorageSettings:
        configuration = load_configuration(given.get("config"), location, validate.configurable_options)
        return StorageSettings(configuration.storage_options)

    for each in find_locations(tables, get_storage, None):
        if not isinstance(each, str):
            error = StorageUnavailable if each.is_outage else TableUnreadable
            raise error(f"{each.location}: {each.reason}")
        yield each


def _validate(table: str, given: Mapping[str, Any]) -> tuple[Report, RecordedFindings]:
    """Validate a table as `deltaspec validate` does with the same options and configuration."""
    from deltaspec.validation.acceptance import RecordedFindings
    from deltaspec.validation.options import OptionArguments, Options
    from deltaspec.validation.request import ValidateRequest

    shared = {name: value for name, value in given.items() if name in (*_SHARED, "config")}
    resolved = validate.resolve_options(shared, table)
    chosen = {name: resolved.values[name] for name in OptionArguments.__annotations__}
    options = Options.create(**{**chosen, "select": chosen["select"] or None, "samples": 1, "baseline": None})
    recorded = RecordedFindings()
    request = ValidateRequest(
        table=table, options=options, backend=resolved.values["backend"], storage=resolved.storage
    )
    return run_command(request, recorded=recorded).report, recorded
