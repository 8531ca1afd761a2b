"""Output of all commands: plain text, bytes for machines, and a progress bar on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from deltaspec.exit_handling import translate_write_errors

_WIDTH = 100
PROGRESS_DELAY_SECONDS = 1.0
"""Runs shorter than this show no progress bar."""


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


@contextmanager
def progress_bar() -> Iterator[Any]:
    """Yield a callback that draws a bar on stderr in longer runs, or None if stderr is not a terminal."""
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
        if time.monotonic() - started > PROGRESS_DELAY_SECONDS:
            bars.start()

    try:
        yield report
    finally:
        bars.stop()
