"""A lost file whose finding is accepted does not leave the run incomplete; everything else still does."""

from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run
from helpers.drawn_tables import draw_table

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.validation.ledger import MAX_LOCATIONS
from deltaspec_generators.small_tables import add_data_file, build_rows, build_table_with_data
from deltaspec_generators.table_files import TableFiles, commit_info_action, write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS

LOSSES = {
    "data_file_missing": "DAT001",
    "file_is_garbage": "PQT001",
    "vector_file_missing": "DVX010",
    "vector_damaged": "DVX013",
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
