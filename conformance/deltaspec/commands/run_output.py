"""Output of the commands that write one report: formats, files, events and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from deltaspec.commands.printing import encode_json, print_bytes
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.exit_handling import EXIT_CODE_KEY
from deltaspec.output_files import write_file

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Renderers = Mapping[str, Callable[[T], "str | bytes"]]
"""Functions that render a report, by name of the format. Without one for `json`, `encode_json` does."""

OUTPUT = click.option(
    "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report to this file."
)
EVENTS = click.option(
    "--events",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write each result as a line of JSON when it ends.",
)


def format_option(*formats: str) -> Callable[[F], F]:
    """Return the option `--format`; the first format is the default."""
    return click.option("--format", "output_format", type=click.Choice(formats), default=formats[0], show_default=True)


def resume_option(results: str) -> Callable[[F], F]:
    """Return the option `--resume` of a command with `--events`.

    Args:
        results: what an earlier run has done, such as `Trials in the --events file are not run again.`
    """
    return click.option(
        "--resume", is_flag=True, help=f"Continue an interrupted run with the same arguments. {results}"
    )


def require_events(events: str | None, *, resume: bool) -> None:
    """Raise `InvalidUsage` if a run is resumed without the events of the earlier one."""
    if resume and events is None:
        raise InvalidUsage("--resume needs --events")


def render_report(report: T, renderers: Renderers[T], output_format: str) -> bytes:
    """Render a report in one of the formats of a command. Text ends with a line break."""
    if output_format not in renderers and output_format == "json":
        return encode_json(report)
    rendered = renderers[output_format](report)
    if isinstance(rendered, bytes):
        return rendered
    return (rendered if rendered.endswith("\n") else f"{rendered}\n").encode()


def write_report(
    report: T, renderers: Renderers[T], output_format: str, output: str | None, exit_code: ExitCode
) -> None:
    """Write a report to a file or to stdout.

    Args:
        report: of the command.
        renderers: by name of the format.
        output_format: value of `--format`.
        output: value of `--output`; None for stdout.
        exit_code: of the command, even if the reader of stdout closes the pipe.

    Raises:
        InvalidUsage: the file cannot be written.
    """
    click.get_current_context().meta[EXIT_CODE_KEY] = exit_code
    data = render_report(report, renderers, output_format)
    if output is None:
        print_bytes(data)
    else:
        write_file(output, data)
