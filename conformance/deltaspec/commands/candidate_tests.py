"""`deltaspec test`, `deltaspec replay` and `deltaspec known`."""

from __future__ import annotations

import datetime
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from fnmatch import fnmatchcase
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltaspec import __version__
from deltaspec.commands.options import CountRange, NumberRange, parse_names
from deltaspec.commands.printing import print_text
from deltaspec.commands.progress import show_progress
from deltaspec.commands.run_output import EVENTS, OUTPUT, format_option, require_events, resume_option, write_report
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import translate_write_errors

if TYPE_CHECKING:
    from deltaspec.candidates.host import Candidate
    from deltaspec.commands.run_output import Renderers
    from deltaspec.suites.checks import SuiteName, TableUnderTest
    from deltaspec.suites.events import Events
    from deltaspec.suites.imported_subjects import ImportedTables
    from deltaspec.suites.outcomes import CaseResult
    from deltaspec.suites.results import SuiteReport
    from deltaspec.suites.runner import SuitePlan
    from deltaspec.suites.subjects import Corpus

DEFAULT_TABLES = 100
"""Number of drawn tables and histories."""
_TIMEOUT_SCALE = click.option(
    "--timeout-scale",
    type=NumberRange(min=0.01),
    default=1.0,
    show_default=True,
    help="Multiplies all deadlines of the candidate, for slow machines.",
)


@click.command("test")
@click.argument("candidate")
@click.option(
    "--suite",
    "suites",
    multiple=True,
    callback=parse_names,
    metavar="NAMES",
    help="Run only these suites, of snapshot, read, time-travel, predicates, changes, row-ids, refuse, catalog and "
    "write. [default: all except catalog and write]",
)
@click.option(
    "--tables",
    type=CountRange(min=0),
    metavar="NUMBER",
    help="Ask about exactly this many drawn tables, and about others only as --written and --golden say. "
    "[default: 100 drawn tables, the written and the golden ones]",
)
@click.option("--written", is_flag=True, help="Ask about the tables that were written for one situation each.")
@click.option("--seed", type=CountRange(min=0), default=1, show_default=True, help="Seed of the drawn tables.")
@click.option(
    "--revision",
    type=click.Choice(["r1", "r2", "r3", "current"]),
    default="current",
    show_default=True,
    help="Revision of the protocol that the drawn tables follow. Written tables are of the current one, and left out.",
)
@click.option(
    "--import",
    "imported",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Ask the cases of this directory instead: DAT, acceptance workloads, or folders of tables.",
)
@click.option("--golden", is_flag=True, help="Ask about the golden tables; needs a checkout.")
@click.option(
    "--with",
    "others",
    multiple=True,
    callback=parse_names,
    metavar="CANDIDATES",
    help="In suite write, these candidates write to the same tables in turn, and all read them.",
)
@click.option("--select", metavar="TEXT", help="Run only cases whose id contains this text or matches this glob.")
@click.option("-x", "--stop", is_flag=True, help="Stop at the first failure that is not listed in --known.")
@click.option("--jobs", type=CountRange(min=1), default=1, show_default=True, help="Candidates to run at once.")
@click.option(
    "--known", type=click.Path(dir_okay=False), metavar="FILE", help="Known failures of the candidate (TOML)."
)
@format_option("text", "json", "markdown", "junit")
@OUTPUT
@EVENTS
@resume_option("Tables in the --events file are not asked about again.")
@click.option("--save", type=click.Path(file_okay=False), metavar="DIR", help="Save the smallest case of each failure.")
@_TIMEOUT_SCALE
def test(
    candidate: str,
    suites: list[str],
    tables: int | None,
    written: bool,
    seed: int,
    revision: str,
    imported: str | None,
    golden: bool,
    others: list[str],
    select: str | None,
    stop: bool,
    jobs: int,
    known: str | None,
    output_format: str,
    output: str | None,
    events: str | None,
    resume: bool,
    save: str | None,
    timeout_scale: float,
) -> None:
    """Test whether an engine reads and writes tables correctly.

    By default, the CANDIDATE only reads. In suite write it performs operations, and the kit validates the tables.

    CANDIDATE is the name of an adapter (`deltaspec doctor` lists them), `cmd:COMMAND` for a program that speaks the
    candidate protocol, or `py:MODULE:CLASS` for a Python class.

    Without --tables, --written and --golden, all tables are asked about. The tables are drawn from the seed: the same
    seed gives the same tables everywhere. The exit code is 0 if all cases
    passed or failed as listed in --known, 1 if not, 2 if nothing was asked, 3 if the candidate does not start or died
    too often.
    """
    from msgspec.structs import replace

    from deltaspec.suites import rendering
    from deltaspec.suites.checks import IMPORTED_SUITES
    from deltaspec.suites.events import open_events
    from deltaspec.suites.known_failures import load_known_failures
    from deltaspec.suites.outcomes import CaseResult
    from deltaspec.suites.runner import SuitePlan, select_suites
    from deltaspec.suites.subjects import Corpus

    if others and list(suites) != ["write"]:
        raise InvalidUsage("--with needs --suite write")
    require_events(events, resume=resume)
    entries = load_known_failures(Path(known)) if known else []
    left_out: list[str] = []
    if revision != "current" and (golden or written or imported is not None):
        raise InvalidUsage("--revision is for drawn tables; it cannot be combined with --golden, --written or --import")
    if imported is None:
        plan, left_out = _plan_tables(select_suites(suites), seed, tables, written, golden, revision)
    else:
        if golden or written or suites or save is not None:
            raise InvalidUsage("--import cannot be combined with --golden, --written, --suite or --save")
        plan = SuitePlan(Corpus(seed=0, tables=0, imported=_load_imported_tables(imported)), IMPORTED_SUITES)
    plan = replace(plan, select=_build_filter(select), jobs=jobs)
    start = partial(_start, (candidate, *others), timeout_scale)
    name = " with ".join([candidate, *filter(None, [", ".join(others)])])
    opened = open_events(events, CaseResult, {"candidate": name}, resume=resume, group=attrgetter("table"))
    with translate_write_errors(events or "stdout"), opened as (sink, earlier):
        report, results = _run(start, name, plan, entries, sink, earlier, imported or "", left_out, stops=stop)
    renderers: Renderers[SuiteReport] = {
        "text": rendering.render_text,
        "markdown": rendering.render_markdown,
        "junit": partial(rendering.render_junit, results=results),
    }
    write_report(report, renderers, output_format, output, report.exit_code)
    if save is not None:
        _save_failures(start, report.cases, save)
    sys.exit(report.exit_code)


def _plan_tables(
    suites: Sequence[SuiteName], seed: int, tables: int | None, written: bool, golden: bool, revision: str
) -> tuple[SuitePlan, list[str]]:
    """Return the plan of a run, and the tables that it leaves out."""
    from deltaspec.golden.definition import has_definitions
    from deltaspec.suites.checks import SUITES
    from deltaspec.suites.runner import build_suite_plan

    if revision != "current":
        drawn = DEFAULT_TABLES if tables is None else tables
        return build_suite_plan(suites, seed, drawn, revision=revision), ["tables of the current revision"]
    is_default = tables is None and not written and not golden
    drawn = DEFAULT_TABLES if is_default else tables or 0
    has_golden = golden or (is_default and has_definitions())
    plan = build_suite_plan(suites, seed, drawn, written=written or is_default, golden=has_golden)
    left_out = [] if drawn else ["the drawn tables (--tables NUMBER)"]
    left_out += [] if written or is_default else ["the written tables (--written)"]
    if not has_golden and set(suites) & set(SUITES):
        reason = "--golden" if has_definitions() else "they need a checkout of deltaspec"
        left_out.append(f"the golden cases ({reason})")
    return plan, left_out


def _start(names: Sequence[str], timeout_scale: float) -> Candidate:
    """Start a candidate, or several that write to the same tables."""
    from deltaspec.suites.mixed_engines import MixedEngines
    from deltaspec.suites.startup import start_candidate

    if len(names) == 1:
        return start_candidate(names[0], timeout_scale=timeout_scale)
    with ExitStack() as stack:
        engines = [stack.enter_context(start_candidate(each, timeout_scale=timeout_scale)) for each in names]
        stack.pop_all()
    return MixedEngines(engines)


def _load_imported_tables(directory: str) -> ImportedTables:
    from deltaspec.golden.importing.cases import read_cases
    from deltaspec.suites.imported_subjects import ImportedTables

    return ImportedTables(read_cases(Path(directory)))


def _save_failures(start: Callable[[], Candidate], cases: Sequence[CaseResult], directory: str) -> None:
    """Shrink and save the simplest case of each cause; written, broken and golden tables are small already."""
    from deltaspec.candidates.host import GivenUp
    from deltaspec.suites.saved_cases import SHRINK_SECONDS, save_failure, select_simplest, shrink_failure
    from deltaspec.suites.saved_histories import save_history
    from deltaspec.suites.subjects import describe_subject, is_drawn, is_history

    chosen = select_simplest(cases, is_drawn)
    with closing(start()) as candidate, show_progress() as advance, translate_write_errors(directory):
        for number, each in enumerate(chosen):
            advance("shrinking failures", number, len(chosen))
            try:
                table, result = shrink_failure(
                    candidate, each, describe_subject(each.table).table, seconds=SHRINK_SECONDS
                )
            except GivenUp as error:
                click.echo(f"deltaspec: {each.case}: not shrunk, {error}", err=True)
                continue
            click.echo(f"saved {save_failure(candidate, result, table, Path(directory))}", err=True)
        for each in select_simplest(cases, is_history):
            click.echo(f"saved {save_history(candidate, each, Path(directory))}", err=True)


def _build_filter(select: str | None) -> Callable[[str], bool] | None:
    if select is None:
        return None
    return lambda case: select in case or fnmatchcase(case, select)


def _run(
    start: Callable[[], Candidate],
    candidate: str,
    plan: SuitePlan,
    entries: list[Any],
    sink: Events[CaseResult] | None,
    earlier: Sequence[CaseResult],
    imported: str,
    left_out: Sequence[str],
    *,
    stops: bool,
) -> tuple[SuiteReport, list[CaseResult]]:
    """Ask the candidate about the tables of a plan that have no earlier results."""

    from msgspec.structs import replace

    from deltaspec.suites.causes import group_by_cause
    from deltaspec.suites.contrast import find_contrasts
    from deltaspec.suites.events import undo_judgement
    from deltaspec.suites.known_failures import KnownFailures
    from deltaspec.suites.results import Run, build_report
    from deltaspec.suites.runner import Stopped, read_capabilities, run_suite_plan

    started = time.monotonic()
    capabilities = read_capabilities(start)
    judge = KnownFailures(entries, capabilities.version, datetime.datetime.now(datetime.UTC).date())
    tables = plan.corpus.list_ids()
    answered = {each.table for each in earlier}
    if not answered <= set(tables):
        raise InvalidUsage(f"--resume: the events are of a run with other arguments: {min(answered - set(tables))}")
    results = [judge.judge(undo_judgement(each)) for each in earlier]
    complete = True
    if stops:
        plan = replace(plan, stops_at=lambda each: judge.judge(each).outcome.is_bad)
    with show_progress() as advance:
        try:
            for done, table in enumerate(run_suite_plan(start, plan, answered), len(answered) + 1):
                judged = [judge.judge(each) for each in table.results]
                results += judged
                if sink is not None:
                    sink.append(judged)
                advance("tables", done, len(tables))
        except Stopped as error:
            complete = False
            click.echo(f"deltaspec: {error}", err=True)
    is_stopped = stops and any(each.outcome.is_bad for each in results)
    run = Run(
        deltaspec=__version__,
        candidate=candidate,
        seed=plan.corpus.seed,
        tables=max(plan.corpus.tables, plan.corpus.histories),
        imported=imported,
        golden=plan.corpus.golden and not (plan.corpus.tables or plan.corpus.written),
        revision=plan.corpus.revision,
        suites=tuple(plan.suites),
        seconds=round(time.monotonic() - started + sum(each.seconds for each in earlier), 3),
        complete=complete and not is_stopped,
        stopped=is_stopped,
        left_out=tuple(left_out),
    )
    unused = []
    if run.complete and plan.select is None:
        written = plan.corpus.written or plan.corpus.written_histories
        asks_both = plan.corpus.golden and not run.golden
        unused = judge.list_unused(
            plan.suites, golden=None if asks_both else run.golden, written=written, revision=run.revision
        )
    groups = group_by_cause(each for each in results if each.outcome.has_failed)
    return build_report(run, capabilities, results, unused, find_contrasts(groups, results)), results


@click.command("replay")
@click.argument("case")
@click.option("--candidate", required=True, metavar="CANDIDATE", help="As for `deltaspec test`.")
@click.option(
    "--keep", type=click.Path(), metavar="DIR", help="Keep the table in this directory, which must not exist."
)
@click.option(
    "--import", "imported", type=click.Path(file_okay=False), metavar="DIR", help="Directory of an imported CASE."
)
@_TIMEOUT_SCALE
def replay(case: str, candidate: str, imported: str | None, keep: str | None, timeout_scale: float) -> None:
    """Run one CASE again and show what differs.

    CASE is an id, as printed by `deltaspec test`, or a directory that `deltaspec test --save` wrote. The exit code is 0
    if the case passes now, 1 if it fails.
    """
    from deltaspec.suites.all_checks import CHECKS
    from deltaspec.suites.cases import Case, list_cases, run_case
    from deltaspec.suites.checks import IMPORTED_SUITES, SUITES
    from deltaspec.suites.outcomes import Outcome
    from deltaspec.suites.refuse import list_undeclared_needs
    from deltaspec.suites.rendering import render_failure
    from deltaspec.suites.saved_cases import FAILURE
    from deltaspec.suites.startup import start_candidate
    from deltaspec.suites.subjects import Corpus

    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="deltaspec-"))
        directory = Path(keep).resolve() if keep else Path(scratch) / "case"
        if directory.exists():
            raise InvalidUsage(f"{directory} exists already")
        corpus = Corpus() if imported is None else Corpus(imported=_load_imported_tables(imported))
        name, subject = _find_case(case, corpus, directory)
        engine = stack.enter_context(closing(start_candidate(candidate, timeout_scale=timeout_scale)))
        cases = list_cases(engine.capabilities, [subject], (CHECKS[name].suite,))
        found: list[Case] = [each for each in cases if each.check.name == name]
        if not found:
            undeclared = ", ".join(list_undeclared_needs(engine.capabilities, subject))
            reason = f"{candidate} does not declare {undeclared}" if undeclared else "it does not fit the table"
            others = ", ".join(
                each.id for each in list_cases(engine.capabilities, [subject], (*SUITES, *IMPORTED_SUITES))
            )
            raise InvalidUsage(f"{case} is not asked, because {reason}; cases of this table: {others}")
        result = run_case(engine, found[0])
    if result.outcome.has_failed:
        is_saved = (Path(case) / FAILURE).is_file()
        print_text("\n".join(render_failure(result, candidate, imported or "", case if is_saved else "")))
        sys.exit(ExitCode.FAILED if result.outcome.is_bad else ExitCode.OK)
    print_text(f"{result.outcome} {case}" + (f": {result.message}" if result.message else ""))
    sys.exit(ExitCode.OK if result.outcome is Outcome.PASSED else ExitCode.INCOMPLETE)


def _find_case(case: str, corpus: Corpus, directory: Path) -> tuple[str, TableUnderTest]:
    """Return the check of a case and its table, written into a directory.

    Raises:
        InvalidUsage: There is no such case.
    """
    from deltaspec.suites.all_checks import CHECKS
    from deltaspec.suites.saved_cases import FAILURE, restore_failure
    from deltaspec.suites.saved_histories import HISTORY_FILE, load_history

    if (Path(case) / HISTORY_FILE).is_file():
        failure, subject = load_history(Path(case).resolve(), directory)
        return failure.result.check, subject
    if (Path(case) / FAILURE).is_file():
        failure, subject = restore_failure(Path(case).resolve(), directory / "table")
        return failure.result.check, subject
    name, slash, table = case.partition("/")
    if not slash:
        raise InvalidUsage(f"unknown case {case}: expected CHECK/TABLE, such as read.all-rows/drawn.1.13")
    if name not in CHECKS:
        raise InvalidUsage(f"unknown check {name} in {case}; expected one of {', '.join(CHECKS)}")
    try:
        return name, corpus.build_subject(table, directory)
    except KeyError:
        hint = "expected drawn.SEED.NUMBER, history.SEED.NUMBER or broken.NAME; imported cases need --import"
        raise InvalidUsage(f"unknown table {table} in {case}; {hint}") from None


@click.group("known")
def known() -> None:
    """Maintain the known failures of a candidate."""


@known.command("update")
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("report", type=click.Path(exists=True, dir_okay=False))
def update(file: str, report: str) -> None:
    """Bring the known failures in FILE up to date with a JSON REPORT of `deltaspec test --known FILE`.

    Entries that match nothing or pass are removed; new kinds of failures are added with an empty reason, which you
    must fill in. Comments and the order of the other entries are kept.
    """
    from deltaspec.suites.known_updates import update_known_failures

    with translate_write_errors(file):
        changed = update_known_failures(Path(file), Path(report))
    print_text(changed)
