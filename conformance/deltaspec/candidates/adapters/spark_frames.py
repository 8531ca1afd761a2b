"""Scans through the DataFrame API of Spark, classic or Connect."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from deltaspec.candidates.adapters.answers import to_datetime
from deltaspec.candidates.adapters.sql_text import Dialect, Path

SPARK_SQL = Dialect(
    quote="`",
    null_safe_equal="{} <=> {}",
    has_backslash_escapes=True,
    literals={"timestamp_ntz": "CAST({quoted} AS TIMESTAMP_NTZ)"},
)


def connect(address: str) -> SparkSession:
    """Open a session of Spark Connect whose time zone is UTC."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    # `SparkSession.builder.remote` refuses to run next to a classic session in the same process
    session = cast(SparkSession, RemoteSession.builder.remote(address).getOrCreate())
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def load_table(session: SparkSession, table: str, at: dict[str, int] | None, **options: str) -> DataFrame:
    """Return the frame of a table at a version or timestamp; the time zone of the session is UTC."""
    if at and at.get("version") is not None:
        options["versionAsOf"] = str(at["version"])
    if at and at.get("timestamp_ms") is not None:
        time = to_datetime(at["timestamp_ms"]).replace(tzinfo=None)
        options["timestampAsOf"] = time.isoformat(sep=" ", timespec="milliseconds")
    return session.read.format("delta").options(**options).load(table)


def read_frame(
    frame: DataFrame,
    columns: Sequence[Path] | None,
    predicate: str | None,
    predicate_tree: Sequence[Any] | None,
    extra: Sequence[str] = (),
    *,
    collect: Callable[[DataFrame], pa.Table] = lambda frame: frame.toArrow(),
) -> pa.Table | dict[str, Any]:
    """Return filtered rows and columns of a frame.

    Args:
        frame: All rows and columns.
        columns: Paths; None for all columns, empty for the number of rows.
        predicate: Condition, used if there is no tree.
        predicate_tree: The same condition as a tree.
        extra: Expressions of further columns.
        collect: Returns all rows of a frame.
    """
    condition = predicate if predicate_tree is None else SPARK_SQL.render_predicate(predicate_tree)
    if condition is not None:
        frame = frame.where(condition)
    if columns is not None and not columns:
        return {"num_rows": frame.count()}
    selected = ["*"]
    if columns is not None:
        quote = SPARK_SQL.quote_name
        selected = [f"{SPARK_SQL.render_column(path)} AS {quote('.'.join(path))}" for path in columns]
    if columns is not None or extra:
        frame = frame.selectExpr(*selected, *extra)
    return collect(frame)
