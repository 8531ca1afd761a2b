"""Writes every finding of a run on Spark to Parquet, straight from where it was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from deltaspec.errors import InvalidUsage
from deltaspec.validate.findings import Findings
from deltaspec.validate.findings_table import FINDING_ROWS, HeldRows
from deltaspec.validate.spark.jobs import Jobs, failures_told
from deltaspec.validate.spark.payloads import SCHEMA, from_batches, of_frame, to_frame
from deltaspec.validate.spark.shares import FINDINGS, SparkShares

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TYPES = {pl.String: "string", pl.Int64: "bigint"}
TABLE = ", ".join(f"`{name}` {_TYPES[dtype]}" for name, dtype in FINDING_ROWS.items())
"""The columns of the table, as Spark has them."""


def findings_frame(jobs: Jobs, shares: SparkShares, findings: Findings) -> DataFrame:
    """Every finding as a frame of Spark; it can be read as long as the run's frames are kept.

    Args:
        jobs: of the run.
        shares: with what tasks found.
        findings: with what the driver found.
    """
    mine = findings.sink.all() if isinstance(findings.sink, HeldRows) else pl.DataFrame(schema=FINDING_ROWS)
    rows = jobs.frame(list(of_frame(FINDINGS, 0, mine))) if len(mine) else jobs.session.createDataFrame([], SCHEMA)
    for frame in shares.kept(FINDINGS):
        rows = rows.unionAll(frame)
    found = rows.mapInArrow(_decoded, TABLE)
    return found.filter(found["rule"].isin(sorted(findings.totals)))


def write_findings(frame: DataFrame, uri: str) -> None:
    """Write it to a directory of Parquet files.

    Raises:
        InvalidUsage: there is something already, or Spark has no way there.
    """
    from pyspark.errors import AnalysisException

    with failures_told():
        try:
            frame.write.mode("errorifexists").parquet(uri)
        except AnalysisException as fault:
            raise InvalidUsage(f"{uri}: findings cannot be written: {' '.join(str(fault).split())[:200]}") from fault


def _decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in from_batches(batches):
        table: Any = to_frame([row.payload]).to_arrow()
        yield from table.cast(pa.schema([(name, _arrow(dtype)) for name, dtype in FINDING_ROWS.items()])).to_batches()


def _arrow(dtype: Any) -> pa.DataType:
    return pa.int64() if dtype == pl.Int64 else pa.string()
