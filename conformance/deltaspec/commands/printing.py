"""Output of all commands: plain text, and bytes for machines."""

from typing import Any

import click

from deltaspec.output_files import translate_write_errors

_WIDTH = 100


def encode_json(value: Any) -> bytes:
    """Encode a value as indented JSON in UTF-8, independent of the terminal's encoding."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


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
