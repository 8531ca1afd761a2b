"""Reports of many tables over several nights, without validating any."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.reports import make_finding, not_checked, report
from msgspec.structs import replace

from deltaspec.report.report_types import Inventory, Report
from deltaspec.rules import RULES
from deltaspec.validation.rule_docs import build_rule_doc

LAKE = "s3://lake"
NIGHTS = ("2026-11-27", "2026-11-28", "2026-11-29")
HOSTILE = "s3://lake/</script><script>alert(1)</script><img src=x onerror=alert(1)> \u202e"


def build_report(table: str, findings: Mapping[str, int], *, unchecked: tuple[str, ...] = (), size: int = 9) -> Report:
    """Return a report of a table with a number of findings of some rules."""
    found = [
        make_finding(
            rule=code,
            name=RULES[code].name,
            severity=RULES[code].severity,
            message=RULES[code].message,
            path=f"part-{number}.parquet",
            fingerprint=f"{code}-{number}",
        )
        for code, total in findings.items()
        for number in range(total)
    ]
    verdict: Any = "incomplete" if unchecked else "conforms"
    if any(each.severity == "violation" for each in found):
        verdict = "violations"
    ledger = [not_checked(rule=code, reason="no permission to read") for code in unchecked]
    built = report(*found, verdict=verdict, not_checked=ledger)
    run = [code for code in RULES if code not in unchecked]
    return replace(
        built,
        table=table,
        checked=replace(built.checked, run=run, not_applicable=[], skipped=[]),
        rules={code: build_rule_doc(code) for code in findings},
        inventory=build_inventory(size),
    )


def build_inventory(size: int) -> Inventory:
    """Return the inventory of a table with two live files."""
    return Inventory(
        files=3, bytes=size + 1, live_files=2, live_bytes=size, referenced_files=1, referenced_bytes=1,
        unreferenced_files=0, unreferenced_bytes=0, hidden_files=0, hidden_bytes=0, unreferenced=[], is_complete=True,
    )  # fmt: skip


def save_night(folder: Path, night: str, reports: Mapping[str, Report]) -> Path:
    """Write reports of a night, by name of the file, and return the folder of the night."""
    place = folder / night
    place.mkdir(parents=True, exist_ok=True)
    for name, each in reports.items():
        each.save(place / f"{name}.json")
    return place


def save_lake(folder: Path, tables: int = 12, nights: tuple[str, ...] = NIGHTS) -> None:
    """Write reports of a lake in which findings come and go.

    Every third table has violations from the second night on, every fourth one has had a warning that is gone in the
    last night, and the table with number 5 is not checked completely.
    """
    for at, night in enumerate(nights):
        reports = {}
        for number in range(tables):
            findings: dict[str, int] = {}
            if number % 3 == 0 and at > 0:
                findings = {"FIL007": at + number % 2, "CRC007": 1}
            if number % 4 == 1 and at < len(nights) - 1:
                findings |= {"PQT050": 2}
            unchecked = ("DAT001",) if number == 5 else ()
            name = f"{LAKE}/{'web' if number % 2 else 'sales'}/table-{number:04}"
            reports[f"t{number}"] = build_report(name, findings, unchecked=unchecked, size=1000 * (number + 1))
        save_night(folder, night, reports)
