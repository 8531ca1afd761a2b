"""Rules for file actions of tables with void columns or timestamp partitions."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    write_table,
)
from planted_tables.bases import log_only

VOIDS = [("id", "long"), ("c", {"type": "array", "elementType": "void", "containsNull": True})]
UTC, PLAIN = "2024-03-01T10:00:00.000000Z", "2024-03-01 10:00:00"


def write_and_validate(files: TableFiles, directory: Path, revision: str = "current") -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="log", history="all", revision=revision)


def build_table_with_later_void(*actions: dict[str, Any], protocol: dict[str, Any] | None = None) -> TableFiles:
    """Build a table whose files precede an array column of void; the last commit has the given actions."""
    files = log_only.build_table(protocol=protocol)
    files.commits[3] = [commit_info_action(3), metadata_action(VOIDS)]
    files.commits[4] = [commit_info_action(4), *actions]
    return files


def test_files_older_than_the_void_may_stay(tmp_path: Path) -> None:
    assert write_and_validate(build_table_with_later_void(), tmp_path).totals == {}


def test_file_added_after_the_void_is_found(tmp_path: Path) -> None:
    assert write_and_validate(build_table_with_later_void(add_action("d.parquet")), tmp_path).totals == {"FIL062": 1}


def test_older_revisions_do_not_define_void(tmp_path: Path) -> None:
    assert write_and_validate(build_table_with_later_void(add_action("d.parquet")), tmp_path, "r3").totals == {}


def test_file_added_again_is_not_new(tmp_path: Path) -> None:
    """One file gets a vector from DELETE; the other is added again without a change of data, as by a backfill."""
    features = ["deletionVectors"]
    vector = {"deletionVector": inline_vector_descriptor(), "stats": '{"numRecords":10}'}
    files = build_table_with_later_void(
        {"remove": {"path": "b.parquet", "dataChange": True, "deletionTimestamp": 1}},
        add_action("b.parquet", **vector),
        add_action("c.parquet", dataChange=False),
        protocol=protocol_action(3, 7, features, features),
    )
    files.commits[3][1] = metadata_action(VOIDS, configuration={"delta.enableDeletionVectors": "true"})
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_may_be_added_once_the_void_has_a_type(tmp_path: Path) -> None:
    files = build_table_with_later_void()
    files.commits[4] = [commit_info_action(4), metadata_action(log_only.FIELDS), add_action("d.parquet")]
    assert write_and_validate(files, tmp_path).totals == {}


def build_table_with_timestamps(*texts: tuple[str | None, str | None]) -> TableFiles:
    """Build a table partitioned by two timestamps and a string."""
    fields = [("id", "long"), ("at", "timestamp"), ("to", "timestamp"), ("p", "string")]
    files = log_only.build_table(fields=fields, partition_columns=["at", "to", "p"], last_remove=False)
    values = [{"at": at, "to": to, "p": UTC} for at, to in texts]
    files.commits[1] = [commit_info_action(1)]
    files.commits[2] = [commit_info_action(2)]
    files.commits[2] += [add_action(f"{number}.parquet", partition=value) for number, value in enumerate(values)]
    return files


@pytest.mark.parametrize(("revision", "rule"), [("r1", "FIL060"), ("r3", "FIL060"), ("current", "FIL061")])
def test_each_file_has_one_finding(revision: str, rule: str, tmp_path: Path) -> None:
    invalid, valid = (UTC, PLAIN) if rule == "FIL060" else (PLAIN, UTC)
    files = build_table_with_timestamps(
        (invalid, valid), (valid, valid), (valid, invalid), (invalid, invalid), (None, ""), (None, invalid)
    )
    report = write_and_validate(files, tmp_path, revision)
    assert report.totals == {rule: 4}
    assert [each.path for each in report.findings] == ["0.parquet", "2.parquet", "3.parquet", "5.parquet"]


def test_only_timestamps_need_a_zone(tmp_path: Path) -> None:
    features = ["timestampNtz"]
    files = log_only.build_table(
        protocol=protocol_action(3, 7, features, features),
        fields=[("id", "long"), ("at", "timestamp_ntz"), ("p", "string")],
        partition_columns=["at", "p"],
        partition={"at": PLAIN, "p": PLAIN},
    )
    assert write_and_validate(files, tmp_path).totals == {}


def test_files_of_a_checkpoint_may_be_older_than_the_rule(tmp_path: Path) -> None:
    files = log_only.build_table(
        fields=[("id", "long"), ("at", "timestamp")], partition_columns=["at"], partition={"at": PLAIN}
    )
    files.checkpoints.append(CheckpointFiles(1, rows=log_only.build_state_rows(files)))
    del files.commits[0], files.commits[1]
    get_action(files, 2, "add")["partitionValues"] = {"at": UTC}
    assert write_and_validate(files, tmp_path).totals == {"LOG024": 1}  # the commit of the checkpoint is gone
