"""The ledger lists unreadable input for every rule that needs it, and for no other rule."""

from pathlib import Path

import pytest

import deltaspec
from deltaspec.rules import RULES
from deltaspec.validation.ledger import find_unused_rules
from deltaspec_generators.small_tables import VECTOR_FILE_UUID, build_table_with_data, build_table_with_stored_vectors
from deltaspec_generators.table_files import TableFiles, get_action, write_table
from planted_tables.bases.row_ids import build_rewritten_table

RULES_WITHOUT_SCHEMA = {"PQT050", "PQT051", "PQT052", "PQT053", "PQT001", "PQT002", "PQT003", "PQT004"}


def collect_unchecked_rules(files: TableFiles, root: Path, level: str) -> set[str]:
    write_table(files, root)
    return {entry.rule for entry in deltaspec.validate(str(root), level=level).checked.not_checked}


def test_unreadable_schema_leaves_rules_that_need_it_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data()
    get_action(files, 0, "metaData")["schemaString"] = "{"
    footer_rules = {code for code, rule in RULES.items() if rule.level == "footers"}
    footer_rules -= find_unused_rules(footer_rules, {"appendOnly", "invariants"})
    assert collect_unchecked_rules(files, tmp_path, "footers") & footer_rules == footer_rules - RULES_WITHOUT_SCHEMA


def test_unreadable_vector_does_not_affect_checks_of_footers_and_sizes(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors()
    name = f"deletion_vector_{VECTOR_FILE_UUID}.bin"
    files.missing.add(name)
    (tmp_path / name).mkdir()
    assert {code[:3] for code in collect_unchecked_rules(files, tmp_path, "rows")} == {"DVX", "ROW", "STA"}


def test_broken_file_has_one_reason_in_all_row_checks(tmp_path: Path) -> None:
    files = build_rewritten_table()
    path = "c.parquet"
    files.data[path] = bytes(len(files.data[path]))
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="rows")
    assert report.totals == {"PQT001": 1}
    assert {entry.rule[:3] for entry in report.checked.not_checked} == {"COM", "RID", "ROW", "STA"}
    [entry] = {(each.reason, each.file) for each in report.checked.not_checked}
    assert entry[1] == path


def test_files_outside_the_table_are_counted_once_per_rule(tmp_path: Path) -> None:
    files = build_table_with_data()
    add = get_action(files, 2, "add")
    files.commits[2] += [{"add": {**add, "path": f"/nowhere/{number}.parquet"}} for number in range(30)]
    write_table(files, tmp_path)
    entries = deltaspec.validate(str(tmp_path), level="footers").checked.not_checked
    more = {entry.rule: entry.reason for entry in entries if entry.file is None}
    assert set(more.values()) == {"and 10 more locations"}
    assert {"DAT001", "PQT001", "PQT010"} <= more.keys()
    assert "PQT034" not in more  # the table does not support column mapping


@pytest.mark.parametrize(("level", "version"), [("log", 1), ("rows", 1), ("rows", 2)])
def test_cut_line_is_the_only_reason(level: str, version: int, tmp_path: Path) -> None:
    write_table(build_table_with_data(), tmp_path)
    commit = tmp_path / "_delta_log" / f"{version:020}.json"
    commit.write_bytes(commit.read_bytes()[:-60])
    report = deltaspec.validate(str(tmp_path), level=level)
    assert {(each.reason, each.file) for each in report.checked.not_checked} == {
        ("a line cannot be decoded", f"_delta_log/{commit.name}")
    }
    assert {"CKP030", "COM001", "FIL001"} <= {each.rule for each in report.checked.not_checked}
    # the line may be a protocol, so the table may support more features
    assert {"RID", "ICE", "CLU", "IDN", "CMP"} <= {each.rule[:3] for each in report.checked.not_checked}


def test_ledger_names_files_as_the_log_does(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.missing.add("c.parquet")
    get_action(files, 2, "add")["path"] = "c%20c.parquet"
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="rows")
    assert report.totals == {"DAT001": 1}
    assert {entry.file for entry in report.checked.not_checked} == {"c%20c.parquet"}
