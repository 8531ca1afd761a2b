"""How commands end: errors on stderr, signals, and exit codes."""

import signal
import sys
import tempfile
import threading
from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import click

from deltaspec.errors import DeltaspecError
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import drop_stdout, translate_write_errors
from deltaspec.version import __version__
from deltaspec.wire.storage.interruption import IS_ENDING

EXIT_CODE_KEY = "deltaspec.exit_code"
"""Key of the context's `meta`: exit code to use if the reader of stdout closes the pipe."""


class Terminated(BaseException):
    """Raised on SIGTERM, so that the process cleans up as it does on an interrupt."""


class Commands(UserDict[str, click.Command]):
    """Commands by name. The modules that define them are imported when they are needed."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        """Create the commands.

        Args:
            modules: name of each command, which is also the name of its function, to the module of
                `deltaspec.commands`.
        """
        super().__init__()
        self._modules = modules

    def __getitem__(self, name: str) -> click.Command:
        if name in self._modules and name not in self.data:
            self.data[name] = getattr(import_module(f"deltaspec.commands.{self._modules[name]}"), name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.data, *self._modules]))

    def __len__(self) -> int:
        return len(list(iter(self)))


class CommandGroup(click.Group):
    """A command group that turns every exception into one line on stderr and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                with _handling_signals():
                    return super().invoke(ctx)
            finally:
                with translate_write_errors("stdout"):
                    sys.stdout.flush()
        except BrokenPipeError:
            drop_stdout()
            sys.exit(ctx.meta.get(EXIT_CODE_KEY, ExitCode.OK))
        except DeltaspecError as fault:
            _fail(str(fault), fault.exit_code)
        except KeyboardInterrupt:
            _fail("interrupted", ExitCode.INTERRUPTED)
        except Terminated:
            _fail("terminated", ExitCode.TERMINATED)
        except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit, GeneratorExit):
            raise
        except BaseException as fault:  # noqa: BLE001 - panics of native code are not of class Exception
            _fail(describe_bug(fault), ExitCode.BUG)


@contextmanager
def _handling_signals() -> Iterator[None]:
    """Make SIGTERM raise `Terminated`, and let requests that are retried fail on SIGTERM and SIGINT.

    Another handler that the process already has is kept.
    """

    def terminate(*_: object) -> NoReturn:
        IS_ENDING.set()
        raise Terminated

    def interrupt(*_: object) -> NoReturn:
        IS_ENDING.set()
        raise KeyboardInterrupt

    handlers: list[tuple[int, Any, Any]] = [
        (signal.SIGTERM, signal.SIG_DFL, terminate),
        (signal.SIGINT, signal.default_int_handler, interrupt),
    ]
    is_main = threading.current_thread() is threading.main_thread()
    installed = [each for each in handlers if is_main and signal.getsignal(each[0]) == each[1]]
    for number, _, handler in installed:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, before, _ in installed:
            signal.signal(number, before)
        IS_ENDING.clear()


def make_waits_interruptible() -> None:
    """Let SIGINT end waits for other threads. Polars, when it is imported, makes them continue after a signal."""
    if threading.current_thread() is threading.main_thread():
        signal.siginterrupt(signal.SIGINT, True)


def _fail(message: str, code: ExitCode) -> NoReturn:
    from deltaspec.report.text import escape_text

    click.echo(f"deltaspec: {escape_text(message, 1000)}", err=True)
    sys.exit(code)


def describe_bug(fault: BaseException) -> str:
    """Write the details of an exception to a file, and return a line that names it."""
    return f"bug in deltaspec: {type(fault).__name__}: {fault}; details in {_write_crash_file(fault)}"


def _write_crash_file(fault: BaseException) -> str:
    import platform
    import traceback

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="deltaspec-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(f"deltaspec {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
            traceback.print_exception(fault, file=file)
            return file.name
    except OSError as error:
        return f"no file, because none could be written ({error.strerror})"
