"""Copies of a session, whose settings change without effect on the session of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from deltaspec.validation.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCK = Lock()


def copied_session(spark: SparkSession) -> AbstractContextManager[SparkSession | None]:
    """Yield a copy of a session with its settings, views and functions.

    None if Spark cannot copy it: Spark Connect can since version 4.1.
    """
    return _derived_session(spark, "cloneSession")


@contextmanager
def isolated_session(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession | None]:
    """Yield a session with these settings; in classic Spark without views and functions of users.

    None if Spark cannot create one, as `copied_session`.
    """
    with _derived_session(spark, "newSession") as own:
        if own is not None:
            change_settings(own, settings)
        yield own


def change_settings(own: SparkSession, settings: Mapping[str, str]) -> None:
    """Change settings of a session that nobody else uses."""
    for name, value in settings.items():
        own.conf.set(name, value)


@contextmanager
def _derived_session(spark: SparkSession, java_method: str) -> Iterator[SparkSession | None]:
    """Yield a session that a method of the Java session creates. A Connect session can only be cloned."""
    try:
        if is_remote(spark):
            clone = getattr(spark, "cloneSession", None)
            yield None if clone is None else clone()
        else:
            java: Any = spark
            yield _wrap(spark, getattr(java._jsparkSession, java_method)())
    finally:
        spark.createDataFrame([], "nothing int")  # makes `spark` the active session of this thread again


def _wrap(spark: SparkSession, java_session: Any) -> SparkSession:
    """Wrap a Java session as pyspark does, but leave `RDD.toDF` with the session of the user."""
    from pyspark import RDD

    with _LOCK:
        to_frame = RDD.__dict__.get("toDF")
        try:
            own: SparkSession = type(spark)(spark.sparkContext, java_session)
        finally:
            if to_frame is not None:
                RDD.toDF = to_frame  # type: ignore[method-assign]
    return own
