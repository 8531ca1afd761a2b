"""Both engines on one table: what their reports say otherwise."""

from __future__ import annotations

from typing import Any

from helpers.engines import find_differences, report_to_builtins

from deltaspec.validation import validate_table
from deltaspec.validation.spark.run import validate

EXPRESSION_RULES = ("ROW040", "ROW041", "ROW042", "ROW043", "ROW044")
"""Rules that hold rows to expressions of the metadata."""
_NEEDS_SPARK = " needs Spark: "
_TITLES = {"CHECK": "CHECK constraint", "invariant": "the invariant of", "generated": "the expression of"}


def find_engine_differences(spark: Any, uri: str, buckets: int, **options: Any) -> list[str]:
    """What the Spark engine says otherwise than the embedded one, the expressions left out that need Spark.

    Args:
        spark: a session.
        uri: of the table.
        shares: over how many shares Spark spreads its files.
        options: of `validate_table`.
    """
    here = report_to_builtins(validate_table(uri, **options))
    there = report_to_builtins(validate(spark, uri, buckets=buckets, **options))
    left = {
        each["reason"].partition(_NEEDS_SPARK)[0]
        for each in here["checked"]["not_checked"]
        if each["rule"] in EXPRESSION_RULES and _NEEDS_SPARK in each["reason"]
    }
    return find_differences(_without(here, left), _without(there, left))


def _without(report: dict[str, Any], titles: set[str]) -> dict[str, Any]:
    """A report without what it says of some expressions, and of what follows from that."""
    if not titles:
        return report
    checked = report["checked"]
    checked["not_checked"] = [
        each
        for each in checked["not_checked"]
        if each["rule"] not in EXPRESSION_RULES or not each["reason"].startswith(tuple(f"{each} " for each in titles))
    ]
    for name in ("run", "not_applicable"):
        checked[name] = [code for code in checked[name] if code not in EXPRESSION_RULES]
    checked["reasons"] = {code: why for code, why in checked["reasons"].items() if code not in EXPRESSION_RULES}
    left = [each for each in report["findings"] if each["rule"] in EXPRESSION_RULES and _title(each) in titles]
    report["findings"] = [each for each in report["findings"] if each not in left]
    totals = report["totals"]
    for each in left:
        totals[each["rule"]] -= 1
        report["counts"][each["severity"]] -= 1
    report["totals"] = {code: number for code, number in totals.items() if number}
    del report["verdict"]
    return report


def _title(finding: dict[str, Any]) -> str:
    evidence = finding["evidence"]
    name = evidence.get("constraint") or finding["column"]
    return f"{_TITLES[evidence['kind']]} {name}"
