"""Exceptions of engines become errors that say what happened."""

import pytest

from deltaspec.candidates.adapters.answers import ErrorTable, show_causes, translate_errors
from deltaspec.candidates.serve import EngineError

ERRORS: ErrorTable = ((r"QueryExecutionErrors", "unsupported"),)
TRACE = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.ThreadUtils$.awaitResult(ThreadUtils.scala:359)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE] Encountered error while reading file a.parquet.
SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:856)
\t... 26 more
Caused by: java.lang.ClassNotFoundException: org.example.Codec
\tat java.base/java.lang.ClassLoader.loadClass(ClassLoader.java:525)
\t... 41 more
"""
DEEPEST_FIRST = (
    "java.lang.ClassNotFoundException: org.example.Codec; passed on as org.apache.spark.SparkException: "
    "[FAILED_READ_FILE] Encountered error while reading file a.parquet. SQLSTATE: KD001; passed on as "
    "org.apache.spark.SparkException: Exception thrown in awaitResult:"
)


class Py4JJavaError(Exception):
    """As py4j raises it."""


def test_deepest_cause_of_java_comes_first() -> None:
    assert show_causes(TRACE) == DEEPEST_FIRST


@pytest.mark.parametrize("text", ["", "no trace", "one: two\n\tthree"])
def test_text_without_causes_stays(text: str) -> None:
    assert show_causes(text) == text


def test_cause_that_a_message_quotes_is_shown_once() -> None:
    quoted = TRACE.replace(
        "SQLSTATE: KD001", "Driver stacktrace:\n\tat a.b\nCaused by: java.io.IOException: gone\n\tat c"
    )
    assert show_causes(quoted + "Caused by: java.io.IOException: gone\n").count("IOException") == 1


@pytest.mark.parametrize(("error", "message"), [(Py4JJavaError(TRACE), DEEPEST_FIRST), (ValueError(TRACE), TRACE)])
def test_category_comes_from_the_whole_text(error: Exception, message: str) -> None:
    with pytest.raises(EngineError) as raised, translate_errors(ERRORS, "scan"):
        raise error
    assert raised.value.category == "unsupported"
    assert str(raised.value) == message
