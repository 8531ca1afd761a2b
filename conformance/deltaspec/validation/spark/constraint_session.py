"""A session in which expressions of a stranger are evaluated: nobody's functions and views, settings that are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSI = "spark.sql.ansi.enabled"
ANSI_MODES = ("true", "false")
"""Of the setting by which Spark fails where it otherwise gives null, and reads mixed types otherwise."""
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # ${env:...} in a string would be the driver's environment
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
    """A session beside another one, with `SETTINGS`; where there is no such thing, that one itself for a while."""
    own = _beside(spark)
    with _configured(own, SETTINGS):
        try:
            yield own
        finally:
            if own is not spark:
                spark.createDataFrame([], "nothing int")  # makes it the active session of this thread again


def _beside(spark: SparkSession) -> SparkSession:
    for name in ("newSession", "cloneSession"):  # classic Spark, and Spark Connect since 4.1
        make = getattr(spark, name, None)
        if make is not None:
            own: SparkSession = make()
            return own
    return spark


@contextmanager
def ansi_mode(own: SparkSession, ansi: str) -> Iterator[None]:
    """One of `ANSI_MODES` for a while."""
    with _configured(own, {ANSI: ansi}):
        yield


@contextmanager
def _configured(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
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
    """What Spark calls the condition that an exception tells of, as `DIVIDE_BY_ZERO`."""
    for name in ("getCondition", "getErrorClass"):  # since Spark 4.0, and before
        told = getattr(fault, name, None)
        if told is not None and (condition := told()):
            return str(condition)
    return type(fault).__name__


def is_builtin_function(own: SparkSession, name: str) -> bool:
    """Whether a function is Spark's own: in some versions, one that a user registers takes the place of a built-in."""
    try:
        found = own.catalog.getFunction(name)
    except Exception:  # noqa: BLE001 - there is none, in the words of the version
        return False
    return str(found.className).startswith(_BUILT_IN)
