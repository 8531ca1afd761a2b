"""The summary of a run over several tables: a row for each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import field

from deltaspec.json_schemas import describe_type
from deltaspec.report.report_api import ReportApi
from deltaspec.report.report_types import AcceptEntry, Baseline, Report, Verdict
from deltaspec.report.text import count

TABLES_VERSION = 1
"""Increases when a field is removed or changes its meaning. A new field keeps it."""
TableVerdict = Verdict | Literal["unreadable", "unavailable", "failed", "not run"]


class TableResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a run over one table."""

    table: str
    """Path or URI, without secrets."""
    version: int | None = None
    """The validated version; None if there is no snapshot, or no report."""
    level: str | None = None
    """Level of the run; None if there is no report."""
    verdict: TableVerdict
    """The verdict of the report. `unreadable`: there is no table, or the request is invalid for it. `unavailable`: the
    storage did not answer. `failed`: a defect of deltaspec, or the process ended. `not run`: the run was interrupted
    before, or the storage did not answer for the tables before (`notes` of the summary)."""
    exit_code: int
    exit_reason: str | None = None
    """Why the exit code is not the exit code of the verdict, such as `--fail-on warning`; None if it is."""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of all findings, by severity."""
    accepted: int = 0
    """Number of findings that the user accepted."""
    accept: list[AcceptEntry] = field(default_factory=list)
    """Entries of the configuration that accept findings of this table."""
    baseline: Baseline | None = None
    """The baseline that the findings were compared with."""
    not_checked: int = 0
    """Number of rules and table features that could not be decided completely."""
    seconds: float = 0.0
    reason: str | None = None
    """Why there is no report, or why it could not be written."""
    reports: list[str] = field(default_factory=list)
    """Files with the report of this table."""

    @property
    def is_notable(self) -> bool:
        """Whether there is anything to report besides conformance."""
        return self.exit_code != 0 or self.verdict != "conforms" or any(self.counts.values())

    @classmethod
    def from_report(
        cls, report: Report, exit_code: int, seconds: float, files: Sequence[str], reason: str | None = None
    ) -> TableResult:
        """Summarize a report.

        Args:
            report: the report.
            exit_code: exit code of the command for this table.
            seconds: how long the run took.
            files: where the report was written.
            reason: why it could not be written.
        """
        return cls(
            table=report.table,
            version=report.version,
            level=report.level,
            verdict=report.verdict,
            exit_code=exit_code,
            exit_reason=report.exit_reason,
            counts=report.counts,
            accepted=sum(report.accepted_totals.values()),
            accept=report.accept,
            baseline=report.baseline,
            not_checked=len({each.rule for each in report.checked.not_checked}),
            seconds=seconds,
            reason=reason,
            reports=list(files),
        )


class TablesSummary(ReportApi, msgspec.Struct, frozen=True, kw_only=True):
    """Result of a run over several tables. The JSON Schema is published as `reports/tables.schema.json`."""

    tables_version: int
    deltaspec: str
    exit_code: int
    """Exit code of the worst table: 4, 2, 1, 5, 3, or 0; 130 or 143 if the run was interrupted."""
    seconds: float
    notes: list[str] = field(default_factory=list)
    """Sentences about several tables, such as a store that did not answer."""
    tables: list[TableResult]

    @property
    def summary_line(self) -> str:
        """Number of tables by verdict, and the exit code, in one line."""
        verdicts = Counter(each.verdict for each in self.tables)
        parts = [f"{number:,} {_describe_verdict(verdict, number)}" for verdict, number in sorted(verdicts.items())]
        reasons = {each.exit_reason for each in self.tables if each.exit_code == self.exit_code}
        known = sorted(each for each in reasons if each) if None not in reasons else []
        reason = f" ({', '.join(known)})" if known else ""
        return f"{count(len(self.tables), 'table')}: {', '.join(parts)} · exit {self.exit_code}{reason}"


def _describe_verdict(verdict: str, number: int) -> str:
    """Return the words that follow a number of tables."""
    if verdict == "conforms":
        return "conforms" if number == 1 else "conform"
    return "with violations" if verdict == "violations" else verdict


def build_tables_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `TablesSummary`."""
    schema = describe_type(TablesSummary)
    schema["$defs"]["TablesSummary"]["properties"]["tables_version"]["const"] = TABLES_VERSION
    title = f"deltaspec summary of tables, version {TABLES_VERSION}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def render_tables_schema() -> str:
    """Return the content of the published file."""
    return json.dumps(build_tables_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(render_tables_schema(), end="")
