"""`deltaspec selftest`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from deltaspec.commands.printing import encode_json, print_bytes, progress_bar
from deltaspec.errors import InvalidUsage
from deltaspec.exit_handling import EXIT_CODE_KEY, translate_write_errors


@click.command("selftest")
@click.option("--mutants", "pattern", default="*", metavar="GLOB", help="Run only mutants whose id matches this glob.")
@click.option(
    "--tables",
    type=click.IntRange(min=0),
    default=300,
    show_default=True,
    help="Number of drawn tables, histories and races.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of all that is drawn.")
@click.option(
    "--golden/--no-golden",
    default=True,
    show_default=True,
    help="Whether mutants that survive meet the golden cases of a checkout.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Number of processes.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
)
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report to this file.")
@click.option(
    "--events",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write each result as a line of JSON when it is known.",
)
@click.option(
    "--reports", type=click.Path(file_okay=False), metavar="DIR", help="Also write selftest.md and selftest.json here."
)
@click.pass_context
def selftest(
    context: click.Context,
    pattern: str,
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
    from fnmatch import fnmatchcase

    from deltaspec.selftest.all_mutants import MUTANTS
    from deltaspec.selftest.kill_table import build_kill_table, render_markdown, render_text
    from deltaspec.selftest.runner import MutantResult, list_tables, run_in_processes
    from deltaspec.suites.outcomes import to_json
    from deltaspec.suites.subjects import Corpus

    names = [name for name in MUTANTS if fnmatchcase(name, pattern)]
    if not names:
        raise InvalidUsage(f"no mutant matches {pattern!r}")
    ids = list_tables(Corpus(seed, tables, histories=tables, golden=golden), races=tables)
    done = 0
    with ExitStack() as stack:
        stack.enter_context(translate_write_errors(events or "stdout"))
        sink = stack.enter_context(open(events, "w", encoding="utf-8")) if events else None
        advance = stack.enter_context(progress_bar())

        def report(result: MutantResult) -> None:
            nonlocal done
            done += 1
            if sink is not None:
                print(to_json(result), file=sink, flush=True)
            if advance is not None:
                advance("mutants", done, len(names))

        results = run_in_processes(names, ids, min(jobs, len(names)), report)
    table = build_kill_table(results, seed, tables)
    forms = {
        "text": render_text(table).encode(),
        "markdown": render_markdown(table).encode(),
        "json": encode_json(table),
    }
    files = [] if output is None else [(output, output_format)]
    if reports is not None:
        files += [(f"{reports}/selftest.md", "markdown"), (f"{reports}/selftest.json", "json")]
    for path, form in files:
        with translate_write_errors(path):
            Path(path).write_bytes(forms[form])
    if output is None:
        print_bytes(forms[output_format])
    context.meta[EXIT_CODE_KEY] = int(table.killed < table.mutants)
    sys.exit(context.meta[EXIT_CODE_KEY])
