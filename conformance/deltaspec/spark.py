"""Validation from a notebook or a job of Spark.

from deltaspec.spark import validate
report = validate(spark, "s3a://bucket/table", level="rows")
report.show()
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.report.report_types import Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkReport", "validate"]


def validate(
    spark: SparkSession,
    table: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    findings_out: str | None = None,
    **options: Any,
) -> SparkReport:
    """Judge a table on a session of Spark, classic or Connect.

    Args:
        spark: whose executors have deltaspec of the same release.
        table: path, URI, or `catalog.schema.table`.
        storage_options: variables of the storage clients, such as AWS_REGION or AWS_ACCESS_KEY_ID, that executors find
            set; never shown. Without them executors take what their environment says.
        findings_out: URI of a directory to write every finding to, as Parquet; it must not be there yet.
        options: those of `deltaspec.validation.validate_table`: `level`, `at`, `history`, `revision`, `clock`, `select`,
            `ignore`, `samples`, `accept_unchecked`, `allow_outside`, `progress`.

    Raises:
        InvalidUsage: an option that has no such value, an unknown rule, no such version.
        TableUnreadable: there is no table.
        SparkFailed: a job of Spark did not end.
    """
    from deltaspec.validation import spark as engine

    report = engine.validate(spark, table, environment=storage_options, findings_out=findings_out, **options)
    return SparkReport(spark, report, findings_out)


class SparkReport:
    """The report of a run, for a notebook."""

    def __init__(self, spark: SparkSession, report: Report, findings_out: str | None = None) -> None:
        self._spark = spark
        self._findings_out = findings_out
        self.report = report
        """Findings, ledger and verdict as plain values."""

    @property
    def verdict(self) -> str:
        """`conforms`, `violations`, `incomplete` or `refused`."""
        return self.report.verdict

    @property
    def findings(self) -> DataFrame:
        """Findings as a frame: every one if `findings_out` was given, else the first of each rule."""
        if self._findings_out is not None:
            return self._spark.read.parquet(self._findings_out)
        from deltaspec.validation.findings_table import findings_to_tuples
        from deltaspec.validation.spark.findings_output import FINDINGS_DDL

        return self._spark.createDataFrame(findings_to_tuples(self.report.findings), FINDINGS_DDL)

    def show(self, samples: int = 5) -> None:
        """Print what the command line prints.

        Args:
            samples: findings of each rule.
        """
        from rich.console import Console

        from deltaspec.report import terminal
        from deltaspec.rule_pages import build_rule_doc

        words = {finding.rule: build_rule_doc(finding.rule) for finding in self.report.findings}
        terminal.write(self.report, words, Console(file=sys.stdout, width=100, highlight=False), samples)

    def to_json(self) -> str:
        """The report as `deltaspec validate --format json` prints it."""
        return msgspec.json.encode(self.report).decode()
