"""Files at the edge of the log: the commits up to the base, checkpoints of one version, gaps, and unread files."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.protocol.log.file_names import (
    ClassicCheckpoint,
    CommitName,
    LastCheckpointName,
    OtherFile,
    StagedCommit,
    parse_log_file_name,
)
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    add_action,
    commit_info_action,
    encode_table,
    txn_action,
    write_table,
)
from deltaspec_generators.tables.strategies import logs
from planted_tables.bases import log_only
from planted_tables.bases.retention import build_state_rows_at_2


def validate(files: TableFiles, history: str = "all", **options: Any) -> Report:
    with TemporaryDirectory() as folder:
        write_table(files, Path(folder) / "table")
        return deltaspec.validate(str(Path(folder) / "table"), level="log", history=history, **options)


def list_unread(report: Report) -> set[str]:
    return {file.removeprefix(LOG) for each in report.checked.files_not_read for file in each.files}


def build_table_with_base(version: int = 2) -> TableFiles:
    """Build three commits and a checkpoint of version 2; commits before `version` are cleaned up."""
    files = log_only.build_table(last_remove=False)
    files.checkpoints.append(CheckpointFiles(2, rows=build_state_rows_at_2(files)))
    for older in range(version):
        del files.commits[older]
    return files


# drawn logs


DAMAGES = {
    "empty": lambda data: b"",
    "garbage": lambda data: b"\xff garbage\n" * 3,
    "cut": lambda data: data[: len(data) // 2],
    "other line": lambda data: data + b"garbage\n",
}


def list_log_files(files: TableFiles) -> Iterator[str]:
    """Yield the files of the log whose content readers rely on."""
    catalog_managed = "catalogManaged" in str(files.commits) + str([each.rows for each in files.checkpoints])
    for path in encode_table(files):
        name = parse_log_file_name(path.removeprefix(LOG))
        is_staged = isinstance(name, StagedCommit) and not catalog_managed
        if path.startswith(LOG) and not is_staged and not isinstance(name, OtherFile):
            yield path


def damage(files: TableFiles, path: str, kind: str) -> bool:
    """Replace the content of a log file. Return whether readers may tell."""
    before = encode_table(files)[path]
    after = DAMAGES[kind](before)
    files.extra[path] = after
    name = parse_log_file_name(path.removeprefix(LOG))
    if after == before:  # the first half of an empty compaction
        return False
    if isinstance(name, StagedCommit) and kind in ("empty", "cut"):  # as a write that was never finished and ratified
        return False
    if kind == "empty":  # an empty hint counts as absent; of empty commits the protocol says nothing (S21)
        return bool(before.strip()) and not isinstance(name, CommitName | LastCheckpointName)
    if path.endswith(".parquet"):
        return True
    return b"garbage" in after or (kind == "cut" and not after.endswith((b"}", b"}\n")))


@example_settings(25)
@given(files=logs(blank_lines=False), data=st.data())
def test_damaged_file_is_found_or_named_as_unread(files: TableFiles, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(list_log_files(files))))
    if not damage(files, path, data.draw(st.sampled_from(sorted(DAMAGES)))):
        return
    assert validate(files).verdict != "conforms"
    latest = validate(files, "latest")
    assert latest.verdict != "conforms" or path.removeprefix(LOG) in list_unread(latest)


@example_settings(15)
@given(files=logs(blank_lines=False), data=st.data())
def test_longer_history_never_finds_less(files: TableFiles, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(list_log_files(files))))
    damage(files, path, data.draw(st.sampled_from(sorted(DAMAGES))))
    histories = ("latest", str(data.draw(st.integers(1, 3))), str(data.draw(st.integers(4, 9))), "all")
    for shorter, longer in pairwise(validate(files, history) for history in histories):
        violated = {each.rule for each in shorter.findings if each.severity == "violation"}
        # a commit that only the longer history reads may leave the state of the table unknown
        assert violated <= longer.totals.keys() | {each.rule for each in longer.checked.not_checked}


@example_settings(10)
@given(files=logs(blank_lines=False), history=st.sampled_from(["latest", "1", "all"]))
def test_every_log_file_is_read_or_named_as_unread(files: TableFiles, history: str) -> None:
    report = validate(files, history)
    others = {
        path.removeprefix(LOG)
        for path in encode_table(files)
        if path.startswith(LOG) and isinstance(parse_log_file_name(path.removeprefix(LOG)), OtherFile)
    }
    listed = {name for name in others if name.rpartition("/")[0] in ("", "_sidecars", "_staged_commits")}
    assert listed <= list_unread(report)
    if history == "all":
        kinds = {type(parse_log_file_name(name)) for name in list_unread(report)}
        assert not kinds & {CommitName, ClassicCheckpoint}


# the commit of the base


def test_sound_commit_of_the_base_conforms() -> None:
    for history in ("latest", "1", "all"):
        report = validate(build_table_with_base(), history)
        assert (report.verdict, report.totals, report.checked.not_checked) == ("conforms", {}, []), f"{history=}"
    assert [(each.first, each.last, each.explained) for each in report.checked.missing_commits] == [(0, 1, True)]


def test_base_without_a_file_of_its_commit_is_a_violation() -> None:
    files = build_table_with_base()
    files.commits[2].append(add_action("of_the_commit.parquet", rows=1))
    assert {history: validate(files, history).totals for history in ("latest", "1", "all")} == {
        "latest": {"CKP030": 1},
        "1": {"CKP030": 1},
        "all": {"CKP030": 1},
    }


@pytest.mark.parametrize("kind", ["add", "txn"])
@pytest.mark.parametrize("history", ["latest", "1", "all"])
def test_later_derived_files_are_not_blamed_for_a_wrong_base(history: str, kind: str) -> None:
    files = build_table_with_base()
    own = add_action("of_the_commit.parquet", rows=1) if kind == "add" else txn_action("stream", 7)
    files.commits[2].append(own)
    files.commits[3] = [commit_info_action(3), add_action("later.parquet", rows=1)]
    files.commits[4] = [commit_info_action(4)]
    rows = [*build_table_with_base().checkpoints[0].rows, own, add_action("later.parquet", rows=1)]
    files.checkpoints.append(CheckpointFiles(4, rows=rows))
    adds = [row["add"] for row in rows if isinstance(row, dict) and "add" in row]
    files.checksums[4] = {
        "tableSizeBytes": sum(each["size"] for each in adds),
        "numFiles": len(adds),
        "numMetadata": 1,
        "numProtocol": 1,
        **{
            name: row[name] for row in rows if isinstance(row, dict) for name in ("protocol", "metaData") if name in row
        },
    }
    files.checksums[4]["metadata"] = files.checksums[4].pop("metaData")
    report = validate(files, history)
    assert report.totals == {"CKP030" if kind == "add" else "CKP037": 1}
    files.checkpoints[0].rows.append(own)
    assert validate(files, history).totals == {}


def test_base_with_another_transaction_than_its_commit_is_a_violation() -> None:
    files = build_table_with_base()
    files.commits[2].append(txn_action("stream", 7))
    files.checkpoints[0].rows.append(txn_action("stream", 6))
    assert validate(files).totals == {"CKP037": 1}


def test_base_with_a_file_that_an_earlier_commit_removes_is_a_violation() -> None:
    files = build_table_with_base(1)
    body = next(row["add"] for row in files.checkpoints[0].rows if isinstance(row, dict) and "add" in row)
    remove = {"path": body["path"], "deletionTimestamp": 1_700_000_000_000, "dataChange": True}
    files.commits[2].append({"remove": remove})
    assert "CKP031" in validate(files).totals


def test_repeated_add_in_an_earlier_commit_is_a_violation() -> None:
    files = build_table_with_base()
    add = next(row for row in files.commits[2] if isinstance(row, dict) and "add" in row)
    files.commits[2].append(add)
    totals = validate(files, "latest").totals
    assert any(code.startswith("FIL") for code in totals), totals


def test_compaction_over_the_base_is_compared_with_its_commits() -> None:
    files = build_table_with_base(1)
    files.commits[3] = [commit_info_action(3), add_action("later.parquet", rows=1)]
    lines = [row for version in (1, 2, 3) for row in files.commits[version] if "commitInfo" not in row]
    files.compactions[1, 3] = [row for row in lines if "add" not in row or row["add"]["path"] != "later.parquet"]
    assert "COP001" in validate(files).totals
    files.compactions[1, 3] = lines
    assert not {code for code in validate(files).totals if code.startswith("COP")}


# checkpoints of one version


@pytest.mark.parametrize("history", ["latest", "1", "all"])
def test_other_checkpoints_of_the_base_are_compared(history: str) -> None:
    files = build_table_with_base()
    files.checkpoints.append(CheckpointFiles(2, "multipart", rows=build_table_with_base().checkpoints[0].rows, parts=2))
    assert not set(validate(files, history).totals) - {"CKP070"}
    files.checkpoints[1].rows = [row for row in files.checkpoints[1].rows if "add" not in row][:2] + [
        row for row in files.checkpoints[1].rows if "add" in row
    ][1:]
    assert validate(files, history).totals.get("CKP030") == 1


# gaps


def test_gap_before_the_base_is_found_and_makes_all_incomplete() -> None:
    files = build_table_with_base(0)
    del files.commits[1]
    report = validate(files)
    assert (report.verdict, report.totals) == ("conforms", {"LOG010": 1})
    files = build_table_with_base(0)
    files.commits[3] = [commit_info_action(3)]
    files.checkpoints[0].version = 3
    del files.commits[1]
    report = validate(files)
    assert (report.verdict, report.totals) == ("incomplete", {"LOG010": 1})
    assert {each.reason for each in report.checked.not_checked} == {
        "versions after 1 cannot be replayed: commit 1 is missing"
    }


def test_commits_before_a_gap_are_replayed() -> None:
    files = build_table_with_base(0)
    del files.commits[1]
    files.commits[0].append(add_action("twice.parquet", rows=1))
    files.commits[0].append(add_action("twice.parquet", rows=1))
    totals = validate(files).totals
    assert any(code.startswith("FIL") for code in totals), totals
    assert f"{0:020}.json" in list_unread(validate(files, "latest"))


def test_show_and_validate_name_the_same_versions(tmp_path: Path) -> None:
    from deltaspec.validation.describe.table_description import describe_table

    files = build_table_with_base(0)
    del files.commits[1]
    write_table(files, tmp_path)
    assert describe_table(str(tmp_path)).readable_versions == [(0, 0), (2, 2)]
    with pytest.raises(deltaspec.errors.InvalidUsage, match="versions 0, 2 are"):
        deltaspec.validate(str(tmp_path), at=3)


# names that a revision does not define


@pytest.mark.parametrize(("revision", "is_read"), [("r1", False), ("r2", False), ("r3", True), ("current", True)])
def test_checkpoint_with_a_uuid_is_read_since_r3(revision: str, is_read: bool) -> None:
    files = log_only.build_table(last_remove=False)
    files.checkpoints.append(CheckpointFiles(2, "uuid-json", rows=build_state_rows_at_2(files)))
    files.extra[LOG + files.checkpoints[0].names[0]] = b"garbage\n"
    report = validate(files, revision=revision)
    assert (report.verdict != "conforms") is is_read
    assert (files.checkpoints[0].names[0] in list_unread(report)) is not is_read


@pytest.mark.parametrize("revision", ["r1", "r2"])
def test_log_that_only_later_revisions_can_read_is_refused_or_broken(revision: str) -> None:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    del files.commits[0]
    assert validate(files, revision=revision).verdict == "refused"
    without_feature = log_only.build_checkpointed_table("uuid-json")
    del without_feature.commits[0]
    assert validate(without_feature, revision=revision).totals == {"LOG001": 1}


# selected rules


def test_selected_rule_of_a_higher_level_makes_the_run_incomplete() -> None:
    report = validate(log_only.build_table(), select=["LIN", "STA001"])
    assert report.verdict == "incomplete"
    assert {(each.rule, each.reason) for each in report.checked.not_checked} == {("STA001", "needs --level rows")}
    assert "STA001" not in report.checked.skipped


# multipart checkpoints


@pytest.mark.parametrize("history", ["latest", "all"])
def test_incomplete_multipart_checkpoint_is_named_and_a_violation_in_v2_tables(history: str) -> None:
    name = f"{1:020}.checkpoint.{1:010}.{2:010}.parquet"
    files = log_only.build_table()
    files.extra[LOG + name] = b"part"
    report = validate(files, history)
    assert (report.totals, list_unread(report)) == ({}, {name})
    files = log_only.build_table_with_features("v2Checkpoint")
    files.extra[LOG + name] = b"part"
    report = validate(files, history)
    assert (report.totals, list_unread(report)) == ({"LOG006": 1}, {name})


def test_unknown_action_before_commit_info_with_a_timestamp_is_a_violation() -> None:
    files = log_only.build_table_with_timestamps()
    files.commits[2].insert(0, {"someFutureAction": {}})
    assert set(validate(files).totals) == {"COM006"}
