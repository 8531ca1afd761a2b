"""The check of a written table, for tests of other projects: `deltaspec.pytest.assert_conformant`."""

from __future__ import annotations

import os
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltaspec.report.report_types import Report


def assert_conformant(table: str | PathLike[str], *, level: str = "rows", **options: Any) -> None:
    """Fail if a table violates the protocol, or if part of it was not checked.

    Args:
        table: path or URI.
        level: log, files, footers or rows.
        options: as for `deltaspec.validate`.

    Raises:
        AssertionError: The text lists the findings, or what was not checked.
        TableUnreadable, InvalidUsage: There is no table, or an option is wrong.
    """
    import deltaspec
    from deltaspec.errors import DeltaspecError

    __tracebackhide__ = True
    try:
        report = deltaspec.validate(os.fspath(table), level=level, **options)
    except DeltaspecError as error:
        raise error.with_traceback(None) from None
    if report.verdict != "conforms":
        raise AssertionError(_render_report(report))


def _render_report(report: Report) -> str:
    from io import StringIO

    from deltaspec.commands.printing import build_console
    from deltaspec.report import terminal

    text = StringIO()
    terminal.write(report, build_console(text, "never"))
    return text.getvalue()
