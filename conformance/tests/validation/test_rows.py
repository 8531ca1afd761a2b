"""Level `rows` on complete tables: valid ones have no findings, unreadable files are reported, reads are minimal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.validation.data import read_ahead, row_value_checks
from deltaspec.wire.parquet import file_opener
from deltaspec.wire.parquet.footer_reader import FooterReader
from deltaspec_generators.small_tables import build_rows as plain_rows
from deltaspec_generators.small_tables import build_table_with_data, build_table_with_stored_vectors
from deltaspec_generators.table_files import TableFiles, add_action, get_action, protocol_action, write_table
from deltaspec_generators.tables.strategies import data_tables
from planted_tables.bases.nested_types import struct_type
from planted_tables.bases.single_file import (
    FILE_PATH,
    build_required_field,
    build_single_file_table,
    build_string_array,
)

ROW_RULES = ("ROW", "STA")


def write_and_validate(files: TableFiles, path: Path, **options: Any) -> Report:
    write_table(files, path / "table")
    return deltaspec.validate(str(path / "table"), level="rows", **options)


def collect_unchecked(report: Report, prefix: str = "ROW") -> set[tuple[str, str | None]]:
    return {(each.reason, each.file) for each in report.checked.not_checked if each.rule.startswith(prefix)}


@settings(max_examples=10, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(files=data_tables())
def test_valid_tables_have_no_findings(tmp_path_factory: pytest.TempPathFactory, files: TableFiles) -> None:
    report = write_and_validate(files, tmp_path_factory.mktemp("valid"), select=ROW_RULES)
    assert report.totals == {}
    assert report.checked.not_checked == []


@pytest.mark.parametrize("make", [build_table_with_data, build_table_with_stored_vectors])
def test_valid_tables_conform(tmp_path: Path, make: Callable[[], TableFiles]) -> None:
    report = write_and_validate(make(), tmp_path)
    assert (report.verdict, report.findings) == ("conforms", [])
    assert {"ROW001", "ROW003"} <= set(report.checked.run)


def test_finding_has_a_location(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "s": build_string_array(b"a", b"b", b"\xff")})
    report = write_and_validate(build_single_file_table(table, [("id", "long"), ("s", "string")]), tmp_path)
    (found,) = report.findings
    assert (found.rule, found.level, found.version, found.line, found.path, found.column) == (
        ("ROW003", "rows", 1, 2, FILE_PATH, "s")
    )
    assert report.verdict == "violations"


def test_deleted_rows_may_be_null_and_of_another_partition(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors(
        ((1, 3), (2,)), tables=[plain_rows(0), _build_rows_with_null(1), _build_rows_with_null(2)]
    )
    metadata = get_action(files, 0, "metaData")
    metadata["schemaString"] = metadata["schemaString"].replace('"nullable":true', '"nullable":false', 1)
    assert '"nullable":false' in metadata["schemaString"]
    assert write_and_validate(files, tmp_path, select=["ROW"]).totals == {}


def _build_rows_with_null(position: int) -> pa.Table:
    ids = [None if each == position else each for each in range(10)]
    return plain_rows(10).set_column(0, "id", pa.array(ids, pa.int64()))


# undecided


def test_constraints_without_table_support_are_not_in_force(tmp_path: Path) -> None:
    protocol = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"])
    files = build_single_file_table(pa.table({"id": [1]}), [("id", "long")], protocol=protocol)
    get_action(files, 0, "metaData")["configuration"] = {"delta.constraints.c": "id > 0"}
    assert collect_unchecked(write_and_validate(files, tmp_path)) == set()


def test_missing_file_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.missing.add("b.parquet")
    report = write_and_validate(files, tmp_path)
    assert set(report.totals) == {"DAT001"}
    assert collect_unchecked(report) == {("b.parquet: does not exist", "b.parquet")}


@pytest.mark.parametrize("data", [b"", b"PAR1PAR1", b"PAR1" + b"\xff" * 40 + b"PAR1"])
def test_file_without_footer_is_not_checked(tmp_path: Path, data: bytes) -> None:
    files = build_table_with_data()
    files.data["b.parquet"] = data
    get_action(files, 1, "add")
    for line in files.commits[1][1:]:
        assert isinstance(line, dict)
        if line["add"]["path"] == "b.parquet":
            line["add"]["size"] = len(data)
    report = write_and_validate(files, tmp_path)
    assert not [code for code in report.totals if code.startswith(ROW_RULES)]
    ((reason, file),) = collect_unchecked(report)
    assert (reason.startswith("cannot be opened as Parquet: "), file) == (True, "b.parquet")


def test_file_with_undecodable_vector_is_not_read(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors()
    (name,) = files.extra
    files.extra[name] = b"\x01" + b"\xff" * 60
    report = write_and_validate(files, tmp_path)
    assert {code[:3] for code in report.totals} == {"DVX"}
    assert {file for _, file in collect_unchecked(report)} == {"b.parquet", "c.parquet"}
    assert [
        reason
        for reason, _ in collect_unchecked(report)
        if not reason.startswith("its deletion vector cannot be decoded: ")
    ] == []


def test_rows_with_unknown_schema_are_not_read(tmp_path: Path) -> None:
    files = build_table_with_data()
    get_action(files, 0, "metaData")["schemaString"] = "{"
    report = write_and_validate(files, tmp_path)
    assert collect_unchecked(report) == {("the schema of the rows is not known", None)}


def test_file_that_shrinks_while_it_is_read_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(build_table_with_data(parquet_options={"write_page_checksum": True}), tmp_path / "table")
    target = tmp_path / "table" / "b.parquet"
    original = target.read_bytes()
    read = pq.ParquetFile.iter_batches

    def cut_and_read(self: pq.ParquetFile, *args: Any, **more: Any) -> Any:
        with target.open("r+b") as file:
            file.truncate(8)
        return read(self, *args, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", cut_and_read)
    monkeypatch.setattr(read_ahead, "LOCAL_READERS", 1)
    monkeypatch.setattr(file_opener, "LARGE_FILE_BYTES", 0)  # smaller files are read completely
    report = deltaspec.validate(str(tmp_path / "table"), level="rows", select=["ROW"])
    assert report.totals == {}
    assert collect_unchecked(report) == {("b.parquet: changed while it was read", "b.parquet")}
    assert len(original) > 8


# reads


def test_rows_are_read_only_if_a_rule_needs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(row_value_checks, "read_data_file", refuse)
    assert write_and_validate(build_table_with_data(), tmp_path, select=["DAT"]).totals == {}


def test_files_are_checked_in_order_across_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_value_checks, "ROWS_AT_ONCE", 5)
    files = build_table_with_data(tables=[plain_rows(0), _build_rows_with_null(3), _build_rows_with_null(4)])
    metadata = get_action(files, 0, "metaData")
    metadata["schemaString"] = metadata["schemaString"].replace('"nullable":true', '"nullable":false', 1)
    report = write_and_validate(files, tmp_path, select=["ROW"])
    assert [(each.rule, each.path) for each in report.findings] == [("ROW002", "b.parquet"), ("ROW002", "c.parquet")]


def test_progress_counts_files(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    write_and_validate(build_table_with_data(), tmp_path, progress=lambda *each: calls.append(each))
    assert ("rows", 2, 2) in calls


def test_required_column_in_a_null_struct_may_be_null(tmp_path: Path) -> None:
    kind = struct_type(build_required_field("x", "long"))
    values = pa.array([{"x": 1}, None], pa.struct([("x", pa.int64())]))
    assert write_and_validate(build_single_file_table(pa.table({"s": values}), [("s", kind)]), tmp_path).totals == {}


@pytest.mark.parametrize(
    ("rows", "found"),
    [([[], None, [None]], []), ([[{"y": 1}], [], [{"y": 2}, {"y": 3}]], [("ROW006", "c.element.x", 2)])],
)
def test_required_field_that_structs_of_an_array_do_not_have_is_null(
    rows: list[Any], found: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    kind = struct_type(build_required_field("x", "long"), ("y", "long"))
    column = {"type": "array", "elementType": kind, "containsNull": True}
    table = pa.table({"c": pa.array(rows, pa.list_(pa.struct([("y", pa.int64())])))})
    report = write_and_validate(build_single_file_table(table, [("c", column)]), tmp_path)
    assert [(each.rule, each.column, each.evidence["violating_rows"]) for each in report.findings] == found


def test_arrow_schema_of_a_file_hides_nothing(tmp_path: Path) -> None:
    """Arrow would read the numbers as durations, which have no bounds."""
    table = pa.table({"n": pa.array([5, 7], pa.duration("us"))})
    (finding,) = write_and_validate(
        build_single_file_table(table, [("n", "long")], stats='{"numRecords":2,"minValues":{"n":6}}'), tmp_path
    ).findings
    assert (finding.rule, finding.column) == ("STA001", "n")


def test_missing_files_are_read_only_for_the_reasons_that_the_ledger_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = build_single_file_table(pa.table({"id": [1]}), [("id", "long")])
    files.commits[2] = [add_action(f"missing-{number:03}.parquet", rows=1) for number in range(150)]
    opened: list[str] = []
    read = FooterReader.read

    def count(reader: FooterReader, key: str, size: int | None) -> Any:
        opened.append(key)
        return read(reader, key, size)

    monkeypatch.setattr(FooterReader, "read", count)
    report = write_and_validate(files, tmp_path)
    assert report.totals["DAT001"] == 150
    assert len([key for key in opened if key.startswith("missing")]) == 100
    assert {(reason, file) for reason, file in collect_unchecked(report, "ROW001") if file} == {
        (f"missing-{number:03}.parquet: does not exist", f"missing-{number:03}.parquet") for number in range(20)
    }
    assert ("and 130 more files that do not exist", None) in collect_unchecked(report, "ROW001")
