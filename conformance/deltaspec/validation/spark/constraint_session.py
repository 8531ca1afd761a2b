"""A session for untrusted expressions: no user functions or views, and fixed settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSI = "spark.sql.ansi.enabled"
ANSI_MODES = ("true", "false")
"""Values of `ANSI`, which decides whether invalid operations fail or return null, and how types are coerced."""
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # otherwise ${env:...} in a string reads the driver's environment
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.sizeOfNull": "true",
}
_BUILT_IN = "org.apache.spark.sql.catalyst.expressions."


@contextmanager
def isolated_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Yield a new session with `SETTINGS`. Without support for new sessions, reconfigure the given one temporarily."""
    own = _create_session(spark)
    with _with_settings(own, SETTINGS):
        try:
            yield own
        finally:
            if own is not spark:
                spark.createDataFrame([], "nothing int")  # makes `spark` the active session of this thread again


def _create_session(spark: SparkSession) -> SparkSession:
    for name in ("newSession", "cloneSession"):  # classic Spark; Spark Connect since 4.1
        create = getattr(spark, name, None)
        if create is not None:
            own: SparkSession = create()
            return own
    return spark


@contextmanager
def ansi_mode(own: SparkSession, ansi: str) -> Iterator[None]:
    """Set one of `ANSI_MODES` for a block."""
    with _with_settings(own, {ANSI: ansi}):
        yield


@contextmanager
def _with_settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def get_error_condition(fault: Exception) -> str:
    """Return Spark's error condition of an exception, such as `DIVIDE_BY_ZERO`, else the class name."""
    for name in ("getCondition", "getErrorClass"):  # since Spark 4.0; before 4.0
        getter = getattr(fault, name, None)
        if getter is not None and (condition := getter()):
            return str(condition)
    return type(fault).__name__


def is_builtin_function(own: SparkSession, name: str) -> bool:
    """Return whether a function is Spark's own: in some versions, users can replace built-in functions."""
    try:
        found = own.catalog.getFunction(name)
    except Exception:  # noqa: BLE001 - no such function; the error class depends on the version
        return False
    return str(found.className).startswith(_BUILT_IN)
