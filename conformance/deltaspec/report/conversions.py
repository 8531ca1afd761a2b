"""Convert, print and save the report of a table."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
from rich.console import Console

from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.output_files import write_file
from deltaspec.report import terminal
from deltaspec.report.json_text import encode_json
from deltaspec.report.parquet import build_table
from deltaspec.report.report_types import Report
from deltaspec.report.tables_summary import TableResult, TablesSummary
from deltaspec.report.tables_text import write_summary
from deltaspec.scales import SEVERITIES

_WIDTH = 100
_TABLES = pa.schema(
    {
        **{name: pa.string() for name in ("table", "verdict", "reason", "level")},
        "version": pa.int64(),
        "exit_code": pa.int32(),
        **{f"{severity}s": pa.int64() for severity in SEVERITIES},
        **{name: pa.int64() for name in ("accepted", "not_checked")},
        "seconds": pa.float64(),
    }
)


def to_arrow(report: Report | TablesSummary) -> pa.Table:
    """Return the rows that `ReportApi.to_arrow` documents."""
    if isinstance(report, Report):
        return build_table(report)
    return pa.Table.from_pylist(list(map(_build_row, report.tables)), _TABLES)


def _build_row(result: TableResult) -> dict[str, Any]:
    counts = {f"{severity}s": result.counts.get(severity, 0) for severity in SEVERITIES}
    return {name: getattr(result, name, None) for name in _TABLES.names} | counts


def to_polars(report: Report | TablesSummary) -> Any:
    """Return the rows of `to_arrow` as a Polars data frame."""
    import polars as pl

    return pl.from_arrow(to_arrow(report))


def to_pandas(report: Report | TablesSummary) -> Any:
    """Return the rows of `to_arrow` as a pandas data frame.

    Raises:
        InvalidUsage: pandas is not installed.
    """
    if find_spec("pandas") is None:
        raise InvalidUsage(f"to_pandas needs pandas: {build_install_command('spark')}, or pip install pandas")
    return to_arrow(report).to_pandas()


def save(report: Report | TablesSummary, path: str | os.PathLike[str]) -> None:
    """Write the report as JSON."""
    write_file(path, encode_json(report))


def show(report: Report | TablesSummary, samples: int) -> None:
    """Print the report."""
    console = Console(file=sys.stdout, width=_WIDTH, highlight=False)
    if isinstance(report, Report):
        terminal.write(report, console, samples)
    else:
        write_summary(report, console)
