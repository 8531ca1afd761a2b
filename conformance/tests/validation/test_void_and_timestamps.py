"""What columns of type void and timestamps of partitions ask of file actions, and of which of them."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, add_action, metadata_action, protocol_action, write_table

VOIDS = [("id", "long"), ("c", {"type": "array", "elementType": "void", "containsNull": True})]
UTC, PLAIN = "2024-03-01T10:00:00.000000Z", "2024-03-01 10:00:00"


def write_and_validate(files: TableFiles, directory: Path, revision: str = "current") -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="log", history="all", revision=revision)


def with_voids_later(*actions: dict[str, Any], protocol: dict[str, Any] | None = None) -> TableFiles:
    """A table that gets a column with void in an array after its files, and then these actions."""
    files = log_only.build_table(protocol=protocol)
    files.commits[3] = [commit_info_action(3), metadata_action(VOIDS)]
    files.commits[4] = [commit_info_action(4), *actions]
    return files


def test_files_from_before_the_void_stay(tmp_path: Path) -> None:
    assert write_and_validate(with_voids_later(), tmp_path).totals == {}


def test_a_file_after_the_void_is_one_too_many(tmp_path: Path) -> None:
    assert write_and_validate(with_voids_later(add_action("d.parquet")), tmp_path).totals == {"FIL062": 1}


def test_older_texts_leave_void_undefined(tmp_path: Path) -> None:
    assert write_and_validate(with_voids_later(add_action("d.parquet")), tmp_path, "r3").totals == {}


def test_a_file_committed_again_is_not_added(tmp_path: Path) -> None:
    """By DELETE with a vector, and without change of data as when row ids are given out."""
    features = ["deletionVectors"]
    vector = {"deletionVector": log_only.inline_vector_descriptor(), "stats": '{"numRecords":10}'}
    files = with_voids_later(
        {"remove": {"path": "b.parquet", "dataChange": True, "deletionTimestamp": 1}},
        add_action("b.parquet", **vector),
        add_action("c.parquet", dataChange=False),
        protocol=protocol_action(3, 7, features, features),
    )
    files.commits[3][1] = metadata_action(VOIDS, configuration={"delta.enableDeletionVectors": "true"})
    assert write_and_validate(files, tmp_path).totals == {}


def test_a_file_is_added_once_the_void_has_a_type(tmp_path: Path) -> None:
    files = with_voids_later()
    files.commits[4] = [commit_info_action(4), metadata_action(log_only.FIELDS), add_action("d.parquet")]
    assert write_and_validate(files, tmp_path).totals == {}


def moments(*texts: tuple[str | None, str | None]) -> TableFiles:
    """A table partitioned by two timestamps and a text."""
    fields = [("id", "long"), ("at", "timestamp"), ("to", "timestamp"), ("p", "string")]
    files = log_only.build_table(fields=fields, partition_columns=["at", "to", "p"], last_remove=False)
    values = [{"at": at, "to": to, "p": UTC} for at, to in texts]
    files.commits[1] = [commit_info_action(1)]
    files.commits[2] = [commit_info_action(2)]
    files.commits[2] += [add_action(f"{place}.parquet", partition=value) for place, value in enumerate(values)]
    return files


@pytest.mark.parametrize(("revision", "rule"), [("r1", "FIL060"), ("r3", "FIL060"), ("current", "FIL061")])
def test_each_file_is_one_finding(revision: str, rule: str, tmp_path: Path) -> None:
    odd, fine = (UTC, PLAIN) if rule == "FIL060" else (PLAIN, UTC)
    files = moments((odd, fine), (fine, fine), (fine, odd), (odd, odd), (None, ""), (None, odd))
    report = write_and_validate(files, tmp_path, revision)
    assert report.totals == {rule: 4}
    assert [each.path for each in report.findings] == ["0.parquet", "2.parquet", "3.parquet", "5.parquet"]


def test_zones_are_asked_of_timestamps_alone(tmp_path: Path) -> None:
    features = ["timestampNtz"]
    files = log_only.build_table(
        protocol=protocol_action(3, 7, features, features),
        fields=[("id", "long"), ("at", "timestamp_ntz"), ("p", "string")],
        partition_columns=["at", "p"],
        partition={"at": PLAIN, "p": PLAIN},
    )
    assert write_and_validate(files, tmp_path).totals == {}


def test_what_a_checkpoint_holds_is_as_old_as_may_be(tmp_path: Path) -> None:
    files = log_only.build_table(
        fields=[("id", "long"), ("at", "timestamp")], partition_columns=["at"], partition={"at": PLAIN}
    )
    files.checkpoints.append(CheckpointFiles(1, rows=log_only.build_state_rows(files)))
    del files.commits[0], files.commits[1]
    get_action(files, 2, "add")["partitionValues"] = {"at": UTC}
    assert write_and_validate(files, tmp_path).totals == {}
