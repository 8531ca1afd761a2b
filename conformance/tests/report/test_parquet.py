"""Parquet reports: findings, and what was not checked, as rows."""

import json
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from helpers.reports import make_divergence, make_finding, make_not_compared, not_checked, report
from msgspec.structs import replace

from deltaspec.report.parquet import SCHEMA, render_parquet
from deltaspec.report.report_types import AcceptedFinding, Refusal, Report


def read(shown: Report) -> pa.Table:
    return pq.read_table(BytesIO(render_parquet(shown)))


def list_rows(shown: Report) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read(shown).to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def test_finding_has_every_column() -> None:
    (row,) = list_rows(report(make_finding(column="c", fingerprint="1f", cause="FIL037"), verdict="violations"))
    assert list(row) == SCHEMA.names
    assert (row["kind"], row["rule"], row["line"], row["fingerprint"]) == ("finding", "FIL001", 3, "1f")
    assert json.loads(row["evidence"]) == {"path_fault": "holds a space"}
    assert (row["fix"], row["fix_class"]) == ("rewrite the file's entry with its name percent-encoded.", "rewrite")
    assert row["cause"] == "FIL037"


def test_report_without_findings_keeps_columns_and_metadata() -> None:
    table = read(report())
    assert (len(table), table.schema.names) == (0, SCHEMA.names)
    head = json.loads(table.schema.metadata[b"deltaspec"])
    assert (head["verdict"], head["checked"]["run"]) == ("conforms", ["FIL001", "LOG001", "STA002"])


def test_what_was_not_checked_has_rows() -> None:
    shown = report(
        make_finding(),
        totals={"FIL001": 3},
        verdict="refused",
        not_checked=[not_checked(), not_checked(accepted=True)],
        derived_files_not_compared=[make_not_compared("8.crc")],
    )
    accepted = AcceptedFinding(finding=make_divergence(), source="baseline")
    shown = replace(shown, refusal=Refusal(requirement="a.b", why="feature y"), accepted=[accepted])
    found = {row["kind"]: row["message"] for row in list_rows(shown)}
    assert found == {
        "finding": "The path of a file is not a URI reference.",
        "accepted": "Odd statistics.",
        "not shown": "2 findings more",
        "refused": "feature y",
        "not checked": "no permission to read",
        "accepted unchecked": "no permission to read",
        "not compared": "not compared: 8.crc: history is latest",
    }


def test_any_text_can_be_stored() -> None:
    (row,) = list_rows(report(make_finding(path="\x00\u202e\ud800")))
    assert row["path"] == "\x00\u202e\\ud800"
