"""Render the summary of several tables as text: a row for each, and why a table has no report."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from deltaspec.report.ledger_text import list_outdated_of_tables
from deltaspec.report.tables_summary import TableResult, TablesSummary
from deltaspec.report.text import count, escape_text, wrap_text
from deltaspec.scales import SEVERITIES

_HEADER = ("verdict", *(f"{severity}s" for severity in SEVERITIES), "unchecked", "time", "table")
_STYLES = {"violations": "bold red", "failed": "bold red", "unreadable": "bold red", "unavailable": "bold red"}
_INDENT = "    "


def write_summary(summary: TablesSummary, console: Console) -> None:
    """Print a row for each table, and a line with the number of tables by verdict."""
    rows = [_HEADER, *map(_build_row, summary.tables)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER) - 1)]
    for number, row in enumerate(rows):
        numbers = (f"{cell:>{width}}" for cell, width in zip(row[1:-1], widths[1:], strict=True))
        style = "dim" if number == 0 else _STYLES.get(row[0], "")
        line = "  ".join((f"{row[0]:<{widths[0]}}", *numbers, row[-1]))
        console.print(Text(line, style=style))
        reason = summary.tables[number - 1].reason if number else None
        if reason is not None:
            for each in wrap_text(escape_text(reason), console.width, indent=_INDENT):
                console.print(Text(_INDENT + each.removeprefix(_INDENT)))
    results = summary.tables
    if accepted := sum(each.accepted for each in results):
        number = sum(each.accepted > 0 for each in results)
        console.print(Text(f"{count(accepted, 'finding')} of {count(number, 'table')} accepted", style="dim"))
    if all(each.level is not None for each in results):  # otherwise entries may be used in the others
        for line in list_outdated_of_tables([(each.accept, each.baseline) for each in results]):
            console.print(Text(line, style="dim"))
    for note in summary.notes:
        console.print(Text(escape_text(note), style="bold red"))
    console.print(Text(summary.summary_line, style="bold"))


def _build_row(result: TableResult) -> tuple[str, ...]:
    if result.level is None:
        counts = [""] * (len(SEVERITIES) + 1)
    else:
        counts = [f"{result.counts.get(each, 0):,}" for each in SEVERITIES] + [f"{result.not_checked:,}"]
    return result.verdict, *counts, f"{result.seconds:.1f} s", escape_text(result.table)
