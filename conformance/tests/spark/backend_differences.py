"""Compare the reports of both backends on one table."""

from __future__ import annotations

from typing import Any

from helpers.backends import find_differences, report_to_builtins, validate_on_spark

import deltaspec

EXPRESSION_RULES = ("ROW040", "ROW041", "ROW042", "ROW043", "ROW044")
"""Rules that check rows against expressions of the metadata."""
_NEEDS_SPARK = " needs Spark: "
_TITLES = {"CHECK": "CHECK constraint", "invariant": "the invariant of", "generated": "the expression of"}


def find_backend_differences(spark: Any, uri: str, buckets: int, **options: Any) -> list[str]:
    """Compare the reports of both backends, without expressions that only Spark evaluates.

    Args:
        spark: a session.
        uri: URI of the table.
        buckets: number of buckets of the Spark backend.
        options: options of `deltaspec.validate`.
    """
    embedded = report_to_builtins(deltaspec.validate(uri, **options))
    on_spark = report_to_builtins(validate_on_spark(spark, uri, bucket_count=buckets, **options))
    needing_spark = {
        each["reason"].partition(_NEEDS_SPARK)[0]
        for each in embedded["checked"]["not_checked"]
        if each["rule"] in EXPRESSION_RULES and _NEEDS_SPARK in each["reason"]
    }
    return find_differences(_remove_expressions(embedded, needing_spark), _remove_expressions(on_spark, needing_spark))


def _remove_expressions(report: dict[str, Any], titles: set[str]) -> dict[str, Any]:
    """Remove findings, ledger entries and totals of some expressions from a report."""
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
    removed = [each for each in report["findings"] if each["rule"] in EXPRESSION_RULES and _title(each) in titles]
    report["findings"] = [each for each in report["findings"] if each not in removed]
    totals = report["totals"]
    for each in removed:
        totals[each["rule"]] -= 1
        report["counts"][each["severity"]] -= 1
    report["totals"] = {code: number for code, number in totals.items() if number}
    del report["verdict"]
    return report


def _title(finding: dict[str, Any]) -> str:
    evidence = finding["evidence"]
    name = evidence.get("constraint") or finding["column"]
    return f"{_TITLES[evidence['kind']]} {name}"
