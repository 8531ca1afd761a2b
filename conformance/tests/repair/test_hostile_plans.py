"""A plan is data that anybody may have written: it cannot write, delete or read anything that no repair needs."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.repair_plans import HINT, LOST, build_lost_file_commit, describe_file, write_plan_for_damaged_table
from repair.conftest import Damaged

from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.protocol.log.file_names import classic_checkpoint_name, commit_name
from deltaspec.repair.apply import apply_plan
from deltaspec.repair.plan_format import Repair, RepairPlan
from deltaspec.repair.refusal import PlanRefused
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import (
    add_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
    txn_action,
)

CHECKPOINT = classic_checkpoint_name(2)
LINE = b'{"version":2,"size":5}'
LOSES_C = Repair(kind="remove-file", rules=["DAT001"], summary="", files=["c.parquet"], effect="lost")
NAMES_C = Repair(kind="correct-statistics", rules=["STA001"], summary="", files=["c.parquet"], effect="none")
RAISES = Repair(kind="raise-mark", rules=["RID002"], summary="", files=[], effect="none")
FILES = build_table_with_data()
C = FILES.commits[2][1]
METADATA = get_action(FILES, 0, "metaData")


def refuse(damaged: Damaged, plan: Path, error: type[DeltaspecError], message: str) -> None:
    """Apply a plan that must be refused, and change nothing."""
    before = damaged.read_log()
    with pytest.raises(error, match=message):
        apply_plan(plan)
    assert damaged.read_log() == before
    assert not (plan / "aside").exists()


def edit_plan(damaged: Damaged, **changes: Any) -> None:
    path = damaged.plan / "plan.json"
    plan = msgspec.json.decode(path.read_bytes(), type=RepairPlan)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(plan, **changes)))


NAMES = {
    "overwritten commit": ({"writes": {commit_name(1): LINE}}, "is not the name of a checkpoint"),
    "staged commit": ({"writes": {f"_staged_commits/{commit_name(3)}": LINE}}, "is not the name of a checkpoint"),
    "unknown file": ({"writes": {"x.json": LINE}}, "is not the name of a checkpoint"),
    "existing checksum": ({"writes": {HINT: LINE}, "set_aside": []}, "exists, and the plan does not set it aside"),
    "commit set aside": ({"set_aside": [commit_name(1)]}, "no other file"),
    "hint without a checkpoint": ({"set_aside": [CHECKPOINT], "writes": {}}, "must set it aside, too"),
    "twice": ({"set_aside": [HINT, HINT]}, "is listed 2 times"),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_that_no_repair_needs_are_refused(case: str, damaged: Damaged, tmp_path: Path) -> None:
    changes, message = NAMES[case]
    write_plan_for_damaged_table(tmp_path / "plan", damaged.table, level="log", **changes)
    refuse(damaged, tmp_path / "plan", PlanRefused, message)


COMMITS: dict[str, tuple[list[Any], list[Repair], str]] = {
    "undeclared remove": ([remove_action(C)], [], "which no repair names"),
    "sound file is removed": ([remove_action(C)], [LOSES_C], "the table has no finding about it now"),
    "remove that is declared without loss": ([remove_action(C)], [NAMES_C], "no repair states that rows are lost"),
    "file that is not live": ([add_action("a.parquet")], [], "which no repair names"),
    "file that was never live": (
        [add_action("d.parquet")],
        [Repair(kind="correct-statistics", rules=[], summary="", files=["d.parquet"], effect="none")],
        "is not a live file of the table",
    ),
    "transaction": ([txn_action("stream", 5)], [], "needs the action Txn"),
    "undeclared metadata": ([metadata_action([("id", "long")])], [], "needs the action MetaData"),
    "column removed": ([metadata_action([("id", "long")])], [RAISES], "changes columns of the schema"),
    "other id": ([{"metaData": {**METADATA, "id": "other"}}], [RAISES], "changes the field id"),
    "removed protection": ([protocol_action(1, 1)], [RAISES], "takes a feature from the protocol"),
    "new domain": ([domain_action("mine", "{}")], [RAISES], "creates or removes the domain mine"),
    "text": (["no JSON"], [], "is not an action"),
    "unknown action": ([{"secret": {}}], [], "is not an action"),
}


@pytest.mark.parametrize("case", COMMITS)
def test_commits_that_no_repair_needs_are_refused(case: str, damaged: Damaged, tmp_path: Path) -> None:
    lines, repairs, message = COMMITS[case]
    plan = tmp_path / "plan"
    write_plan_for_damaged_table(plan, damaged.table, level="log", commit=encode_lines(lines), repairs=repairs)
    refuse(damaged, plan, PlanRefused, message)


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "other table": ({"table_id": "other"}, "another id"),
    "other version": ({"version": 1}, "the next commit of the table is"),
    "no version": ({"version": 7, "commit": None}, "could not be read|is not 7"),
    "other listing": ({"listing": "0" * 64}, "the files of the log are not those"),
    "time out of range": ({"created_ms": 1 << 60}, "out of range"),
    "relative path": ({"table": "t"}, "neither a URI nor an absolute path"),
    "nothing": ({"commit": None, "writes": [], "set_aside": []}, "changes nothing"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_plan_of_another_table_is_refused(case: str, damaged: Damaged) -> None:
    changes, message = CHANGES[case]
    edit_plan(damaged, **changes)
    refuse(damaged, damaged.plan, PlanRefused, message)


def test_data_file_is_not_set_aside(damaged: Damaged) -> None:
    edit_plan(damaged, set_aside=[describe_file("../c.parquet", b"")])
    refuse(damaged, damaged.plan, PlanRefused, "no other file")


def test_untrue_verdict_is_refused(damaged: Damaged) -> None:
    """The checkpoint that the plan writes is the wrong one, and the plan says that the table conforms."""
    wrong = (damaged.table / "_delta_log" / CHECKPOINT).read_bytes()
    (damaged.plan / "files" / CHECKPOINT).write_bytes(wrong)
    plan = msgspec.json.decode((damaged.plan / "plan.json").read_bytes(), type=RepairPlan)
    edit_plan(
        damaged, writes=[describe_file(CHECKPOINT, wrong) if each.name == CHECKPOINT else each for each in plan.writes]
    )
    refuse(damaged, damaged.plan, PlanRefused, "the plan states CONFORMS")


def test_changed_content_is_refused(damaged: Damaged) -> None:
    (damaged.plan / "files" / commit_name(3)).write_bytes(b"{}")
    refuse(damaged, damaged.plan, InvalidUsage, "differs from the size or digest")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not a plan"),
        (b"[" * 100_000, "is not a plan"),
        (b'{"plan_format":2}', "is not a plan"),
        (b"\xff", "is not a plan"),
    ],
)
def test_plan_that_is_no_plan_is_wrong_usage(content: bytes, message: str, damaged: Damaged) -> None:
    (damaged.plan / "plan.json").write_bytes(content)
    refuse(damaged, damaged.plan, InvalidUsage, message)


def test_unknown_field_is_wrong_usage(damaged: Damaged) -> None:
    plan = json.loads((damaged.plan / "plan.json").read_bytes())
    (damaged.plan / "plan.json").write_text(json.dumps({**plan, "command": "rm -r /"}), "utf-8")
    refuse(damaged, damaged.plan, InvalidUsage, "unknown field `command`")


def link_log(damaged: Damaged) -> None:
    outside = damaged.table.with_name("outside")
    shutil.rmtree(outside, ignore_errors=True)
    (damaged.table / "_delta_log").rename(outside)
    (damaged.table / "_delta_log").symlink_to(outside)


def link_file(damaged: Damaged) -> None:
    outside = damaged.table.with_name("outside.parquet")
    (damaged.table / "_delta_log" / CHECKPOINT).replace(outside)
    (damaged.table / "_delta_log" / CHECKPOINT).symlink_to(outside)


@pytest.mark.parametrize("link", [link_log, link_file])
def test_links_out_of_the_table_are_not_followed(link: Callable[[Damaged], None], damaged: Damaged) -> None:
    link(damaged)
    refuse(damaged, damaged.plan, PlanRefused, "is a link or not a")


def test_link_in_the_plan_is_not_followed(damaged: Damaged) -> None:
    path = damaged.plan / "files" / commit_name(3)
    path.rename(damaged.plan / "commit")
    path.symlink_to(damaged.plan / "commit")
    refuse(damaged, damaged.plan, InvalidUsage, "leads through a link")


@pytest.mark.parametrize("name", ["../plan.json", "/etc/passwd", "a//b", "."])
def test_file_outside_of_the_plan_is_not_read(name: str, damaged: Damaged) -> None:
    edit_plan(damaged, writes=[describe_file(name, b"")])
    refuse(damaged, damaged.plan, InvalidUsage, "is not the name of a file")


def test_plan_that_others_can_change_is_refused(damaged: Damaged) -> None:
    damaged.plan.chmod(0o770)
    try:
        refuse(damaged, damaged.plan, InvalidUsage, "other users can change this plan")
    finally:
        damaged.plan.chmod(0o700)


def test_pipe_in_the_plan_does_not_block(damaged: Damaged) -> None:
    path = damaged.plan / "files" / commit_name(3)
    path.unlink()
    os.mkfifo(path)
    refuse(damaged, damaged.plan, InvalidUsage, "is not a regular file")


@pytest.mark.parametrize(
    ("feature", "message"), [("catalogManaged", "a catalog manages the table"), ("newFeature", "does not check")]
)
def test_table_that_needs_more_is_refused(feature: str, message: str, damaged: Damaged, tmp_path: Path) -> None:
    features = {"readerFeatures": [feature], "writerFeatures": [feature, "inCommitTimestamp"]}
    first = damaged.table / "_delta_log" / commit_name(0)
    lines = [protocol_action(3, 7) | {}, metadata_action([("id", "long")])]
    lines[0]["protocol"].update(features)
    first.write_bytes(encode_lines(lines))
    plan = tmp_path / "plan"
    write_plan_for_damaged_table(plan, damaged.table, level="log", commit=build_lost_file_commit(damaged.table, LOST))
    refuse(damaged, plan, PlanRefused, message)


def test_journal_of_another_plan_is_refused(damaged: Damaged) -> None:
    apply_plan(damaged.plan)
    edit_plan(damaged, created_ms=1)
    before = damaged.read_log()
    journal = damaged.plan / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(InvalidUsage, match="the journal is of another plan"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == before


def test_journal_cannot_name_other_files(damaged: Damaged) -> None:
    apply_plan(damaged.plan)
    journal = damaged.plan / "journal.jsonl"
    lines = journal.read_text("utf-8").replace(HINT, "00000000000000000001.json").splitlines(keepends=True)
    journal.write_text("".join(lines[:2]), "utf-8")
    before = damaged.read_log()
    with pytest.raises(InvalidUsage, match=r"the journal sets 0+1\.json aside"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == before


def test_plan_in_a_table_is_refused(damaged: Damaged) -> None:
    plan = damaged.table / "plan"
    shutil.copytree(damaged.plan, plan)
    refuse(damaged, plan, InvalidUsage, "is in a table, where deltaspec does not write")
    shutil.rmtree(plan)


def test_plan_cannot_allow_files_outside_of_the_table(damaged: Damaged) -> None:
    edit_plan(damaged, allow_outside=True)
    refuse(damaged, damaged.plan, PlanRefused, "the plan was made with --allow-outside")
    assert apply_plan(damaged.plan, allow_outside=True).summary.verdict == "conforms"
