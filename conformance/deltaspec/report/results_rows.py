"""Results of runs as rows of one table, to which every run is appended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.report.parquet import replace_lone_surrogates
from deltaspec.report.report_types import Report
from deltaspec.report.tables_summary import TableResult
from deltaspec.scales import SEVERITIES

SCHEMA = pa.schema(
    {
        "run": pa.string(),
        "time": pa.timestamp("us", "UTC"),
        "table": pa.string(),
        "kind": pa.string(),
        "version": pa.int64(),
        "level": pa.string(),
        "rule": pa.string(),
        "severity": pa.string(),
        "location": pa.string(),
        "message": pa.string(),
        "evidence": pa.string(),
        "fingerprint": pa.string(),
        "verdict": pa.string(),
        "exit_code": pa.int32(),
        **{f"{severity}s": pa.int64() for severity in SEVERITIES},
        "accepted": pa.int64(),
        "not_checked": pa.int64(),
        "seconds": pa.float64(),
        "deltaspec": pa.string(),
    }
)
"""Columns of the table. `kind` is:

- `table`: one row for each table and run, with the columns from `verdict` on. `message` says why there is no report.
- `finding`: a finding that the report has; `evidence` is a JSON object.
- `not checked`: a rule that could not be decided; `message` is the reason.

`run` is the same text in all rows of a run, and `time` is when the run began.
"""

Result = tuple[TableResult, Report | None]
"""Result of a table, and its report; None if there is none."""


def build_results(run: str, begun: datetime, version: str, results: Iterable[Result]) -> pa.Table:
    """Build the rows of a run.

    Args:
        run: identifies the run.
        begun: when the run began, with a time zone.
        version: release of deltaspec.
        results: of all tables.
    """
    rows = []
    for result, report in results:
        head = {"run": run, "time": begun, "table": result.table, "version": result.version, "level": result.level}
        rows += [replace_lone_surrogates({**head, **row}) for row in _list_rows(result, report, version)]
    return pa.Table.from_pylist(rows, SCHEMA)


def _list_rows(result: TableResult, report: Report | None, version: str) -> Iterator[dict[str, Any]]:
    has_report = result.level is not None
    yield {
        "kind": "table",
        "message": result.reason or result.exit_reason,
        "verdict": result.verdict,
        "exit_code": int(result.exit_code),
        **{f"{each}s": result.counts.get(each, 0) if has_report else None for each in SEVERITIES},
        "accepted": result.accepted if has_report else None,
        "not_checked": result.not_checked if has_report else None,
        "seconds": result.seconds,
        "deltaspec": version,
    }
    if report is None:
        return
    for each in report.findings:
        evidence = msgspec.json.encode(each.evidence).decode()
        values = {name: getattr(each, name) for name in ("rule", "severity", "location", "message", "fingerprint")}
        yield {"kind": "finding", **values, "evidence": evidence}
    for entry in report.checked.not_checked:
        yield {"kind": "not checked", "rule": entry.rule, "location": entry.file, "message": entry.reason}
