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
    trace = """: org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 0.0: a.B: cannot read
\tat a.b(C.scala:1)
Caused by: java.io.IOException: gone
\tthe reason is in a second line
\t... 9 more

Driver stacktrace:
\tat a.c(D.scala:2)
Caused by: a.B: cannot read
\tat a.b(C.scala:1)
Caused by: java.io.IOException: gone
\tthe reason is in a second line
\t... 9 more
"""
    assert show_causes(trace).split("; passed on as ") == [
        "java.io.IOException: gone the reason is in a second line",
        "a.B: cannot read",
        "org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 0.0: a.B: cannot read",
    ]


@pytest.mark.parametrize(("error", "message"), [(Py4JJavaError(TRACE), DEEPEST_FIRST), (ValueError(TRACE), TRACE)])
def test_category_comes_from_the_whole_text(error: Exception, message: str) -> None:
    with pytest.raises(EngineError) as raised, translate_errors(ERRORS, "scan"):
        raise error
    assert raised.value.category == "unsupported"
    assert str(raised.value) == message
