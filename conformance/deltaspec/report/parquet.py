"""Render a report as a Parquet table, for a collection of many runs."""

from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.report.ledger_text import list_ledger
from deltaspec.report.report_types import Finding, Report
from deltaspec.report.text import count

SCHEMA = pa.schema(
    {
        "kind": pa.string(),
        "table": pa.string(),
        "rule": pa.string(),
        "name": pa.string(),
        "severity": pa.string(),
        "requirement": pa.string(),
        "level": pa.string(),
        "version": pa.int64(),
        "file": pa.string(),
        "line": pa.int64(),
        "path": pa.string(),
        "column": pa.string(),
        "message": pa.string(),
        "evidence": pa.string(),
        "fingerprint": pa.string(),
        "why": pa.string(),
        "fix": pa.string(),
        "url": pa.string(),
        "fix_class": pa.string(),
        "cause": pa.string(),
    }
)
"""Columns of the table. `kind` is `finding`, `accepted`, `not shown`, `refused`, `acceptance` (numbers and reasons of
accepted findings), `outdated`, `hints`, or how something was not checked: `not checked`, `accepted unchecked`,
`not compared`, `not read` or `not listed`; then `message` is the reason."""


def render_parquet(report: Report) -> bytes:
    """Return the bytes of the file. Its metadata has the report without findings as JSON, under `deltaspec`."""
    head = msgspec.json.encode(msgspec.structs.replace(report, findings=[], rules={}, accepted=[]))
    sink = BytesIO()
    pq.write_table(build_table(report).replace_schema_metadata({"deltaspec": head}), sink, compression="zstd")
    return sink.getvalue()


def build_table(report: Report) -> pa.Table:
    """Return the findings and the ledger as rows with the columns of `SCHEMA`."""
    rows = [{"table": report.table, "version": report.version, **row} for row in _list_rows(report)]
    return pa.Table.from_pylist([replace_lone_surrogates(row) for row in rows], SCHEMA)


def _list_rows(report: Report) -> Iterator[dict[str, Any]]:
    for finding in report.findings:
        yield {"kind": "finding", **_build_row(finding, report)}
    for accepted in report.accepted:
        yield {"kind": "accepted", **_build_row(accepted.finding, report)}
    shown = Counter(finding.rule for finding in report.findings)
    for code, total in report.totals.items():
        if total > shown[code]:
            yield {"kind": "not shown", "rule": code, "message": f"{count(total - shown[code], 'finding')} more"}
    if report.refusal is not None:
        yield {"kind": "refused", "requirement": report.refusal.requirement, "message": report.refusal.why}
    for each in report.checked.not_checked:
        kind = "accepted unchecked" if each.accepted else "not checked"
        yield {"kind": kind, "rule": each.rule, "file": each.file, "message": each.reason}
    for part in list_ledger(report):
        if not part.is_undecided:
            yield from ({"kind": part.kind, "message": entry} for entry in part.entries)


def _build_row(finding: Finding, report: Report) -> dict[str, Any]:
    doc = report.rules.get(finding.rule)
    row = {name: getattr(finding, name) for name in SCHEMA.names if name in finding.__struct_fields__}
    row["evidence"] = msgspec.json.encode(finding.evidence).decode()
    return row if doc is None else row | {"why": doc.why, "fix": doc.fix, "url": doc.url, "fix_class": doc.fix_class}


def replace_lone_surrogates(row: dict[str, Any]) -> dict[str, Any]:
    """Escape what UTF-8 cannot encode."""
    return {
        name: value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }
