"""Results of `deltaspec doctor` as values and as text."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from deltaspec.report.text import escape_text, wrap_text

DOCTOR_VERSION = 2
Status = Literal["ok", "note", "problem"]
_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}
_WIDTH = 9


class Check(msgspec.Struct, frozen=True):
    """Result of one check of the environment."""

    status: Status
    """`note` reports something that may matter but does not prevent what was requested."""
    name: str
    message: str
    fix: str | None = None
    """What to install or configure."""


def name_fixes_once(checks: Iterable[Check]) -> Iterator[Check]:
    """Yield checks without the fixes that an earlier one has named, in its fix or in its message."""
    named = ""
    for check in checks:
        yield check if check.fix is None or check.fix not in named else replace(check, fix=None)
        named += f"{check.message}\n{check.fix}\n"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Results of all checks."""

    doctor_version: int
    deltaspec: str
    checks: list[Check]


def write_check(check: Check, console: Console) -> None:
    """Print the result of a check, and below it the fix."""
    lines = wrap_text(escape_text(f"{check.name}: {check.message}"), console.width - _WIDTH)
    lines += wrap_text(escape_text(f"fix: {check.fix}"), console.width - _WIDTH) if check.fix else []
    head: Any = (f"{check.status:<{_WIDTH}}", _STYLES[check.status])
    for line in lines:
        console.print(Text.assemble(head, line))
        head = " " * _WIDTH
