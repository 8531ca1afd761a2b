"""A lost file or commit whose finding is accepted does not leave the run incomplete; everything else still does."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run
from helpers.drawn_tables import draw_table
from helpers.repair_plans import write_checkpoint

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.validation.ledger import MAX_LOCATIONS
from deltaspec_generators.small_tables import (
    add_data_file,
    build_rows,
    build_table_with_change_data,
    build_table_with_data,
)
from deltaspec_generators.table_files import TableFiles, commit_info_action, write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS

LOSSES = {
    "data_file_missing": "DAT001",
    "file_is_garbage": "PQT001",
    "vector_file_missing": "DVX010",
    "vector_damaged": "DVX013",
    "stored_vector_undecodable": "DVX009",
    "checkpoint_damaged": "CKP001",
    "sidecar_missing": "CKP022",
    "malformed_add": "LIN010",
}


def validate(table: Path, **options: Any) -> Report:
    return deltaspec.validate(str(table), **{"level": "rows", **options})


def accept(rule: str, **more: Any) -> dict[str, Any]:
    return {"rule": rule, "reason": "lost in an outage", **more}


def write_table_without(tmp_path: Path, *names: str) -> Path:
    """Write a table with live files b and c, without some files."""
    files = build_table_with_data()
    files.missing |= set(names)
    write_table(files, tmp_path / "t")
    return tmp_path / "t"


@pytest.mark.parametrize("name", LOSSES)
def test_accepted_loss_conforms_and_lists_what_it_leaves_unchecked(name: str, tmp_path: Path) -> None:
    files = draw_table(PLANTED_FAULTS[name])
    write_table(files, tmp_path / "t")
    before = validate(tmp_path / "t")
    report = validate(tmp_path / "t", accept=[accept(LOSSES[name])])
    assert (before.verdict, report.verdict, report.totals) == ("violations", "conforms", {})
    assert report.accepted_totals == {LOSSES[name]: before.totals[LOSSES[name]]}
    assert [each.rule for each in report.checked.not_checked if not each.accepted] == []
    assert report.checked.undecided_rules == before.checked.undecided_rules
    assert before.checked.undecided_rules


def test_baseline_accepts_a_loss(tmp_path: Path) -> None:
    table, baseline = write_table_without(tmp_path, "b.parquet"), tmp_path / "known.json"
    assert run("baseline", "update", str(baseline), str(table), "--level", "rows").exit_code == 0
    report = validate(table, baseline=str(baseline))
    assert (report.verdict, report.accepted_totals) == ("conforms", {"DAT001": 1})
    (table / "c.parquet").unlink()
    report = validate(table, baseline=str(baseline))
    assert (report.verdict, report.totals, report.accepted_totals) == ("violations", {"DAT001": 1}, {"DAT001": 1})


def test_loss_of_another_file_is_not_accepted(tmp_path: Path) -> None:
    table = write_table_without(tmp_path, "b.parquet", "c.parquet")
    report = validate(table, accept=[accept("DAT001", path="b.parquet")])
    assert (report.verdict, report.totals) == ("violations", {"DAT001": 1})
    flags = {(each.file, each.accepted) for each in report.checked.not_checked}
    assert flags == {("b.parquet", True), ("c.parquet", False)}


def test_other_reason_for_the_same_file_is_not_accepted(tmp_path: Path) -> None:
    """An entry that accepts DAT001 does not accept a file that exists and is not a Parquet file."""
    table = write_table_without(tmp_path)
    (table / "b.parquet").write_bytes(b"PAR1" * 200)
    report = validate(table, accept=[accept("DAT001"), accept("DAT002")], ignore="PQT001")
    assert {(each.file, each.accepted) for each in report.checked.not_checked} == {("b.parquet", False)}
    assert report.verdict == "incomplete"


def build_table_of_many_files(number: int) -> TableFiles:
    files = build_table_with_data()
    adds = [add_data_file(files, f"more-{each}.parquet", build_rows(100 * each)) for each in range(number)]
    files.commits[3] = [commit_info_action(3), *adds]
    return files


def test_more_lost_files_than_the_ledger_lists_are_accepted(tmp_path: Path) -> None:
    files = build_table_of_many_files(MAX_LOCATIONS + 5)
    files.missing = {path for path in files.data if path.startswith("more-")}
    write_table(files, tmp_path / "t")
    report = validate(tmp_path / "t", accept=[accept("DAT001")])
    assert (report.verdict, report.accepted_totals) == ("conforms", {"DAT001": MAX_LOCATIONS + 5})
    assert "and 5 more files that do not exist" in {each.reason for each in report.checked.not_checked}
    partly = validate(tmp_path / "t", accept=[accept("DAT001", path="more-1*")])
    assert [each.reason for each in partly.checked.not_checked if "more files" in each.reason and each.accepted] == []
    assert partly.verdict == "violations"


def test_line_that_may_be_valid_is_not_accepted_with_an_invalid_one(tmp_path: Path) -> None:
    table = write_table_without(tmp_path)
    commit = table / "_delta_log/00000000000000000002.json"
    deep = b'{"commitInfo":' + b'{"a":' * 2000 + b"1" + b"}" * 2001
    commit.write_bytes(commit.read_bytes() + b'{"txn":{"appId":"a"}}\n' + deep + b"\n")
    before = validate(table)
    report = validate(table, accept=[accept(rule) for rule in before.totals])
    assert (report.verdict, report.totals) == ("incomplete", {})


CHANGES = "_change_data/cdc-0.parquet"
WITHOUT_ROWS = "the rows are not known, because removed files or change data no longer exist"


def test_lost_change_file_is_accepted(tmp_path: Path) -> None:
    files = build_table_with_change_data()
    files.missing = {CHANGES}
    write_table(files, tmp_path / "t")
    assert validate(tmp_path / "t").totals == {"DAT004": 1}
    report = validate(tmp_path / "t", accept=[accept("DAT004")])
    assert (report.verdict, report.totals, report.accepted_totals) == ("conforms", {}, {"DAT004": 1})
    assert [each.finding.path for each in report.accepted] == [CHANGES]
    assert [each.reason for each in report.checked.rows_not_compared] == [WITHOUT_ROWS]


def test_unreadable_change_file_is_accepted(tmp_path: Path) -> None:
    files = build_table_with_change_data()
    change = files.data[CHANGES]
    assert isinstance(change, bytes)
    files.data[CHANGES] = b"x" * len(change)
    write_table(files, tmp_path / "t")
    assert validate(tmp_path / "t").totals == {"PQT001": 1}
    report = validate(tmp_path / "t", accept=[accept("PQT001", path=CHANGES)])
    assert (report.verdict, report.accepted_totals) == ("conforms", {"PQT001": 1})
    assert {(each.file, each.accepted) for each in report.checked.not_checked} == {(CHANGES, True)}


def write_table_without_commits(table: Path, *versions: int) -> None:
    """Write a table of eight commits with a checkpoint of version 4, without some commits."""
    files = build_table_with_data()
    for version in range(3, 8):
        files.commits[version] = [
            commit_info_action(version),
            add_data_file(files, f"{version}.parquet", build_rows(10 * version)),
        ]
    write_table(files, table)
    write_checkpoint(table, 4)
    for version in versions:
        (table / f"_delta_log/{version:020}.json").unlink()


def list_reasons(report: Report, *, accepted: bool) -> Collection[str]:
    return {each.reason for each in report.checked.not_checked if each.accepted == accepted}


NOT_REPLAYED = "versions after 2 cannot be replayed: commit 2 is missing"
BEFORE_7 = "commits before version 7 are missing"


@pytest.mark.parametrize(
    ("missing", "rule", "reason"), [(2, "LOG010", NOT_REPLAYED), (6, "LOG001", BEFORE_7)], ids=["older", "needed"]
)
def test_missing_commit_is_accepted(missing: int, rule: str, reason: str, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_table_without_commits(table, missing)
    before = validate(table, history="all")
    assert (before.totals, list_reasons(before, accepted=False)) == ({rule: 1}, {reason})
    report = validate(table, history="all", accept=[accept(rule)])
    assert (report.verdict, report.accepted_totals) == ("conforms", {rule: 1})
    assert list_reasons(report, accepted=True) == {reason}
    assert report.checked.undecided_rules == before.checked.undecided_rules


def test_other_missing_commit_is_not_accepted(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_table_without_commits(table, 2, 6)
    report = validate(table, history="all", accept=[accept("LOG010")])
    assert (report.verdict, report.totals, report.accepted_totals) == ("violations", {"LOG001": 1}, {"LOG010": 1})
    assert list_reasons(report, accepted=True) == {NOT_REPLAYED}
    assert list_reasons(report, accepted=False) == {BEFORE_7}
    report = validate(table, history="all", accept=[accept("LOG001")], ignore="LOG010")
    assert (report.verdict, list_reasons(report, accepted=False)) == ("incomplete", {NOT_REPLAYED})


def test_second_missing_commit_is_not_in_the_baseline(tmp_path: Path) -> None:
    table, baseline = tmp_path / "t", tmp_path / "known.json"
    write_table_without_commits(table, 2)
    options = ("--level", "rows", "--history", "all")
    assert run("baseline", "update", str(baseline), str(table), *options).exit_code == 0
    assert run("validate", str(table), *options).exit_code == 3
    assert run("validate", str(table), *options, "--baseline", str(baseline)).exit_code == 0
    (table / "_delta_log/00000000000000000006.json").unlink()
    assert run("validate", str(table), *options, "--baseline", str(baseline)).exit_code == 1


@pytest.mark.parametrize("way", ["baseline", "configuration"])
def test_accepted_loss_ends_with_0_and_another_one_with_1(way: str, tmp_path: Path) -> None:
    table, known = write_table_without(tmp_path, "b.parquet"), tmp_path / "known.json"
    command = ["validate", str(table), "--level", "rows"]
    assert run(*command).exit_code == 1
    if way == "baseline":
        assert run("baseline", "update", str(known), str(table), "--level", "rows").exit_code == 0
        command += ["--baseline", str(known)]
    else:
        configuration = tmp_path / "deltaspec.toml"
        configuration.write_text('[[accept]]\nrule = "DAT001"\npath = "b.parquet"\nreason = "lost in an outage"\n')
        command += ["--config", str(configuration)]
    green = run(*command)
    assert green.exit_code == 0
    assert "(b.parquet)" in green.stdout
    assert "1 finding accepted" in green.stdout
    accepted = json.loads(run(*command, "--format", "json").stdout)["accepted"]
    assert [(each["finding"]["rule"], each["finding"]["path"]) for each in accepted] == [("DAT001", "b.parquet")]
    (table / "c.parquet").unlink()
    red = run(*command)
    assert red.exit_code == 1
    assert "c.parquet" in red.stdout
