"""Validation on Spark, for notebooks and jobs.

from deltaspec.spark import validate
report = validate(spark, "s3a://bucket/table", level="rows")
report.show()
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from deltaspec.report.report_types import Report

if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Unpack

    from pyspark.sql import DataFrame, SparkSession

    from deltaspec.validation.options import OptionArguments
    from deltaspec.validation.progress import Progress

__all__ = ["SparkReport", "validate"]


def validate(
    spark: SparkSession,
    table: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    state: str | None = None,
    resume: bool = False,
    findings_out: str | None = None,
    budget: str | float | timedelta | None = None,
    **options: Unpack[OptionArguments],
) -> SparkReport:
    """Validate a table on a Spark session, classic or Connect.

    Args:
        spark: its executors have the same build of deltaspec.
        table: path, URI, or name in the catalog: `table`, `schema.table` or `catalog.schema.table`. The catalog comes
            first, except for a name with dots that is a local directory.
        storage_options: as in `deltaspec.validate`. They are not put into the environment of executors.
        progress: as in `deltaspec.validate`.
        state: directory or URI for the resume state, which all executors can write to. It is trusted like the kit
            itself, and may be deleted when the run has finished.
        resume: continue from the state in `state`, if there is one.
        findings_out: URI of a new directory for every finding, as Parquet. Cannot be combined with `state`.
        budget: as in `deltaspec.validate`. Tasks stop between buckets; with `state`, the run stops between jobs.
        options: as in `deltaspec.validate`.

    Raises:
        InvalidUsage: as in `deltaspec.validate`, or executors have another build of deltaspec.
        TableUnreadable: there is no table.
        SparkFailed: a Spark job failed.
    """
    from deltaspec.validation.options import Options
    from deltaspec.validation.request import ValidateRequest, run_request
    from deltaspec.wire.storage.settings import StorageSettings

    request = ValidateRequest(
        table=table,
        options=Options.create(**options),
        backend="spark",
        storage=StorageSettings(storage_options),
        state=state,
        resume=resume,
        findings_out=findings_out,
        budget=budget,
    )
    return SparkReport(spark, run_request(request, progress, session=spark).report, findings_out)


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
        """Findings as a Spark DataFrame: all of them if `findings_out` was given, else the first of each rule."""
        if self._findings_out is not None:
            return self._spark.read.parquet(self._findings_out)
        from deltaspec.validation.findings_table import findings_to_tuples
        from deltaspec.validation.spark.findings_output import FINDINGS_DDL

        return self._spark.createDataFrame(findings_to_tuples(self.report.findings), FINDINGS_DDL)

    def show(self, samples: int = 5) -> None:
        """Print the report as the command line does.

        Args:
            samples: number of findings of each rule.
        """
        from rich.console import Console

        from deltaspec.report import terminal

        terminal.write(self.report, Console(file=sys.stdout, width=100, highlight=False), samples)

    def to_json(self) -> str:
        """Return the report as `deltaspec validate --format json` prints it."""
        return msgspec.json.encode(self.report).decode()
