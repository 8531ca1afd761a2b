"""Validation on Spark, for notebooks and jobs.

from deltaspec.spark import validate
report = validate(spark, "s3a://bucket/table", level="rows")
report.show()
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deltaspec.report.report_types import Report

if TYPE_CHECKING:
    from datetime import timedelta
    from os import PathLike
    from typing import Unpack

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from deltaspec.many_tables.report import TablesReport
    from deltaspec.repair.apply import Applied
    from deltaspec.repair.plan_format import RepairPlan
    from deltaspec.validation.options import OptionArguments
    from deltaspec.validation.progress import Progress

__all__ = ["SparkReport", "apply_repair", "plan_repair", "validate", "validate_many"]


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
            first, except for a name with dots that is a local directory. `uc://catalog.schema.table` is a table of the
            Unity Catalog at `catalog`, which the driver asks.
        storage_options: as in `deltaspec.validate`. They are not put into the environment of executors.
        progress: as in `deltaspec.validate`. By default, a notebook shows the progress.
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
    with _notebook_progress(progress) as shown:
        return SparkReport(spark, run_request(request, shown, session=spark).report, findings_out)


def validate_many(
    spark: SparkSession,
    tables: str | Sequence[str],
    *,
    jobs: int = 4,
    results: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    budget: str | float | timedelta | None = None,
    **options: Unpack[OptionArguments],
) -> TablesReport:
    """Validate several tables on a Spark session, classic or Connect.

    Executors validate small tables with the embedded backend, many in one Spark job. A table is a run on Spark if a run
    reads more than 16 MiB of its log, if at level `footers` or `rows` its directories have more than 10,000 files or
    1 GiB, or if it has SQL expressions that only Spark evaluates. A table that cannot be read does not stop the others.

    Args:
        spark: its executors have the same build of deltaspec.
        tables: paths, URIs, globs over folders, and names in the catalog; `schema.*`, `catalog.schema.*` and
            `catalog.*` name the Delta tables of a schema or a catalog.
        jobs: Spark jobs to run at once.
        results: as in `deltaspec.validate_many`. The driver writes it.
        storage_options: as in `validate`, also for `results`.
        progress: called with `tables`, the number of tables that have ended, and their number. By default, a notebook
            shows it.
        budget: as in `deltaspec.validate`, for each table.
        options: as in `deltaspec.validate`.

    Raises:
        InvalidUsage: as in `deltaspec.validate_many`, or executors have another build of deltaspec.
    """
    from deltaspec.many_tables.validate import validate_tables

    with _notebook_progress(progress) as shown:
        return validate_tables(
            tables,
            options,
            jobs=jobs,
            results=results,
            storage_options=storage_options,
            progress=shown,
            budget=budget,
            session=spark,
        )


def plan_repair(
    spark: SparkSession,
    table: str,
    *,
    output: str | None = None,
    level: str = "rows",
    choose: Iterable[str] = (),
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    allow_outside: bool = False,
    writer_time_zone: str | None = None,
) -> RepairPlan:
    """Plan the repair of a table on a Spark session. Nothing is written into the table.

    The plan equals the one of `deltaspec.plan_repair`. Executors validate the table, and the table with the plan laid
    over it. The driver streams the log and reads the files that findings concern.

    Args:
        spark: as in `validate`.
        table: path, URI, or name in the catalog of Spark.
        output: new or empty directory of the driver for the plan; None to write none.
        level: as in `deltaspec.plan_repair`, like `choose`, `allow_outside` and `writer_time_zone`.
        choose: what only the owner of the data can decide.
        storage_options: as in `validate`.
        progress: as in `validate`.
        allow_outside: follow absolute paths that lead out of the table.
        writer_time_zone: as in `deltaspec.validate`.

    Raises:
        InvalidUsage: as in `deltaspec.plan_repair`, or executors have another build of deltaspec.
        TableUnreadable: as in `deltaspec.plan_repair`, or the driver cannot read the table, as on Spark Connect
            without storage clients for it.
        SparkFailed: a Spark job failed.
    """
    from deltaspec.repair.on_spark import plan_repair_on_spark

    with _notebook_progress(progress) as shown:
        return plan_repair_on_spark(
            spark,
            table,
            output=output,
            level=level,
            choose=choose,
            storage_options=storage_options,
            progress=shown,
            allow_outside=allow_outside,
            writer_time_zone=writer_time_zone,
        )


def apply_repair(
    spark: SparkSession,
    plan: str | PathLike[str],
    *,
    undo: bool = False,
    storage_options: Mapping[str, str] | None = None,
    allow_outside: bool = False,
) -> Applied:
    """Apply a plan as `deltaspec repair apply` does, with validations on a Spark session. This writes into the table.

    The driver writes, with the storage clients of deltaspec.

    Args:
        spark: as in `validate`.
        plan: folder of the plan, on the driver.
        undo: undo what was applied, except for the published commit.
        storage_options: as in `validate`.
        allow_outside: needed if the plan was made with it.

    Returns:
        The report of the table afterwards, and the files of the log that another process had changed.

    Raises:
        InvalidUsage: the folder is not a plan, or another process applies it.
        PlanRefused: the plan does not fit the table; nothing is changed.
        TableUnreadable: the storage failed; the next call continues.
        SparkFailed: a Spark job failed; the next call continues.
    """
    from deltaspec.repair.apply_on_spark import apply_repair_on_spark

    return apply_repair_on_spark(spark, plan, undo=undo, storage_options=storage_options, allow_outside=allow_outside)


@contextmanager
def _notebook_progress(progress: Progress | None) -> Iterator[Progress | None]:
    """Yield the callback, or in a notebook one that shows the progress below the cell if the user gave none."""
    from deltaspec.commands.progress import is_notebook, show_progress

    if progress is not None or not is_notebook():
        yield progress
        return
    with show_progress() as shown:
        yield shown


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

    def raise_for_violations(self, *, require_complete: bool = False) -> None:
        """Raise an exception if the table violates the protocol, as `Report.raise_for_violations`."""
        self.report.raise_for_violations(require_complete=require_complete)

    def __repr__(self) -> str:
        return f"<Spark{repr(self.report).removeprefix('<')}"

    def _repr_html_(self) -> str:
        """Return the report as an HTML table for notebooks."""
        return self.report._repr_html_()

    def show(self, samples: int = 5) -> None:
        """Print the report as the command line does.

        Args:
            samples: number of findings of each rule.
        """
        self.report.show(samples)

    def to_json(self) -> str:
        """Return the report as `deltaspec validate --format json` prints it."""
        return self.report.to_json()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dictionaries, lists and plain values."""
        return self.report.to_dict()

    def to_arrow(self) -> pa.Table:
        """Return the findings that the report has, and the ledger, as `Report.to_arrow`."""
        return self.report.to_arrow()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows of `to_arrow` as a Polars data frame."""
        return self.report.to_polars()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of `to_arrow` as a pandas data frame."""
        return self.report.to_pandas()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON to a file of the driver, for `since` of a later run.

        Raises:
            InvalidUsage: the file cannot be written.
        """
        self.report.save(path)
