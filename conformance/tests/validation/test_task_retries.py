"""Spark repeats the tasks of a lost executor, and files that they read may be gone by then."""

from collections.abc import Iterable, Iterator
from unittest.mock import patch

from helpers.engines import list_engine, table_in_temporary_directory

from deltaspec.validation.options import Options
from deltaspec.validation.spark.log_tasks import RAW, FactsTask
from deltaspec.validation.spark.payloads import Payload
from deltaspec_generators.bases.log_only import build_checkpointed_table

_LOOK = FactsTask.__call__


def without_a_commit(self: FactsTask, rows: Iterable[Payload]) -> Iterator[Payload]:
    """The task, on what is left when a commit was cleaned up."""
    held = list(rows)
    gone = next((row for row in held if row.tag == RAW), None)
    yield from _LOOK(self, [row for row in held if row is not gone])


def test_commits_that_are_gone_when_they_are_read_again_are_not_checked() -> None:
    with table_in_temporary_directory(build_checkpointed_table()) as uri:
        options = Options.create(level="log", history="all")
        assert list_engine(2, seed=1)(uri, options).verdict == "conforms"
        with patch.object(FactsTask, "__call__", without_a_commit):
            report = list_engine(2, seed=1)(uri, options)
    assert (report.verdict, report.totals) == ("incomplete", {})
    reasons = {entry.reason for entry in report.checked.not_checked}
    assert reasons == {"some of its actions were missing when the file was read again"}
