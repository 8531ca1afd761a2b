"""Output of all commands: plain text, and bytes for machines."""

import sys
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

import click

from deltaspec.output_files import translate_write_errors, write_file

_WIDTH = 100


def encode_json(value: Any) -> bytes:
    """Encode a value as indented JSON, as `deltaspec.report.json_text.encode_json`."""
    from deltaspec.report.json_text import encode_json as encode

    return encode(value)


def print_bytes(data: bytes) -> None:
    """Print machine-readable output to stdout."""
    with translate_write_errors("stdout"):
        click.echo(data, nl=False)


def print_text(text: str) -> None:
    """Print a line of plain text."""
    with translate_write_errors("stdout"):
        click.echo(text)


def build_console(stream: Any, color: str) -> Any:
    """Build a rich console that leaves text unchanged: no markup, no emoji, no wrapping."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, our code for violations

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


def write_text_or_json(value: Any, write_text: Callable[[Any, Any], None], options: Mapping[str, Any]) -> None:
    """Write a value to `--output`, or else to stdout.

    Args:
        value: a record.
        write_text: writes it as text to a console.
        options: values of `output_format` (`text` or `json`), `output` and `color`.

    Raises:
        InvalidUsage: the file cannot be written.
    """
    output, color = options["output"], options["color"]
    if options["output_format"] == "json":
        data = encode_json(value)
    elif output is None:
        with translate_write_errors("stdout"):
            write_text(value, build_console(sys.stdout, color))
        return
    else:
        text = StringIO()
        write_text(value, build_console(text, "never" if color == "auto" else color))
        data = text.getvalue().encode()
    if output is None:
        print_bytes(data)
    else:
        write_file(output, data)
