"""Settings of the isolated session in which untrusted expressions are evaluated, and what it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validation.spark.session_copies import change_settings

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


def set_ansi_mode(own: SparkSession, ansi: str) -> None:
    """Set one of `ANSI_MODES` in an isolated session."""
    change_settings(own, {ANSI: ansi})


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
