"""How the command line ends: what it prints on stderr and its exit code, whatever happens."""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from deltaspec import __version__
from deltaspec.errors import DeltaspecError, InvalidUsage

BUG, INTERRUPTED, TERMINATED = 4, 130, 143
EXIT_CODE_KEY = "deltaspec.exit_code"
"""Key of the context's `meta`: how to exit when whoever reads the output goes away."""


class Terminated(BaseException):
    """A SIGTERM, by which schedulers end a process: it clears up behind itself, as where it is interrupted."""


class CommandGroup(click.Group):
    """Turns what the kit raises into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                with _terminable():
                    return super().invoke(ctx)
            finally:
                with translate_write_errors("stdout"):
                    sys.stdout.flush()
        except BrokenPipeError:
            _drop_stdout()
            sys.exit(ctx.meta.get(EXIT_CODE_KEY, 0))
        except DeltaspecError as fault:
            _fail(str(fault), fault.exit_code)
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)
        except Terminated:
            _fail("terminated", TERMINATED)
        except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit, GeneratorExit):
            raise
        except BaseException as fault:  # noqa: BLE001 - native code panics past Exception; its user gets one line too
            _fail(f"a defect of deltaspec: {type(fault).__name__}: {fault}; details in {_crash_file()}", BUG)


@contextmanager
def _terminable() -> Iterator[None]:
    """Have a SIGTERM raise `Terminated`, unless whoever started the process has it do something else."""
    is_ours = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if not is_ours:
        yield
        return

    def end(*_: object) -> NoReturn:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _fail(message: str, code: int) -> NoReturn:
    from deltaspec.report.text import escape_text

    click.echo(f"deltaspec: {escape_text(message, 1000)}", err=True)
    sys.exit(code)


def _crash_file() -> str:
    import platform
    import traceback

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="deltaspec-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(f"deltaspec {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
            traceback.print_exc(file=file)
            return file.name
    except OSError as fault:
        return f"no file, since none could be written ({fault.strerror})"


def _drop_stdout() -> None:
    """Send what is still buffered to nowhere, so that nothing complains at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def translate_write_errors(place: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as fault:
        if place == "stdout":
            _drop_stdout()
        raise InvalidUsage(f"{place}: cannot be written: {fault.strerror}") from fault
