"""What is right and what is wrong with an environment, line by line."""

from typing import Any, Literal

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from deltaspec.report.text import escape_text, wrap_text

DOCTOR_VERSION = 1
Status = Literal["ok", "note", "problem"]
_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}
_WIDTH = 9


class Check(Struct, frozen=True):
    """One fact of an environment."""

    status: Status
    """`note`: what may be wanted or be in the way, and hinders nothing that was asked for."""
    what: str
    says: str
    todo: str | None = None
    """What to install or to set."""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """All that was looked at."""

    doctor_version: int
    deltaspec: str
    checks: list[Check]


def write_check(check: Check, console: Console) -> None:
    """Print a check, and below it what to do."""
    lines = wrap_text(escape_text(f"{check.what}: {check.says}"), console.width - _WIDTH)
    lines += wrap_text(escape_text(f"to do: {check.todo}"), console.width - _WIDTH) if check.todo else []
    head: Any = (f"{check.status:<{_WIDTH}}", _STYLES[check.status])
    for line in lines:
        console.print(Text.assemble(head, line))
        head = " " * _WIDTH
