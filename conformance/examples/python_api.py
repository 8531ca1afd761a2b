"""The Python API, one function for each use. Copy what you need.

`python conformance/examples/python_api.py TABLE` validates a table and prints what each function returns.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl

import deltaspec
from deltaspec.errors import ValidationFailed


def check_table(table: str) -> dict[str, Any]:
    """Return the verdict of a table, and its findings by rule, for a log or a message."""
    report = deltaspec.validate(table, level="rows", hints=True)
    document = report.to_dict()  # as `deltaspec validate --format json`; to_json() returns the text
    return {name: document[name] for name in ("table", "version", "verdict", "totals")}


def stop_on_violations(table: str) -> str:
    """Return an empty text for a table that a pipeline may use, or else the message for its owner."""
    try:
        deltaspec.validate(table).raise_for_violations(require_complete=True)
    except ValidationFailed as fault:
        return str(fault)
    return ""


def check_new_files(table: str, last_report: Path) -> str:
    """Check the files that were added since the last report of the table, and replace the report."""
    since = str(last_report) if last_report.exists() else None
    report = deltaspec.validate(table, since=since)
    report.save(last_report)
    return report.verdict_line


def list_findings(tables: list[str]) -> pl.DataFrame:
    """Return a row for each finding of several tables. `to_pandas` and `to_arrow` return the same rows."""
    reports = deltaspec.validate_many(tables).reports
    frames = [report.to_polars().with_columns(table=pl.lit(report.table)) for report in reports if report is not None]
    return pl.concat(frames).filter(pl.col("kind") == "finding").select("table", "rule", "severity", "message", "path")


def find_unsafe_engines(table: str, engines: list[str]) -> dict[str, str]:
    """Return the verdict of each engine that does not return what the protocol says."""
    compared = deltaspec.compare(table, engines)
    return {engine.name: engine.verdict for engine in compared.engines if engine.verdict != "equal"}


def list_repairs(table: str) -> list[str]:
    """Return what `deltaspec repair` would do. Nothing is written."""
    return [repair.summary for repair in deltaspec.plan_repair(table).repairs]


if __name__ == "__main__":
    (name,) = sys.argv[1:]
    deltaspec.validate(name).show()
    for result in (check_table(name), stop_on_violations(name), list_findings([name]), list_repairs(name)):
        print(result)
