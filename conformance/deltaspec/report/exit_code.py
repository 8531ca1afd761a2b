"""The exit code of a validation run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltaspec.report.report_types import Report, Verdict

_EXIT_CODES: dict[Verdict, int] = {"conforms": 0, "violations": 1, "incomplete": 3, "refused": 3}


def compute_exit_code(report: Report) -> int:
    """Return the exit code of the command line: 0 conforms, 1 violations, 3 incomplete or refused."""
    return _EXIT_CODES[report.verdict]
