"""The command line: parsing of arguments, and nothing that takes time before it is needed."""

import os
import sys
import tempfile
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from deltaspec import __version__
from deltaspec.errors import DeltaspecError

BUG, INTERRUPTED = 4, 130


class _Group(click.Group):
    """Turns what the kit raises into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DeltaspecError as fault:
            _fail(str(fault), fault.exit_code)
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as fault:  # noqa: BLE001 - whatever a defect raises, its user gets one line
            _fail(f"a defect of deltaspec: {type(fault).__name__}: {fault}; details in {_crash_file()}", BUG)


def _fail(message: str, code: int) -> NoReturn:
    from deltaspec.report.text import safe

    click.echo(f"deltaspec: {safe(message)}", err=True)
    sys.exit(code)


def _crash_file() -> str:
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="deltaspec-", suffix=".txt", delete=False) as file:
        traceback.print_exc(file=file)
        return file.name


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="deltaspec")
def main() -> None:
    """Conformance and validation for the Delta transaction-log protocol.

    Exit codes: 0 conforms, 1 violations, 2 wrong usage or no table, 3 incomplete, 4 a defect of deltaspec.
    """


_REVISIONS = click.Choice(["r1", "r2", "r3", "current"])
_COLOR = click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)


def _codes(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> list[str]:
    return [code.strip().upper() for each in value for code in each.split(",") if code.strip()]


@main.command()
@click.argument("table")
@click.option("--level", type=click.Choice(["log", "files", "footers", "rows"]), default="log", show_default=True)
@click.option("--at", type=int, metavar="VERSION", help="Version to judge. [default: the latest]")
@click.option("--history", default="latest", show_default=True, metavar="latest|N|all", help="How far back to judge.")
@click.option("--revision", type=_REVISIONS, default="current", show_default=True, help="Text to judge by.")
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules, e.g. LOG,FIL001.")
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="All rules but these.")
@click.option("--format", "form", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report here.")
@click.option(
    "--samples", type=click.IntRange(min=1), metavar="N", help="Findings of each rule. [default: 5, json 1000]"
)
@click.option("--accept-unchecked", multiple=True, callback=_codes, metavar="RULE", help="Unchecked is fine for it.")
@_COLOR
def validate(
    table: str,
    level: str,
    at: int | None,
    history: str,
    revision: str,
    select: list[str],
    ignore: list[str],
    form: str,
    output: str | None,
    samples: int | None,
    accept_unchecked: list[str],
    color: str,
) -> None:
    """Judge the TABLE at a path or URI. Nothing is ever written into it."""
    from deltaspec.report.terminal import exit_code
    from deltaspec.validate import validate_table

    with _progress() as progress:
        report = validate_table(
            table,
            level=level,
            at=at,
            history=history,
            revision=revision,
            select=select or None,
            ignore=ignore,
            samples=samples or (5 if form == "text" else 1000),
            accept_unchecked=accept_unchecked,
            progress=progress,
        )
    with _destination(output) as stream:
        _write_report(report, form, stream, color, samples or 5)
    sys.exit(exit_code(report))


def _write_report(report: Any, form: str, stream: Any, color: str, samples: int) -> None:
    if form == "json":
        import msgspec

        stream.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    elif form == "junit":
        from deltaspec.report import junit

        stream.write(junit.render(report))
    else:
        from deltaspec.explain import words_of
        from deltaspec.report import terminal

        words = {finding.rule: words_of(finding.rule) for finding in report.findings}
        terminal.write(report, words, _console(stream, color), samples)


@main.command()
@click.argument("name", metavar="CODE|REQUIREMENT")
@_COLOR
def explain(name: str, color: str) -> None:
    """Explain a rule (FIL001) or a requirement (add.path-encoding)."""
    from deltaspec.explain import explanation

    _console(sys.stdout, color).print(explanation(name))


@main.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(form: str) -> None:
    """List every rule."""
    from deltaspec.explain import rule_list

    click.echo(rule_list(form))


@main.command()
@click.option("--chapter", metavar="NAME", help="Only this chapter.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def requirements(chapter: str | None, form: str) -> None:
    """List the protocol's requirements, and which rules check them."""
    from deltaspec.explain import requirement_list

    click.echo(requirement_list(chapter, form))


@main.command()
@click.argument("table")
@click.option("--at", type=int, metavar="VERSION", help="Version to show. [default: the latest]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_COLOR
def show(table: str, at: int | None, form: str, color: str) -> None:
    """Show what the TABLE is: state, schema, files, and a picture of its log."""
    from deltaspec.validate.describe import describe_table

    with _progress() as progress:
        description = describe_table(table, at=at, progress=progress)
    if form == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(description), indent=2).decode())
    else:
        from deltaspec.report.picture import write_description

        write_description(description, _console(sys.stdout, color))


def _console(stream: Any, color: str) -> Any:
    from rich.console import Console

    terminal = {"always": True, "never": False}.get(color)
    width = None if getattr(stream, "isatty", bool)() else 100
    return Console(
        file=stream,
        force_terminal=terminal,
        no_color=color == "never" or None,
        width=width,
        highlight=False,
        soft_wrap=True,
        markup=False,
        emoji=False,
    )


@contextmanager
def _destination(output: str | None) -> Any:
    if output is None:
        yield sys.stdout
        return
    try:
        stream = open(output, "w", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as fault:
        raise click.UsageError(f"{output}: {fault.strerror}") from fault
    with stream:
        yield stream


@contextmanager
def _progress() -> Any:
    """A callback that draws bars on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn as Bar
    from rich.progress import Progress, TextColumn

    with Progress(
        TextColumn("{task.description}"),
        Bar(),
        TextColumn("{task.completed:,}"),
        transient=True,
        console=Console(stderr=True),
    ) as bars:
        tasks: dict[str, Any] = {}

        def report(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield report
