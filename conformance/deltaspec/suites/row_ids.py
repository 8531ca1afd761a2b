"""Suite row ids: stable row ids and row commit versions of every row."""

import pyarrow as pa

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.messages import Scan
from deltaspec.suites.checks import NotAsked, Notes, TableUnderTest, check
from deltaspec.suites.read import compare_rows

ROW_ID, ROW_COMMIT_VERSION = "__row_id", "__row_commit_version"
"""Names of the additional columns of an answer."""


@check(
    "row-ids",
    "row-tracking.read-ids",
    "row-tracking.read-versions",
    needs=lambda table: table.versions[-1].row_ids is not None,
)
def check_row_ids(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """All rows with their row ids and row commit versions."""
    if not candidate.capabilities.row_ids:
        raise NotAsked("the candidate does not return row ids")
    newest = subject.newest
    expected = newest.rows.append_column(ROW_ID, pa.array(newest.row_ids, pa.int64()))
    expected = expected.append_column(ROW_COMMIT_VERSION, pa.array(newest.row_commit_versions, pa.int64()))
    answer = candidate.scan(Scan(str(subject.location), "", row_ids=True))
    compare_rows(expected, answer.table)
    notes.add("rows", answer.num_rows)
