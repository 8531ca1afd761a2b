"""Handmade reports for tests of the report formats."""

from typing import Any

from deltaspec.report.report_types import (
    Baseline,
    Checked,
    DerivedFileNotCompared,
    Finding,
    NotChecked,
    Report,
    RuleDoc,
    Verdict,
)

COMMIT = "_delta_log/00000000000000000007.json"
RULE_DOCS = {
    "FIL001": RuleDoc(
        statement="A path is a URI reference.",
        section="Add File and Remove File",
        strength="must",
        why="Readers decode it to different names, or fail.",
        fix="rewrite the file's entry with its name percent-encoded.",
        url="https://example.org/protocol#add",
        fix_class="rewrite",
    ),
    "STA002": RuleDoc("Statistics name columns.", "Per-file Statistics", "diverge S11", "It is unclear.", "None."),
}


def make_finding(**changes: Any) -> Finding:
    facts: dict[str, Any] = {
        "rule": "FIL001",
        "name": "malformed-path",
        "severity": "violation",
        "requirement": "add.path-encoding",
        "level": "log",
        "version": 7,
        "file": COMMIT,
        "line": 3,
        "path": "a b.parquet",
        "message": "The path of a file is not a URI reference.",
        "evidence": {"path_fault": "holds a space"},
    }
    return Finding(**(facts | changes))


def make_divergence(**changes: Any) -> Finding:
    return make_finding(
        rule="STA002", name="odd-statistics", severity="divergence", message="Odd statistics.", **changes
    )


def report(
    *findings: Finding, verdict: Verdict = "conforms", totals: dict[str, int] | None = None, **checked: Any
) -> Report:
    """Build a report of `findings`; `totals` may count more findings than are listed."""
    totals = totals or {each.rule: sum(other.rule == each.rule for other in findings) for each in findings}
    severity = {each.rule: each.severity for each in findings}
    counts = {"violation": 0, "warning": 0, "divergence": 0}
    for rule, number in totals.items():
        counts[severity[rule]] += number
    ledger: dict[str, Any] = {
        "run": ["FIL001", "LOG001", "STA002"],
        "not_applicable": ["CKP001"],
        "skipped": ["DOM001"],
        "not_checked": [],
        "derived_files_not_compared": [],
    }
    return Report(
        report_version=2,
        deltaspec="1.0.0rc1",
        table="/lake/sales",
        version=7,
        revision="current",
        level="log",
        engine="embedded",
        history="latest",
        verdict=verdict,
        counts=counts,
        totals=totals,
        findings=list(findings),
        rules=RULE_DOCS,
        checked=Checked(**(ledger | checked)),
    )


def make_baseline(**changes: Any) -> Baseline:
    facts: dict[str, Any] = {"file": "b.json", "known": 1, "new": 1, "gone": 0, "has_table": True}
    return Baseline(**(facts | changes))


def not_checked(**changes: Any) -> NotChecked:
    facts: dict[str, Any] = {"rule": "CRC001", "reason": "no permission to read", "file": "_delta_log/7.crc"}
    return NotChecked(**(facts | changes))


def make_not_compared(file: str, reason: str = "history is latest") -> DerivedFileNotCompared:
    return DerivedFileNotCompared(file=file, reason=reason)
