"""`clock` decides what a checkpoint must contain: tombstones and transactions that have not expired."""

import tempfile
from pathlib import Path

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.protocol.revisions import Revision
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, get_action, txn_action, write_table
from deltaspec_generators.tables.strategies import GeneratedLog, logs_with_states
from planted_tables.bases import log_only

REMOVED_MS = 1_700_000_000_000
"""`deletionTimestamp` of the file that the table removes."""
DAY_MS = 86_400_000


def write_and_validate(files: TableFiles, directory: Path, clock: int | None) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="log", clock=clock)


def build_checkpoint_without_tombstone(
    retention: str | None = None, deletion_timestamp: int | None = REMOVED_MS
) -> TableFiles:
    """A checkpoint that is missing the tombstone of a file removed in its version."""
    settings = {} if retention is None else {"delta.deletedFileRetentionDuration": retention}
    files = log_only.build_table(configuration=settings)
    get_action(files, 2, "remove").pop("deletionTimestamp")
    if deletion_timestamp is not None:
        get_action(files, 2, "remove")["deletionTimestamp"] = deletion_timestamp
    rows = [files.commits[0][1], files.commits[0][2], files.commits[1][2], files.commits[2][1]]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    return files


def build_checkpoint_without_transaction(retention: str | None, last_updated: int | None) -> TableFiles:
    """A checkpoint that is missing the transaction of an application."""
    settings = {} if retention is None else {"delta.setTransactionRetentionDuration": retention}
    files = log_only.build_checkpointed_table(configuration=settings)
    more = {} if last_updated is None else {"lastUpdated": last_updated}
    files.commits[1].append(txn_action("app", 5, **more))
    return files


@pytest.mark.parametrize(
    ("retention", "days", "found"),
    [
        (None, 0, True),
        (None, 7, True),
        (None, 7.001, False),
        ("interval 1 week", 7, True),
        ("interval 30 days", 30, True),
        ("interval 30 days", 30.001, False),
        ("interval 2 hours", 0.5, False),
        ("interval 1 month", 0, False),
    ],
)
def test_missing_tombstone_is_found_until_its_retention_expires(
    retention: str | None, days: float, found: bool, tmp_path: Path
) -> None:
    report = write_and_validate(
        build_checkpoint_without_tombstone(retention), tmp_path, REMOVED_MS + int(days * DAY_MS)
    )
    assert report.totals.get("CKP050", 0) == found


@pytest.mark.parametrize("retention", ["interval 1 month", "a while", "interval -1 days"])
def test_missing_actions_are_undecided_if_their_retention_is_not_known(retention: str, tmp_path: Path) -> None:
    files = build_checkpoint_without_tombstone(retention)
    get_action(files, 0, "metaData")["configuration"]["delta.setTransactionRetentionDuration"] = retention
    files.commits[1].append(txn_action("app", 5, lastUpdated=REMOVED_MS))
    report = write_and_validate(files, tmp_path, REMOVED_MS)
    assert report.totals.keys() <= {"CFG005"}
    assert {(each.rule, each.reason) for each in report.checked.not_checked} == {
        ("CKP037", "it is not known how long transactions are kept"),
        ("CKP050", "it is not known how long tombstones are kept"),
    }


def test_unknown_retention_leaves_nothing_undecided_without_missing_actions(tmp_path: Path) -> None:
    """Other differences do not depend on how long tombstones and transactions are kept."""
    settings = {"delta.deletedFileRetentionDuration": "a while", "delta.setTransactionRetentionDuration": "a while"}
    files = log_only.build_checkpointed_table(configuration=settings)
    files.commits[1].append(txn_action("app", 5, lastUpdated=REMOVED_MS))
    (checkpoint,) = files.checkpoints
    checkpoint.rows = [row for row in checkpoint.rows if row.get("add", {}).get("path") != "b.parquet"]
    checkpoint.rows.append(txn_action("app", 6, lastUpdated=REMOVED_MS))
    report = write_and_validate(files, tmp_path, REMOVED_MS)
    assert report.totals == {"CFG005": 2, "CKP030": 1, "CKP037": 1}
    assert report.checked.not_checked == []


def test_tombstone_without_deletion_timestamp_has_expired(tmp_path: Path) -> None:
    report = write_and_validate(build_checkpoint_without_tombstone(deletion_timestamp=None), tmp_path, REMOVED_MS)
    assert (report.verdict, report.totals) == ("conforms", {})


def test_tombstones_are_not_checked_without_a_clock(tmp_path: Path) -> None:
    report = write_and_validate(build_checkpoint_without_tombstone(), tmp_path, None)
    assert (report.verdict, report.clock) == ("conforms", None)
    assert "CKP050" in report.checked.not_applicable
    assert report.checked.reasons["CKP050"] == "needs --clock"


def test_report_contains_the_clock(tmp_path: Path) -> None:
    report = write_and_validate(log_only.build_checkpointed_table(), tmp_path, REMOVED_MS)
    assert (report.verdict, report.clock) == ("conforms", REMOVED_MS)
    assert "CKP050" in report.checked.run


@pytest.mark.parametrize(
    ("retention", "last_updated", "clock", "found"),
    [
        (None, None, None, True),
        (None, 0, REMOVED_MS, True),
        ("interval 2 weeks", REMOVED_MS, None, False),
        ("interval 2 weeks", REMOVED_MS, REMOVED_MS + 14 * DAY_MS, True),
        ("interval 2 weeks", REMOVED_MS, REMOVED_MS + 14 * DAY_MS + 1, False),
        ("interval 2 weeks", None, REMOVED_MS, False),
        ("interval 1 year", REMOVED_MS, REMOVED_MS, False),
    ],
)
def test_missing_transaction_is_found_unless_it_may_have_expired(
    retention: str | None, last_updated: int | None, clock: int | None, found: bool, tmp_path: Path
) -> None:
    report = write_and_validate(build_checkpoint_without_transaction(retention, last_updated), tmp_path, clock)
    assert report.totals.get("CKP037", 0) == found
    is_undecided = retention == "interval 1 year"  # which has 365 or 366 days
    assert {each.rule for each in report.checked.not_checked} == ({"CKP037"} if is_undecided else set())


@example_settings(25)
@given(
    st.sampled_from(Revision).flatmap(
        lambda revision: st.tuples(st.just(revision), logs_with_states(revision=revision))
    )
)
def test_checkpoint_without_expired_actions_conforms(case: tuple[Revision, GeneratedLog]) -> None:
    revision, log = case
    with tempfile.TemporaryDirectory() as directory:
        write_table(log.files, Path(directory) / "table")
        report = deltaspec.validate(
            str(Path(directory) / "table"),
            level="log",
            history="all",
            revision=revision,
            clock=log.states[-1].timestamp_ms,
            select=["CKP037", "CKP050"],
        )
    assert (report.verdict, report.totals) == ("conforms", {})
