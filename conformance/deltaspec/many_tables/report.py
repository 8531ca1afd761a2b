"""The result of `validate_many`: a summary, and a report for each table."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.errors import ValidationFailed
from deltaspec.exit_codes import ExitCode
from deltaspec.report.report_types import Report
from deltaspec.report.tables_summary import TableResult, TablesSummary
from deltaspec.report.text import count, escape_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_RAISED_TABLES = 10
_ROWS_SHOWN = 100


class TablesReport(msgspec.Struct, frozen=True):
    """Results of a run over several tables."""

    summary: TablesSummary
    """What `deltaspec validate --format json` prints for several tables."""
    reports: list[Report | None]
    """Report of each table of the summary, in the same order; None if there is none."""

    @property
    def tables(self) -> list[TableResult]:
        """Result of each table."""
        return self.summary.tables

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of the worst table, as the command line returns it."""
        return ExitCode(self.summary.exit_code)

    def raise_for_violations(self, *, require_complete: bool = False) -> None:
        """Raise an exception if a table violates the protocol.

        Args:
            require_complete: raise also if a table was not validated, or not completely.

        Raises:
            ValidationFailed: the message has the summary line and the first of these tables.
        """
        verdicts = {"conforms"} if require_complete else {each.verdict for each in self.tables} - {"violations"}
        failed = [each for each in self.tables if each.verdict not in verdicts]
        if not failed:
            return
        lines = [self.summary.summary_line]
        for each in failed[:_RAISED_TABLES]:
            reason = f": {escape_text(each.reason)}" if each.reason else ""
            lines.append(f"  {each.verdict} {escape_text(each.table)}{reason}")
        if len(failed) > _RAISED_TABLES:
            lines.append(f"  and {count(len(failed) - _RAISED_TABLES, 'table')} more")
        raise ValidationFailed("\n".join(lines))

    def to_json(self) -> str:
        """Return the summary as `deltaspec validate --format json` prints it."""
        return self.summary.to_json()

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as dictionaries, lists and plain values."""
        return self.summary.to_dict()

    def to_arrow(self) -> pa.Table:
        """Return a row for each table: location, verdict, numbers of findings, and why there is no report."""
        return self.summary.to_arrow()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows of `to_arrow` as a Polars data frame."""
        return self.summary.to_polars()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of `to_arrow` as a pandas data frame.

        Raises:
            InvalidUsage: pandas is not installed.
        """
        return self.summary.to_pandas()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary as JSON. `Report.save` of each report writes what `since` needs.

        Raises:
            InvalidUsage: the file cannot be written.
        """
        self.summary.save(path)

    def show(self) -> None:
        """Print the summary as the command line does."""
        self.summary.show()

    def __repr__(self) -> str:
        return f"<TablesReport {self.summary.summary_line}>"

    def _repr_html_(self) -> str:
        """Return the summary as an HTML table for notebooks; tables that conform without findings come last."""
        shown = sorted(self.tables, key=lambda each: not each.is_notable)[:_ROWS_SHOWN]
        titles = ("verdict", "violations", "warnings", "divergences", "unchecked", "table", "reason")
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in _list_cells(each))}</tr>" for each in shown)
        if len(self.tables) > len(shown):
            body += f'<tr><td colspan="7">and {count(len(self.tables) - len(shown), "table")} more</td></tr>'
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        notes = "".join(f"<p>{escape(escape_text(note))}</p>" for note in self.summary.notes)
        return f"<div><p>{escape(escape_text(self.summary.summary_line))}</p>{table}{notes}</div>"


def _list_cells(result: TableResult) -> list[str]:
    numbers = [result.counts.get(severity, 0) for severity in ("violation", "warning", "divergence")]
    cells = [result.verdict, *numbers, result.not_checked, result.table, result.reason or ""]
    return [escape(escape_text(str(cell))) for cell in cells]
