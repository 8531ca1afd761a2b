"""`deltaspec validate`."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any

import click

from deltaspec.commands.options import COLOR, REVISIONS, parse_codes, parse_instant
from deltaspec.commands.printing import build_console, choose_allocator, encode_json, print_bytes, progress_bar
from deltaspec.errors import InvalidUsage
from deltaspec.exit_handling import EXIT_CODE_KEY, translate_write_errors


@click.command()
@click.argument("table")
@click.option(
    "--level",
    type=click.Choice(["log", "files", "footers", "rows"]),
    default="files",
    show_default=True,
    help="What may be opened: the log alone, the listing of files and deletion vectors, footers, or rows as well.",
)
@click.option("--at", type=click.IntRange(min=0), metavar="VERSION", help="Version to judge. [default: the latest]")
@click.option("--history", default="latest", show_default=True, metavar="latest|N|all", help="How far back to judge.")
@click.option("--revision", type=REVISIONS, default="current", show_default=True, help="Text to judge by.")
@click.option(
    "--clock",
    callback=parse_instant,
    metavar="INSTANT",
    help="Judge retention as of this moment, `now` or ISO 8601 with a zone; not asked otherwise.",
)
@click.option(
    "--select", multiple=True, callback=parse_codes, metavar="CODES", help="Only these rules, e.g. LOG,FIL001."
)
@click.option("--ignore", multiple=True, callback=parse_codes, metavar="CODES", help="All rules but these.")
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True
)
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report here.")
@click.option(
    "--samples", type=click.IntRange(min=1), metavar="N", help="Findings of each rule. [default: 5, json 1000]"
)
@click.option(
    "--accept-unchecked", multiple=True, callback=parse_codes, metavar="RULE", help="Unchecked is fine for it."
)
@click.option("--allow-outside", is_flag=True, help="Follow absolute paths out of the table (shallow clones).")
@click.option(
    "--engine",
    default="embedded",
    show_default=True,
    metavar="embedded|spark[=MASTER]|auto",
    help="What runs the rules: this process, a Spark, or whichever suits what there is to read.",
)
@click.option("--estimate", "estimates", is_flag=True, help="Print what a run would read at each level, and stop.")
@click.option(
    "--findings-out",
    metavar="PLACE",
    help="Write every finding here, as Parquet: a file that may be there, on Spark the URI of a new directory.",
)
@click.option("--state", type=click.Path(), metavar="DIR", help="Keep here what is done, for a run that goes on.")
@click.option("--resume", is_flag=True, help="Go on with what --state holds, if it holds anything.")
@COLOR
def validate(
    table: str,
    level: str,
    at: int | None,
    history: str,
    revision: str,
    clock: int | None,
    select: list[str],
    ignore: list[str],
    output_format: str,
    output: str | None,
    samples: int | None,
    accept_unchecked: list[str],
    allow_outside: bool,
    engine: str,
    estimates: bool,
    findings_out: str | None,
    state: str | None,
    resume: bool,
    color: str,
) -> None:
    """Judge the TABLE at a path or URI.

    Nothing is ever written into it. Object stores take their credentials, region and endpoint from the usual
    environment variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_...).
    DELTASPEC_STORE_RETRIES (8), DELTASPEC_STORE_RETRY_SECONDS (60) and DELTASPEC_STORE_TIMEOUT_SECONDS (15) say how
    long a store is waited for.

    MASTER is a master of Spark, such as local[4], spark://host:7077, yarn, or sc://host for Spark Connect; without one
    Spark's own configuration names it. `deltaspec doctor --spark` tells whether all is there.

    DIR is kept by a run that is killed: the same command with --resume goes on with it, and its report is the same. A
    state of another release, with other options, or of a log that was written to since is refused. It holds programs
    (pickles), and is made so that nobody else may write to it; the report stays in it, and it may be deleted.

    CODES are codes of rules or their beginnings, with commas between them; see `deltaspec rules`.
    """
    if output is not None:
        _check_output(output)
    choose_allocator()
    if estimates:
        _print_estimate(table, at, history, revision, output_format, output, color)
        return
    options = {
        "level": level,
        "at": at,
        "history": history,
        "revision": revision,
        "clock": clock,
        "select": select or None,
        "ignore": ignore,
        # with a state the same for all formats: it is told by the options that it was kept with
        "samples": samples or (5 if output_format == "text" and state is None else 1000),
        "accept_unchecked": accept_unchecked,
        "allow_outside": allow_outside,
        "findings_out": findings_out,
        "state": state,
        "resume": resume,
    }
    report = _judge(table, engine, options)
    click.get_current_context().meta[EXIT_CODE_KEY] = report.exit_code
    if output is None:
        _print_report(report, output_format, color, samples or 5)
    else:
        _save_report(report, output_format, output, color, samples or 5)
        click.echo(f"{report.verdict_line} · report in {output}", err=True)
    sys.exit(report.exit_code)


def _judge(table: str, engine: str, options: dict[str, Any]) -> Any:
    """The report of the engine that was asked for, or that suits the table."""
    from deltaspec.validation.engine_choice import choose_engine, parse_engine

    asked = parse_engine(engine)
    taken, master = asked.engine, asked.master
    if taken == "auto":
        from deltaspec.validation.describe.read_estimate import estimate_table
        from deltaspec.validation.spark.environment import find_missing_requirement

        estimate = estimate_table(table, **{name: options[name] for name in ("at", "history", "revision")})
        choice = choose_engine(estimate, options["level"], find_missing_requirement(master))
        click.echo(f"engine {choice.engine}: {choice.reason}", err=True)
        taken = choice.engine
    with progress_bar() as progress:
        if taken == "embedded":
            from deltaspec.validation import validate_table

            return validate_table(table, **options, progress=progress)
        from deltaspec.validation.options import ask
        from deltaspec.validation.spark.session import open_session

        ask(**{name: options[name] for name in signature(ask).parameters})  # starting Spark takes a while
        with open_session(master) as session:
            driver: Any = import_module("deltaspec.validation.spark")
            return driver.validate(session, table, **options, progress=progress)


def _print_estimate(
    table: str, at: int | None, history: str, revision: str, output_format: str, output: str | None, color: str
) -> None:
    if output_format == "junit":
        raise InvalidUsage("an estimate has no output_format junit; there is text and json")
    from deltaspec.report.estimate import write_estimate
    from deltaspec.validation.describe.read_estimate import estimate_table

    estimate = estimate_table(table, at=at, history=history, revision=revision)
    if output is not None:
        with translate_write_errors(output), open(output, "wb") as file:
            file.write(encode_json(estimate) if output_format == "json" else _text_of(write_estimate, estimate, color))
    elif output_format == "json":
        print_bytes(encode_json(estimate))
    else:
        with translate_write_errors("stdout"):
            write_estimate(estimate, build_console(sys.stdout, color))


def _text_of(write: Callable[..., None], value: Any, color: str, *others: Any) -> bytes:
    """What is printed of a value, as a file holds it."""
    from io import StringIO

    text = StringIO()
    write(value, *others, build_console(text, "never" if color == "auto" else color))
    return text.getvalue().encode()


def _print_report(report: Any, output_format: str, color: str, samples: int) -> None:
    if output_format == "text":
        _write_text(report, samples, build_console(sys.stdout, color))
    else:
        print_bytes(_machine_readable(report, output_format))


def _save_report(report: Any, output_format: str, output: str, color: str, samples: int) -> None:
    data = (
        _text_of(_write_text, report, color, samples)
        if output_format == "text"
        else _machine_readable(report, output_format)
    )
    with translate_write_errors(output), open(output, "wb") as file:
        file.write(data)


def _check_output(output: str) -> None:
    """Refuse before the run what could not be written after it, and what would change a table."""
    from pathlib import Path

    from deltaspec.validation.output_location import require_outside_table

    require_outside_table(output, None)
    place = Path(os.path.realpath(output))
    if not place.parent.is_dir():
        raise InvalidUsage(f"{output}: cannot be written: there is no directory {place.parent}")


def _write_text(report: Any, samples: int, console: Any) -> None:
    from deltaspec.report import terminal
    from deltaspec.rule_pages import build_rule_doc

    words = {finding.rule: build_rule_doc(finding.rule) for finding in report.findings}
    with translate_write_errors("stdout"):
        terminal.write(report, words, console, samples)


def _machine_readable(report: Any, output_format: str) -> bytes:
    """JSON or JUnit, in UTF-8 whatever the terminal speaks."""
    if output_format == "json":
        return encode_json(report)
    from deltaspec.report import junit

    return junit.render_junit(report).encode()
