"""`deltaspec selftest`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deltaspec.commands.options import CountRange
from deltaspec.commands.progress import show_progress
from deltaspec.commands.run_output import EVENTS, OUTPUT, format_option, render_report, write_report
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import translate_write_errors, write_file

if TYPE_CHECKING:
    from deltaspec.commands.run_output import Renderers
    from deltaspec.selftest.kill_table import KillTable


@click.command("selftest")
@click.option(
    "--mutants",
    "patterns",
    multiple=True,
    default=("*",),
    metavar="GLOB",
    help="Run only mutants whose id matches a glob; with --reports, the report keeps its rows of the others.",
)
@click.option(
    "--tables",
    type=CountRange(min=0),
    default=300,
    show_default=True,
    help="Number of drawn tables, histories and races.",
)
@click.option("--seed", type=CountRange(min=0), default=1, show_default=True, help="Seed of everything that is drawn.")
@click.option(
    "--golden/--no-golden",
    default=True,
    show_default=True,
    help="Run the golden cases of a checkout against mutants that survive.",
)
@click.option("--jobs", type=CountRange(min=1), default=2, show_default=True, help="Number of processes.")
@format_option("text", "json", "markdown")
@OUTPUT
@EVENTS
@click.option(
    "--reports", type=click.Path(file_okay=False), metavar="DIR", help="Also write selftest.md and selftest.json here."
)
def selftest(
    patterns: tuple[str, ...],
    tables: int,
    seed: int,
    golden: bool,
    jobs: int,
    output_format: str,
    output: str | None,
    events: str | None,
    reports: str | None,
) -> None:
    """Run the suites against engines with one fault each; each must be caught.

    The engines are copies of the reference reader and writer. The report is the kill table: the fault, the requirement
    that it breaks, the suites that caught it, and the number of drawn tables, histories or races until then. The exit
    code is 1 if one survives.
    """

    from deltaspec.selftest.all_mutants import MUTANTS
    from deltaspec.selftest.kill_table import build_kill_table, render_markdown, render_text
    from deltaspec.selftest.runner import MutantResult, list_tables, run_in_processes
    from deltaspec.suites.events import open_events
    from deltaspec.suites.subjects import Corpus

    names = [name for name in MUTANTS if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not names:
        raise InvalidUsage(f"no mutant matches {', '.join(patterns)}")
    earlier = None if reports is None or len(names) == len(MUTANTS) else _read_report(Path(reports), seed, tables)
    ids = list_tables(Corpus(seed, tables, catalog_tables=tables, histories=tables, golden=golden), races=tables)
    done = 0
    with ExitStack() as stack:
        stack.enter_context(translate_write_errors("the temporary directory"))
        sink, _ = stack.enter_context(open_events(events, MutantResult, {}))
        advance = stack.enter_context(show_progress())

        def report(result: MutantResult) -> None:
            nonlocal done
            done += 1
            if sink is not None:
                sink.append([result])
            advance("mutants", done, len(names))

        results = run_in_processes(names, ids, min(jobs, len(names)), report)
    table = build_kill_table(results, seed, tables, earlier)
    exit_code = ExitCode.FAILED if table.killed < table.mutants else ExitCode.OK
    renderers: Renderers[KillTable] = {"text": render_text, "markdown": render_markdown}
    if reports is not None:
        for name, form in (("selftest.md", "markdown"), ("selftest.json", "json")):
            write_file(f"{reports}/{name}", render_report(table, renderers, form))
    write_report(table, renderers, output_format, output, exit_code)
    sys.exit(exit_code)


def _read_report(directory: Path, seed: int, tables: int) -> KillTable | None:
    """Read the report of an earlier run, which must have drawn the same. None if there is none."""
    import msgspec

    from deltaspec.selftest.kill_table import KillTable

    path = directory / "selftest.json"
    if not path.exists():
        return None
    try:
        found = msgspec.json.decode(path.read_bytes(), type=KillTable)
    except msgspec.DecodeError as error:
        raise InvalidUsage(f"{path} is not a report of the self-test: {error}") from None
    if (found.seed, found.tables) != (seed, tables):
        raise InvalidUsage(f"{path} has {found.tables} tables of seed {found.seed}; use them or run all mutants")
    return found
