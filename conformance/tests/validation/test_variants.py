"""Variants of every nesting are read; what of them cannot be judged is told to be so."""

from pathlib import Path

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.bases.variants import (
    ENABLED,
    NAMES,
    NUMBER,
    OBJECT,
    build_shredded_column,
    build_table_with_variants,
    build_unshredded_column,
    build_variant_field,
    build_variant_table,
)
from deltaspec_generators.permissions.variants import variants_within_other_types
from deltaspec_generators.table_files import TableFiles, metadata_action, remove_action, write_table

BROKEN = b"\x05\xff"


def write_and_validate(files: TableFiles, directory: Path, level: str = "rows") -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level=level)


def reasons(report: Report, rule: str) -> set[str]:
    return {each.reason for each in report.checked.not_checked if each.rule == rule}


def test_a_finding_names_column_and_fault(tmp_path: Path) -> None:
    report = write_and_validate(
        build_table_with_variants(build_unshredded_column((NAMES, OBJECT), (NAMES, BROKEN), (b"", OBJECT))), tmp_path
    )
    (found,) = report.findings
    assert (found.rule, found.path, found.column) == ("VAR005", "c.parquet", "v")
    assert found.evidence == {"encoding_fault": "a string is not UTF-8"}


@pytest.mark.parametrize("column", ["s", "l", "m"])
def test_variants_within_other_types_are_read(tmp_path: Path, column: str) -> None:
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
    (found,) = write_and_validate(files, tmp_path).findings
    assert (found.rule, found.column) == ("VAR005", {"s": "s.v", "l": "l.element", "m": "m.value"}[column])


def test_primitive_type_of_a_newer_encoding_is_not_judged(tmp_path: Path) -> None:
    report = write_and_validate(build_table_with_variants(build_unshredded_column((NAMES, bytes([21 << 2])))), tmp_path)
    assert (report.totals, reasons(report, "VAR005")) == ({}, {"v: primitive type 21"})


def test_default_that_takes_an_engine_to_tell_is_not_judged(tmp_path: Path) -> None:
    files = build_variant_table(
        [("id", "long"), build_variant_field(CURRENT_DEFAULT="try_parse_json('{')")], writer=["allowColumnDefaults"]
    )
    report = write_and_validate(files, tmp_path, "log")
    assert (report.totals, reasons(report, "VAR004")) == ({}, {"the default of v is SQL, which needs Spark"})


# shredding and when it is enabled


def shredded_file(*, begins_enabled: bool) -> TableFiles:
    values = build_shredded_column((None, {"typed_value": 3}))
    return build_table_with_variants(values, configuration=ENABLED if begins_enabled else None)


def test_file_of_the_commit_that_disables_shredding_may_be_of_before(tmp_path: Path) -> None:
    files = shredded_file(begins_enabled=True)
    files.commits[2].append(metadata_action([build_variant_field()]))
    assert write_and_validate(files, tmp_path, "footers").totals == {}


def test_file_that_a_clone_takes_over_is_not_new(tmp_path: Path) -> None:
    files = shredded_file(begins_enabled=False)
    files.commits[2][0] = commit_info_action(2, operation="CLONE")
    assert write_and_validate(files, tmp_path, "footers").totals == {}


def test_file_that_is_restored_is_not_new(tmp_path: Path) -> None:
    files = shredded_file(begins_enabled=True)
    add = {"add": get_action(files, 2, "add")}
    files.commits[3] = [commit_info_action(3), remove_action(add)]
    files.commits[4] = [commit_info_action(4), metadata_action([build_variant_field()])]
    files.commits[5] = [commit_info_action(5, operation="RESTORE"), add]
    assert write_and_validate(files, tmp_path, "footers").totals == {}


def test_new_file_after_shredding_was_disabled(tmp_path: Path) -> None:
    files = shredded_file(begins_enabled=True)
    files.commits[1].append(metadata_action([build_variant_field()]))
    assert write_and_validate(files, tmp_path, "footers").totals == {"VAR007": 1}
