"""Row ids that a remove must repeat: those of the last add of its path, if the table assigns row ids."""

from typing import Any

import pytest
from helpers.recording_run import RecordingRun

from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import log_only

TRACKED = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])


def _tracked(**more: Any) -> TableFiles:
    """Build a table with files a, b and c with base row ids 0, 10 and 20; the last commit removes a."""
    files = log_only.build_table(protocol=TRACKED, **more)
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        get_action(files, version, "add", which).update(baseRowId=base, defaultRowCommitVersion=version)
    return files


def _list_removed_row_ids(files: TableFiles) -> list[tuple[int, int | None, int | None]]:
    rows = RecordingRun(files).recorded.rows("file_history")
    names = ("version", "base_row_id_before", "default_row_commit_version_before")
    return [tuple(row[name] for name in names) for row in rows if row["kind"] == "remove"]  # type: ignore[misc]


def test_remove_has_row_ids_of_its_add() -> None:
    assert _list_removed_row_ids(_tracked()) == [(2, 0, 1)]


def test_last_add_of_an_earlier_version_counts() -> None:
    files = _tracked()
    again = {"add": {**get_action(files, 1, "add"), "baseRowId": 40, "defaultRowCommitVersion": 2}}
    files.commits[3] = [commit_info_action(3), again]
    files.commits[4] = [
        commit_info_action(4),
        {"remove": get_action(files, 2, "remove")},
        {"add": {**again["add"], "size": 7}},
    ]
    assert _list_removed_row_ids(files) == [(2, 0, 1), (4, 40, 2)]


@pytest.mark.parametrize("suspended", ["true", "TRUE"])
def test_row_ids_are_null_while_row_tracking_is_suspended(suspended: str) -> None:
    assert _list_removed_row_ids(_tracked(configuration={"delta.rowTrackingSuspended": suspended})) == [(2, None, None)]


def test_row_ids_are_null_without_the_feature() -> None:
    files = _tracked()
    files.commits[0][1] = protocol_action(1, 2)
    assert _list_removed_row_ids(files) == [(2, None, None)]


def test_suspension_in_the_same_commit_counts() -> None:
    files = _tracked()
    files.commits[2].append(metadata_action(log_only.FIELDS, configuration={"delta.rowTrackingSuspended": "true"}))
    assert _list_removed_row_ids(files) == [(2, None, None)]
