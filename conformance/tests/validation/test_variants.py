"""Variants are checked at every nesting; undecidable ones are reported as not checked."""

from pathlib import Path

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    remove_action,
    write_table,
)
from planted_tables.bases.actions import CHANGE_FILE_PATH
from planted_tables.bases.variants import (
    ENABLED,
    NAMES,
    NUMBER,
    OBJECT,
    build_shredded_column,
    build_table_with_changed_variant,
    build_table_with_variants,
    build_unshredded_column,
    build_variant_field,
    build_variant_table,
)
from planted_tables.permissions.variants import variants_within_other_types

BROKEN = b"\x05\xff"


def write_and_validate(files: TableFiles, directory: Path, level: str = "rows") -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level=level)


def collect_reasons(report: Report, rule: str) -> set[str]:
    return {each.reason for each in report.checked.not_checked if each.rule == rule}


def test_finding_names_column_and_fault(tmp_path: Path) -> None:
    report = write_and_validate(
        build_table_with_variants(build_unshredded_column((NAMES, OBJECT), (NAMES, BROKEN), (b"", OBJECT))), tmp_path
    )
    (finding,) = report.findings
    assert (finding.rule, finding.path, finding.column) == ("VAR005", "c.parquet", "v")
    assert finding.evidence == {"encoding_fault": "a string is not UTF-8"}


@pytest.mark.parametrize("column", ["s", "l", "m"])
def test_variants_within_other_types_are_checked(tmp_path: Path, column: str) -> None:
    files = variants_within_other_types()
    inner = build_unshredded_column((NAMES, NUMBER), (NAMES, BROKEN))
    values: dict[str, pa.Array] = {
        "s": pa.StructArray.from_arrays([inner], ["v"]),
        "l": pa.ListArray.from_arrays(pa.array([0, 0, 2], pa.int32()), inner),
        "m": pa.MapArray.from_arrays(pa.array([0, 2, 2], pa.int32()), pa.array(["a", "b"]), inner),
    }
    data = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table({column: values[column]}), data, store_schema=False)
    files.data["c.parquet"] = data.getvalue().to_pybytes()
    get_action(files, 2, "add").update(size=len(files.data["c.parquet"]), stats='{"numRecords":2}')
    (finding,) = write_and_validate(files, tmp_path).findings
    assert (finding.rule, finding.column) == ("VAR005", {"s": "s.v", "l": "l.element", "m": "m.value"}[column])


def test_primitive_type_of_a_newer_encoding_is_not_checked(tmp_path: Path) -> None:
    report = write_and_validate(build_table_with_variants(build_unshredded_column((NAMES, bytes([21 << 2])))), tmp_path)
    assert (report.totals, collect_reasons(report, "VAR005")) == ({}, {"v: primitive type 21"})


def test_default_that_needs_spark_is_not_checked(tmp_path: Path) -> None:
    files = build_variant_table(
        [("id", "long"), build_variant_field(CURRENT_DEFAULT="try_parse_json('{')")], writer=["allowColumnDefaults"]
    )
    report = write_and_validate(files, tmp_path, "log")
    assert (report.totals, collect_reasons(report, "VAR004")) == ({}, {"the default of v is SQL, which needs Spark"})


@pytest.mark.parametrize("properties", [{}, {"CURRENT_DEFAULT": "NULL"}])
def test_default_that_is_null_or_missing_is_decided(tmp_path: Path, properties: dict[str, str]) -> None:
    columns = [("id", "long"), build_variant_field(**properties)]
    report = write_and_validate(build_variant_table(columns, writer=["allowColumnDefaults"]), tmp_path, "log")
    assert (report.totals, report.checked.not_checked) == ({}, [])


# shredding and when it is enabled


def build_table_with_shredded_file(*, initially_enabled: bool) -> TableFiles:
    values = build_shredded_column((None, {"typed_value": 3}))
    return build_table_with_variants(values, configuration=ENABLED if initially_enabled else None)


def test_disabling_commit_may_add_a_shredded_file(tmp_path: Path) -> None:
    files = build_table_with_shredded_file(initially_enabled=True)
    files.commits[2].append(metadata_action([build_variant_field()]))
    assert write_and_validate(files, tmp_path, "footers").totals == {}


def test_cloned_file_is_not_new(tmp_path: Path) -> None:
    files = build_table_with_shredded_file(initially_enabled=False)
    files.commits[2][0] = commit_info_action(2, operation="CLONE")
    assert write_and_validate(files, tmp_path, "footers").totals == {}


def test_restored_file_is_not_new(tmp_path: Path) -> None:
    files = build_table_with_shredded_file(initially_enabled=True)
    add = {"add": get_action(files, 2, "add")}
    files.commits[3] = [commit_info_action(3), remove_action(add)]
    files.commits[4] = [commit_info_action(4), metadata_action([build_variant_field()])]
    files.commits[5] = [commit_info_action(5, operation="RESTORE"), add]
    assert write_and_validate(files, tmp_path, "footers").totals == {}


def test_new_shredded_file_after_disabling_is_found(tmp_path: Path) -> None:
    files = build_table_with_shredded_file(initially_enabled=True)
    files.commits[1].append(metadata_action([build_variant_field()]))
    assert write_and_validate(files, tmp_path, "footers").totals == {"VAR007": 1}


def test_variants_in_change_data_files_are_checked(tmp_path: Path) -> None:
    values = build_unshredded_column((NAMES, NUMBER))
    broken = build_unshredded_column((NAMES, NUMBER), (NAMES, BROKEN))
    files = build_table_with_changed_variant("column", before=values, after=values, changes=broken)
    report = write_and_validate(files, tmp_path)
    assert [(each.rule, each.path) for each in report.findings] == [("VAR005", CHANGE_FILE_PATH)]
    assert collect_reasons(report, "CDF007") == {"v: a string is not UTF-8"}


def test_change_data_file_that_vacuum_deleted_is_not_reported(tmp_path: Path) -> None:
    values = build_unshredded_column((NAMES, NUMBER))
    changes = build_unshredded_column((NAMES, NUMBER), (NAMES, NUMBER))
    files = build_table_with_changed_variant("column", before=values, after=values, changes=changes)
    del files.data[CHANGE_FILE_PATH]
    assert collect_reasons(write_and_validate(files, tmp_path), "VAR005") == set()


def test_change_data_file_that_is_damaged_is_undecided(tmp_path: Path) -> None:
    values = build_unshredded_column((NAMES, NUMBER))
    changes = build_unshredded_column((NAMES, NUMBER), (NAMES, NUMBER))
    files = build_table_with_changed_variant("column", before=values, after=values, changes=changes)
    files.data[CHANGE_FILE_PATH] = files.data[CHANGE_FILE_PATH][:-1] + b"X"
    entries = write_and_validate(files, tmp_path).checked.not_checked
    assert {each.file for each in entries if each.rule == "VAR005"} == {CHANGE_FILE_PATH}


def test_variants_of_a_missing_data_file_are_undecided(tmp_path: Path) -> None:
    files = build_table_with_variants(build_unshredded_column((NAMES, NUMBER)))
    files.missing.add("c.parquet")
    entries = write_and_validate(files, tmp_path).checked.not_checked
    assert {each.file for each in entries if each.rule == "VAR005"} == {"c.parquet"}
