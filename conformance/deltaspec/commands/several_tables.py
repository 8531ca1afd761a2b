"""`deltaspec validate` with several tables: a request for each, and a summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from itertools import chain
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from deltaspec.commands.configuration import load_configuration
from deltaspec.commands.joined_reports import (
    JoinedReport,
    plan_joined_report,
    plan_notifications,
    write_joined_reports,
)
from deltaspec.commands.printing import print_text, write_text_or_json
from deltaspec.commands.progress import show_progress
from deltaspec.commands.several_estimates import estimate_tables
from deltaspec.commands.table_names import build_table_name, expand_report
from deltaspec.commands.table_outputs import PLACES, expand_places, prepare_outputs
from deltaspec.errors import InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import Terminated, make_waits_interruptible
from deltaspec.version import __version__

if TYPE_CHECKING:
    from deltaspec.commands.configuration import ValidateCommand
    from deltaspec.commands.outages import Outages
    from deltaspec.commands.table_workers import TableTask
    from deltaspec.many_tables.runs import TableRun
    from deltaspec.report.tables_summary import TablesSummary
    from deltaspec.wire.storage.settings import StorageSettings
    from deltaspec.wire.storage.table_search import Unsearched

_OF_SUMMARY = frozenset({"tables_from", "jobs", "output_format", "output", "color", "quiet", "notify", "notify_state"})
"""Parameters that concern the summary, not the run of a table."""
_SUMMARY_FORMATS = ("text", "json")


def validate_tables(command: ValidateCommand, named: Sequence[str], given: Mapping[str, Any]) -> int:
    """Validate several tables, and print the reports of tables that do not conform and a summary.

    Args:
        command: resolves the options of each table, because sections of the configuration file may apply to some.
        named: locations, globs and names, as the user gave them.
        given: options of the command line, by parameter, as text.

    Returns:
        The exit code of the worst table.

    Raises:
        InvalidUsage: an option would fail with every table; or, after the summary, a report of all tables cannot be
        written. TableUnreadable: a single location is named, and it has no table.
    """
    from deltaspec.commands.outages import Outages
    from deltaspec.commands.table_workers import run_in_workers
    from deltaspec.many_tables.runs import describe_unsearched
    from deltaspec.report.tables_summary import TABLES_VERSION, TableResult, TablesSummary

    started = time.monotonic()
    options = command.resolve_options(given, None).values
    jobs = options["jobs"]
    _check_options(options)
    if options["estimates"]:
        locations, unsearched = _find_tables(command, named, given, None)
        resolve = partial(command.resolve_options, _select_table_options(given))
        return estimate_tables(locations, unsearched, resolve, options)
    with _open_session(options["backend"]) as session, TemporaryDirectory(prefix="deltaspec-reports-") as scratch:
        locations, unsearched = _find_tables(command, named, given, session)
        shared = {"color": options["color"], "max_requests_per_second": divide_limit(options, jobs)}
        tasks, joined = _plan_tables(locations, given, shared, scratch, partial(_get_storage, command, given))
        not_run = (TableResult(table=each.table, verdict="not run", exit_code=ExitCode.INCOMPLETE) for each in tasks)
        results = dict(enumerate(not_run))
        exit_code = None
        outages = Outages()
        runs = run_in_workers(tasks, jobs, outages) if session is None else _run_on_spark(session, tasks, jobs, outages)
        try:
            with closing(runs):
                for number, run in _print_in_order(runs, options, len(tasks)):
                    results[number] = run.result
        except (KeyboardInterrupt, Terminated) as end:
            is_interrupt = isinstance(end, KeyboardInterrupt)
            exit_code = ExitCode.INTERRUPTED if is_interrupt else ExitCode.TERMINATED
            click.echo(f"deltaspec: {'interrupted' if is_interrupt else 'terminated'}", err=True)
        found = [*results.values(), *map(describe_unsearched, unsearched)]
        faults = write_joined_reports(joined, found)
    summary = TablesSummary(
        tables_version=TABLES_VERSION,
        deltaspec=__version__,
        exit_code=ExitCode.find_worst(each.exit_code for each in found) if exit_code is None else exit_code,
        seconds=round(time.monotonic() - started, 3),
        notes=outages.describe(),
        tables=found,
    )
    _write_summary(summary, options)
    if faults:
        raise faults[0]
    return summary.exit_code


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise `InvalidUsage` for options that would fail with every table."""
    from deltaspec.commands.report_formats import require_format
    from deltaspec.validation.options import OptionArguments, Options
    from deltaspec.validation.stopping import parse_budget

    if options["quiet"] and options["verbose"]:
        raise InvalidUsage("--verbose cannot be combined with --quiet")
    if options["estimates"] and options["reports"]:
        raise InvalidUsage("--estimate cannot be combined with --report; use --format and --output")
    if options["estimates"] and options["catalog_commits"]:
        raise InvalidUsage("--estimate cannot be combined with --catalog-commits")
    if options["estimates"] and options["catalog"]:
        raise InvalidUsage("--estimate cannot be combined with --catalog")
    if options["output_format"] not in _SUMMARY_FORMATS:
        name = options["output_format"]
        raise InvalidUsage(
            f"the summary of several tables supports only: {', '.join(_SUMMARY_FORMATS)}; "
            f"for a report of each table write --report {name}:DIRECTORY/"
        )
    for each in options["reports"]:
        require_format(each.partition(":")[0])
    parse_budget(options["budget"])
    given = {name: options[name] for name in OptionArguments.__annotations__ if name not in PLACES}
    Options.create(**{**given, "select": given["select"] or None, "samples": given["samples"] or 1})


def divide_limit(options: Mapping[str, Any], jobs: int) -> float | None:
    """Return the requests per second of each worker; None if they are not limited."""
    limit: float | None = options["max_requests_per_second"]
    return None if limit is None else limit / jobs


@contextmanager
def _open_session(backend: str) -> Iterator[Any]:
    """Open a Spark session for all tables if the user chose this backend; otherwise yield None."""
    from deltaspec.validation.backend_choice import parse_backend

    requested = parse_backend(backend)
    if requested.backend != "spark":
        yield None
        return
    from deltaspec.validation.spark.session import open_session

    with open_session(requested.master) as session:
        yield session


def _run_on_spark(
    session: Any, tasks: Sequence[TableTask], jobs: int, outages: Outages
) -> Generator[tuple[int, TableRun]]:
    from deltaspec.many_tables.spark_runs import run_tables_on_spark

    return run_tables_on_spark(session, tasks, jobs, outages)


def _get_storage(command: ValidateCommand, given: Mapping[str, Any], location: str) -> StorageSettings:
    """Return the settings of storage clients that the configuration has for a location."""
    from deltaspec.wire.storage.settings import StorageSettings

    configuration = load_configuration(given.get("config"), location, command.configurable_options)
    return StorageSettings(configuration.storage_options)


def _select_table_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that concern the run of a table, by parameter."""
    return {name: value for name, value in values.items() if name not in _OF_SUMMARY}


def _find_tables(
    command: ValidateCommand, named: Sequence[str], given: Mapping[str, Any], session: Any
) -> tuple[list[str], list[Unsearched]]:
    """Return the locations of the tables, and the folders that could not be searched for tables.

    Raises:
        TableUnreadable: a single location is named, and it has no table.
    """
    from deltaspec.commands.table_locations import find_locations
    from deltaspec.wire.storage.table_search import Unsearched

    make_waits_interruptible()
    found = list(find_locations(named, partial(_get_storage, command, given), session, given.get("catalog")))
    locations = [each for each in found if isinstance(each, str)]
    unsearched = [each for each in found if isinstance(each, Unsearched)]
    if not locations and len(unsearched) == 1:
        error = StorageUnavailable if unsearched[0].is_outage else TableUnreadable
        raise error(f"{unsearched[0].location}: {unsearched[0].reason}")
    return locations, unsearched


def _plan_tables(
    locations: Sequence[str],
    given: Mapping[str, Any],
    shared: Mapping[str, Any],
    scratch: str,
    get_storage: Callable[[str], StorageSettings],
) -> tuple[list[TableTask], list[JoinedReport]]:
    """Return the task for each table, and the reports of all tables.

    Args:
        locations: paths and URIs of the tables.
        given: options of the command line, by parameter, as text.
        shared: options that are the same for all tables, and override given ones.
        scratch: directory for parts of the reports of all tables.
        get_storage: returns the settings for the location of a Delta table of results.

    Raises:
        InvalidUsage: two tables would write to one place, or a place cannot be written to.
    """
    from deltaspec.commands.table_locations import describe_location
    from deltaspec.commands.table_workers import TableTask

    names = [build_table_name(each) for each in locations]
    values = _select_table_options(given)
    color = shared["color"]
    if color == "auto":
        color = "always" if sys.stdout.isatty() else "never"
    values |= {"output_format": "text", "color": color, "quiet": False}
    if shared["max_requests_per_second"] is not None:
        values["max_requests_per_second"] = shared["max_requests_per_second"]
    by_table: list[dict[str, Any]] = [dict(values, reports=[]) for _ in locations]
    joined: list[JoinedReport] = []
    files: list[list[str]] = [[] for _ in locations]
    for report in given.get("reports") or ():
        if (
            one := plan_joined_report(report, names, scratch, len(joined), get_storage, given.get("config"))
        ) is not None:
            joined.append(one)
            for table, part in zip(by_table, one.parts, strict=True):
                table["reports"].append(f"{one.part_format}:{part}")
            continue
        for table, paths, each in zip(by_table, files, expand_report(report, names), strict=True):
            table["reports"].append(each)
            paths.append(each.partition(":")[2])
    if (messages := plan_notifications(given, names, scratch, len(joined))) is not None:
        joined.append(messages)
        for table, part in zip(by_table, messages.parts, strict=True):
            table["reports"].append(f"{messages.part_format}:{part}")
    places = expand_places(values, names)
    for table, named in zip(by_table, places, strict=True):
        table.update(named)
    output = given.get("output")
    of_all = [*(each.path for each in joined if each.is_file), *([output] if isinstance(output, str) else [])]
    prepare_outputs([*chain.from_iterable(files), *of_all], places, values.get("backend") or "embedded")
    tasks = [
        TableTask(describe_location(location), location, _leave_out_absent(table), tuple(paths))
        for location, table, paths in zip(locations, by_table, files, strict=True)
    ]
    return tasks, joined


def _leave_out_absent(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value; the configuration or a default gives the others."""
    return {name: value for name, value in values.items() if value is not None}


def _print_in_order(
    runs: Iterator[tuple[int, TableRun]], options: Mapping[str, Any], total: int
) -> Iterator[tuple[int, TableRun]]:
    """Yield runs as they end; print their texts in the order of the tables, except of tables that conform."""
    prints = options["output_format"] == "text" and not options["quiet"]
    ended: dict[int, TableRun] = {}
    following = 0

    def print_run(run: TableRun) -> None:
        if prints and run.result.is_notable and run.text:
            print_text(run.text)

    with nullcontext() if options["quiet"] else show_progress() as progress:
        if progress is not None:
            progress("tables", 0, total)
        for done, (number, run) in enumerate(runs, 1):
            yield number, run
            ended[number] = run
            while following in ended:
                print_run(ended.pop(following))
                following += 1
            if progress is not None:
                progress("tables", done, total)
        for number in sorted(ended):  # after tables that were not run
            print_run(ended[number])


def _write_summary(summary: TablesSummary, options: Mapping[str, Any]) -> None:
    from deltaspec.report.tables_text import write_summary
    from deltaspec.wire.storage.interface import escape_file_name

    write_text_or_json(summary, write_summary, options)
    if (output := options["output"]) is not None and not options["quiet"]:
        click.echo(f"{summary.summary_line} · summary in {escape_file_name(output)}", err=True)
