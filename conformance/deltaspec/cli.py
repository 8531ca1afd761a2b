"""The command line: parsing of arguments, and nothing that takes time before it is needed."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from deltaspec import __version__
from deltaspec.errors import InvalidUsage
from deltaspec.exits import VERDICT, Group, writing

_WIDTH = 100
_PATIENCE_SECONDS = 1.0
"""Runs shorter than this show no bar."""


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="deltaspec")
def main() -> None:
    """Conformance and validation for the Delta transaction-log protocol.

    \b
    Exit codes: 0 conforms, 1 violations, 2 wrong usage or no table,
                3 incomplete or refused, 4 a defect of deltaspec, 130 interrupted.
    """
    from deltaspec.report.text import UNENCODABLE

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=UNENCODABLE)


def _choose_allocator() -> None:
    """Let Arrow take jemalloc where its Linux builds have it: batches of a checkpoint come and go with fewer faults."""
    if sys.platform == "linux" and "pyarrow" not in sys.modules:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


_REVISIONS = click.Choice(["r1", "r2", "r3", "current"])
_COLOR = click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)


def _codes(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    return [name.upper() for name in _names(context, parameter, value)]


def _names(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Names with commas between them; an option that is given has to name something, for none given means all."""
    names = [name.strip() for each in value for name in each.split(",") if name.strip()]
    if value and not names:
        raise click.BadParameter("names nothing")
    return names


def _moment(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch of a moment as ISO 8601 with its zone has it, or of now."""
    if value is None:
        return None
    if value == "now":
        return int(time.time() * 1000)
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(value)
    except ValueError as fault:
        raise click.BadParameter(f"{value!r} is neither `now` nor a moment such as 2026-11-21T12:00:00Z") from fault
    if moment.tzinfo is None:
        raise click.BadParameter(f"{value!r} has no zone; add one, such as Z for UTC")
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@main.command()
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
@click.option("--revision", type=_REVISIONS, default="current", show_default=True, help="Text to judge by.")
@click.option(
    "--clock",
    callback=_moment,
    metavar="INSTANT",
    help="Judge retention as of this moment, `now` or ISO 8601 with a zone; not asked otherwise.",
)
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules, e.g. LOG,FIL001.")
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="All rules but these.")
@click.option("--format", "form", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report here.")
@click.option(
    "--samples", type=click.IntRange(min=1), metavar="N", help="Findings of each rule. [default: 5, json 1000]"
)
@click.option("--accept-unchecked", multiple=True, callback=_codes, metavar="RULE", help="Unchecked is fine for it.")
@click.option("--allow-outside", is_flag=True, help="Follow absolute paths out of the table (shallow clones).")
@_COLOR
def validate(
    table: str,
    level: str,
    at: int | None,
    history: str,
    revision: str,
    clock: int | None,
    select: list[str],
    ignore: list[str],
    form: str,
    output: str | None,
    samples: int | None,
    accept_unchecked: list[str],
    allow_outside: bool,
    color: str,
) -> None:
    """Judge the TABLE at a path or URI.

    Nothing is ever written into it. Object stores take their credentials, region and endpoint from the usual
    environment variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_...).
    DELTASPEC_STORE_RETRIES (8), DELTASPEC_STORE_RETRY_SECONDS (60) and DELTASPEC_STORE_TIMEOUT_SECONDS (15) say how
    long a store is waited for.

    CODES are codes of rules or their beginnings, with commas between them; see `deltaspec rules`.
    """
    if output is not None:
        _check_output(output)
    _choose_allocator()
    from deltaspec.report.terminal import exit_code, verdict_line
    from deltaspec.validate import validate_table

    with _progress() as progress:
        report = validate_table(
            table,
            level=level,
            at=at,
            history=history,
            revision=revision,
            clock=clock,
            select=select or None,
            ignore=ignore,
            samples=samples or (5 if form == "text" else 1000),
            accept_unchecked=accept_unchecked,
            allow_outside=allow_outside,
            progress=progress,
        )
    click.get_current_context().meta[VERDICT] = exit_code(report)
    if output is None:
        _print_report(report, form, color, samples or 5)
    else:
        _save_report(report, form, output, color, samples or 5)
        click.echo(f"{verdict_line(report)} · report in {output}", err=True)
    sys.exit(exit_code(report))


def _print_report(report: Any, form: str, color: str, samples: int) -> None:
    if form == "text":
        _write_text(report, _console(sys.stdout, color), samples)
    else:
        _print_bytes(_machine_readable(report, form))


def _save_report(report: Any, form: str, output: str, color: str, samples: int) -> None:
    if form == "text":
        from io import StringIO

        text = StringIO()
        _write_text(report, _console(text, "never" if color == "auto" else color), samples)
        data = text.getvalue().encode()
    else:
        data = _machine_readable(report, form)
    with writing(output), open(output, "wb") as file:
        file.write(data)


def _check_output(output: str) -> None:
    """Refuse before the run what could not be written after it, and what would change a table."""
    from pathlib import Path

    place = Path(os.path.realpath(output))
    if "_delta_log" in place.parts:
        raise InvalidUsage(f"{output}: is in the log of a table, where nothing is written; name another place")
    if not place.parent.is_dir():
        raise InvalidUsage(f"{output}: cannot be written: there is no directory {place.parent}")


def _write_text(report: Any, console: Any, samples: int) -> None:
    from deltaspec.explain import words_of
    from deltaspec.report import terminal

    words = {finding.rule: words_of(finding.rule) for finding in report.findings}
    with writing("stdout"):
        terminal.write(report, words, console, samples)


def _machine_readable(report: Any, form: str) -> bytes:
    """JSON or JUnit, in UTF-8 whatever the terminal speaks."""
    if form == "json":
        return _json(report)
    from deltaspec.report import junit

    return junit.render(report).encode()


def _json(value: Any) -> bytes:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _print_bytes(data: bytes) -> None:
    with writing("stdout"):
        click.echo(data, nl=False)


def _print(text: str) -> None:
    with writing("stdout"):
        click.echo(text)


@main.command()
@click.argument("name", metavar="CODE|REQUIREMENT|CHAPTER")
@_COLOR
def explain(name: str, color: str) -> None:
    """Explain a rule or a requirement.

    A rule goes by its code (FIL001) or name, a requirement by its id (add.path-encoding). A chapter (add) lists its
    requirements, the beginning of codes (FIL) its rules.
    """
    from deltaspec.explain import explanation

    with writing("stdout"):
        console = _console(sys.stdout, color)
        console.print(explanation(name, console.width))


@main.command()
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules, e.g. LOG,FIL001.")
@click.option("--revision", type=_REVISIONS, help="Only what is asked in this revision, as severe as it is there.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(select: list[str], revision: str | None, form: str) -> None:
    """List rules: code, severity, name.

    CODES are codes or their beginnings, with commas between them.
    """
    from deltaspec.explain import rule_list

    _print(rule_list(form, select, revision))


@main.command()
@click.option("--chapter", "chapters", multiple=True, callback=_names, metavar="NAMES", help="Only these chapters.")
@click.option("--revision", type=_REVISIONS, help="Only what holds in this revision.")
@click.option("--uncovered", is_flag=True, help="Only what nothing covers in at least one revision.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_COLOR
def requirements(chapters: list[str], revision: str | None, uncovered: bool, form: str, color: str) -> None:
    """List requirements and what covers them.

    Level, actor, where it shows (in the log, in data files, or only in behaviour), revisions, and the rules that
    check it. `permitted` are definitions and freedoms that sound tables show, on which the kit is silent.

    NAMES are chapters, with commas between them.
    """
    from deltaspec.catalogue import requirement_list

    console = _console(sys.stdout, color)
    listed = requirement_list(chapters=chapters, revision=revision, uncovered=uncovered, form=form, width=console.width)
    if form == "json":
        _print_bytes(listed.encode() + b"\n")
    else:
        with writing("stdout"):
            console.print(listed)


@main.command()
@click.argument("table")
@click.option("--files", is_flag=True, help="Show how the live data files spread instead.")
@click.option("--at", type=click.IntRange(min=0), metavar="VERSION", help="Version to show. [default: the latest]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_COLOR
def show(table: str, files: bool, at: int | None, form: str, color: str) -> None:
    """Show a TABLE: state, schema, files, its log.

    The picture of the log has a row each for commits, checkpoints, compactions and version checksums.

    With --files: sizes of the live data files as a histogram, small files, skew by partition, and what is under
    deletion vectors. Only the log is read.
    """
    _choose_allocator()
    from deltaspec.validate.describe import describe_table
    from deltaspec.validate.describe_files import describe_files

    with _progress() as progress:
        description: Any = (describe_files if files else describe_table)(table, at=at, progress=progress)
    if form == "json":
        _print_bytes(_json(description))
    else:
        from deltaspec.report.files_picture import write_files
        from deltaspec.report.picture import write_description

        write = write_files if files else write_description
        with writing("stdout"):
            write(description, _console(sys.stdout, color))


def _console(stream: Any, color: str) -> Any:
    """A rich console that changes no text: no markup, no emoji, no wrapping of its own."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, which says that there are violations

    console = Plain(
        file=stream,
        force_terminal={"always": True, "never": False}.get(color),
        no_color={"always": False, "never": True}.get(color),
        highlight=False,
        soft_wrap=True,
        markup=False,
        emoji=False,
    )
    console.width = min(console.width, _WIDTH) if console.is_terminal and color == "auto" else _WIDTH
    return console


@contextmanager
def _progress() -> Iterator[Any]:
    """A callback that draws a bar on stderr, if that is a terminal and the run takes a while."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bars = Progress(
        TextColumn("{task.description:<20}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,}"),
        TimeElapsedColumn(),
        transient=True,
        console=Console(stderr=True),
    )
    started = time.monotonic()
    task = bars.add_task("", total=None)
    current = ""

    def report(phase: str, done: int, total: int | None) -> None:
        nonlocal current
        if phase != current:
            bars.reset(task, total=total, description=phase)
            current = phase
        bars.update(task, completed=done, total=total)
        if time.monotonic() - started > _PATIENCE_SECONDS:
            bars.start()

    try:
        yield report
    finally:
        bars.stop()
