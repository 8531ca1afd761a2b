"""Spark repeats the tasks of a lost executor; the files that they read may be missing by then."""

from collections.abc import Iterable, Iterator
from unittest.mock import patch

from helpers.backends import list_backend, table_in_temporary_directory

from deltaspec.validation.options import Options
from deltaspec.validation.spark.log_tasks import RAW, FactsTask
from deltaspec.validation.spark.payloads import Payload
from planted_tables.bases.log_only import build_checkpointed_table

_RUN_TASK = FactsTask.__call__


def run_without_a_commit(self: FactsTask, rows: Iterable[Payload]) -> Iterator[Payload]:
    """Run the task without the first commit, as if it had been cleaned up."""
    received = list(rows)
    removed = next((row for row in received if row.tag == RAW), None)
    yield from _RUN_TASK(self, [row for row in received if row is not removed])


def test_commits_that_are_missing_on_retry_are_not_checked() -> None:
    with table_in_temporary_directory(build_checkpointed_table()) as uri:
        options = Options.create(level="log", history="all")
        assert list_backend(2, seed=1)(uri, options).verdict == "conforms"
        with patch.object(FactsTask, "__call__", run_without_a_commit):
            report = list_backend(2, seed=1)(uri, options)
    assert (report.verdict, report.totals) == ("incomplete", {})
    reasons = {entry.reason for entry in report.checked.not_checked}
    assert reasons == {"its actions were missing or different when the file was read again"}
