"""Write every finding of a Spark run to Parquet, directly from the executors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from deltaspec.errors import InvalidUsage
from deltaspec.validation.findings import Findings
from deltaspec.validation.findings_table import FINDING_SCHEMA, InMemorySink
from deltaspec.validation.spark.jobs import Jobs, SparkFailed, translating_spark_errors
from deltaspec.validation.spark.payloads import SCHEMA, batches_to_payloads, frame_to_payloads, payloads_to_frame
from deltaspec.validation.spark.spark_buckets import FINDINGS, SparkBuckets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TYPES = {pl.String: "string", pl.Int64: "bigint"}
FINDINGS_DDL = ", ".join(f"`{name}` {_TYPES[dtype]}" for name, dtype in FINDING_SCHEMA.items())
"""The columns of `FINDING_SCHEMA` as Spark DDL."""


def write_findings(jobs: Jobs, buckets: SparkBuckets, uri: str, findings: Findings) -> None:
    """Write every finding to a directory of Parquet files.

    Args:
        jobs: of the run.
        buckets: have the findings of tasks.
        uri: the new directory.
        findings: have the findings of the driver.

    Raises:
        InvalidUsage: the directory exists, or Spark cannot write there.
        SparkFailed: a job failed, or findings were lost with an executor.
    """
    mine = findings.sink.all() if isinstance(findings.sink, InMemorySink) else pl.DataFrame(schema=FINDING_SCHEMA)
    rows = (
        jobs.frame(list(frame_to_payloads(FINDINGS, 0, mine)))
        if len(mine)
        else jobs.session.createDataFrame([], SCHEMA)
    )
    frames, expected = buckets.get_frames(FINDINGS)
    for frame in frames:
        rows = rows.unionAll(frame)
    found = rows.mapInArrow(_decode_batches, FINDINGS_DDL)
    _write(found.filter(found["rule"].isin(sorted(findings.found_rules))), uri)
    checksum = sum(map(_compute_checksum, frames))  # after the rows were read: Spark keeps what it computed again
    if checksum != expected.checksums[FINDINGS]:
        raise SparkFailed(f"{uri}: is incomplete, because findings were lost with an executor; delete it and run again")


def _compute_checksum(frame: DataFrame) -> int:
    """Return the checksum of payloads as `RowTotals` computes it."""
    with translating_spark_errors():
        ((checksum,),) = frame.selectExpr("sum(crc32(payload))").collect()
    return int(checksum or 0)


def _write(frame: DataFrame, uri: str) -> None:
    from pyspark.errors import AnalysisException

    with translating_spark_errors():
        try:
            frame.write.mode("errorifexists").parquet(uri)
        except AnalysisException as fault:
            raise InvalidUsage(f"{uri}: findings cannot be written: {' '.join(str(fault).split())[:200]}") from fault


def _decode_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in batches_to_payloads(batches):
        table: Any = payloads_to_frame([row.payload]).to_arrow()
        yield from table.cast(pa.schema([(name, _arrow(dtype)) for name, dtype in FINDING_SCHEMA.items()])).to_batches()


def _arrow(dtype: Any) -> pa.DataType:
    return pa.int64() if dtype == pl.Int64 else pa.string()
