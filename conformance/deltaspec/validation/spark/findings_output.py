"""Writes every finding of a run on Spark to Parquet, straight from where it was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from deltaspec.errors import InvalidUsage
from deltaspec.validation.findings import Findings
from deltaspec.validation.findings_table import FINDING_SCHEMA, InMemorySink
from deltaspec.validation.spark.jobs import Jobs, translating_spark_errors
from deltaspec.validation.spark.payloads import SCHEMA, batches_to_payloads, frame_to_payloads, payloads_to_frame
from deltaspec.validation.spark.spark_buckets import FINDINGS, SparkBuckets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TYPES = {pl.String: "string", pl.Int64: "bigint"}
FINDINGS_DDL = ", ".join(f"`{name}` {_TYPES[dtype]}" for name, dtype in FINDING_SCHEMA.items())
"""The columns of the table, as Spark has them."""


def build_findings_frame(jobs: Jobs, buckets: SparkBuckets, findings: Findings) -> DataFrame:
    """Every finding as a frame of Spark; it can be read as long as the run's frames are kept.

    Args:
        jobs: of the run.
        shares: with what tasks found.
        findings: with what the driver found.
    """
    mine = findings.sink.all() if isinstance(findings.sink, InMemorySink) else pl.DataFrame(schema=FINDING_SCHEMA)
    rows = (
        jobs.frame(list(frame_to_payloads(FINDINGS, 0, mine)))
        if len(mine)
        else jobs.session.createDataFrame([], SCHEMA)
    )
    for frame in buckets.get_frames(FINDINGS):
        rows = rows.unionAll(frame)
    found = rows.mapInArrow(_decoded, FINDINGS_DDL)
    return found.filter(found["rule"].isin(sorted(findings.totals)))


def write_findings(frame: DataFrame, uri: str) -> None:
    """Write it to a directory of Parquet files.

    Raises:
        InvalidUsage: there is something already, or Spark has no way there.
    """
    from pyspark.errors import AnalysisException

    with translating_spark_errors():
        try:
            frame.write.mode("errorifexists").parquet(uri)
        except AnalysisException as fault:
            raise InvalidUsage(f"{uri}: findings cannot be written: {' '.join(str(fault).split())[:200]}") from fault


def _decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in batches_to_payloads(batches):
        table: Any = payloads_to_frame([row.payload]).to_arrow()
        yield from table.cast(pa.schema([(name, _arrow(dtype)) for name, dtype in FINDING_SCHEMA.items()])).to_batches()


def _arrow(dtype: Any) -> pa.DataType:
    return pa.int64() if dtype == pl.Int64 else pa.string()
