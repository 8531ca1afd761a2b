"""A commit that states that it changes no rows writes the rows that it removes (COM022)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.cli import run

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.small_tables import (
    FIELDS,
    add_data_file,
    add_rewrite,
    build_rows,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases.column_mapping import build_mapped_field

RULES = ["COM020", "COM021", "COM022"]


def validate(files: TableFiles, directory: Path, **options: Any) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), **{"level": "rows", **options})


def find_reasons(report: Report) -> set[str]:
    return {each.reason for each in report.checked.not_checked if each.rule == "COM022"}


def build_live_rows() -> pa.Table:
    return pa.concat_tables([build_rows(10), build_rows(20)])


def replace_id(rows: pa.Table, number: int, value: int) -> pa.Table:
    ids = rows["id"].to_pylist()
    ids[number] = value
    return rows.set_column(0, "id", pa.array(ids))


MIDNIGHTS = ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]


def rewrite_partitions(
    texts: list[str], ids: list[int], kind: str = "timestamp", old_texts: list[str] = MIDNIGHTS
) -> TableFiles:
    """Build a table of two partitions whose files are rewritten; the new files have these values and first ids."""
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action([*FIELDS, ("p", kind)], ["p"])]
    old = [
        add_data_file(files, f"old{number}.parquet", build_rows(10 * number), partition={"p": text})
        for number, text in enumerate(old_texts)
    ]
    files.commits[1] = [commit_info_action(1), *old]
    new = [
        add_data_file(files, f"new{first}.parquet", build_rows(first), partition={"p": text}, dataChange=False)
        for first, text in zip(ids, texts, strict=True)
    ]
    removes = [remove_action(each, dataChange=False) for each in old]
    files.commits[2] = [commit_info_action(2, operation="OPTIMIZE"), *removes, *new]
    return files


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows,
        lambda rows: rows.sort_by([("id", "descending")]),
        lambda rows: rows.select(["price", "id", "name"]),
    ],
)
def test_rows_in_another_file_and_order_are_the_same(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    report = validate(add_rewrite(build_table_with_data(), change(build_live_rows())), tmp_path)
    assert (report.verdict, report.totals) == ("conforms", {})
    assert "COM022" in report.checked.run


def test_changed_value_is_reported_once(tmp_path: Path) -> None:
    files = add_rewrite(build_table_with_data(), replace_id(build_live_rows(), 7, 999))
    report = validate(files, tmp_path)
    assert report.totals == {"COM022": 1}
    (finding,) = report.findings
    assert (finding.file, finding.severity) == ("_delta_log/00000000000000000003.json", "violation")
    assert deltaspec.validate(str(tmp_path / "table"), level="footers").totals == {}


def test_vectors_leave_out_deleted_rows(tmp_path: Path) -> None:
    for number, (rows, totals) in enumerate([(build_live_rows(), {"COM020": 1}), (None, {})]):
        files = build_table_with_stored_vectors()
        live = (
            rows
            if rows is not None
            else build_live_rows().filter(pa.array([each not in (11, 13, 22) for each in range(10, 30)]))
        )
        version = max(files.commits) + 1
        old = [
            line
            for lines in files.commits.values()
            for line in lines
            if isinstance(line, dict) and "deletionVector" in line.get("add", {})
        ]
        removes = [remove_action(each, dataChange=False) for each in old]
        new = add_data_file(files, "d.parquet", live, dataChange=False)
        files.commits[version] = [commit_info_action(version, operation="OPTIMIZE"), *removes, new]
        report = validate(files, tmp_path / str(number), select=RULES)
        assert report.totals == totals


@pytest.mark.parametrize(
    ("rows", "code"),
    [(build_live_rows().slice(1), "COM021"), (pa.concat_tables([build_live_rows(), build_rows(5, 1)]), "COM020")],
)
def test_number_of_rows_is_reported_by_the_log_or_by_the_files(tmp_path: Path, rows: pa.Table, code: str) -> None:
    report = validate(add_rewrite(build_table_with_data(), rows), tmp_path / "stated")
    assert report.totals == {code: 1}
    report = validate(
        add_rewrite(build_table_with_data(), rows, states_counts=False), tmp_path / "unknown", select=RULES
    )
    assert report.totals == {"COM022": 1}


def test_only_what_is_stated_is_compared(tmp_path: Path) -> None:
    """Rows that the adds move are among the removed ones, of which others may be deleted, and vice versa."""
    for number, (kind, rows) in enumerate(
        [("remove", build_live_rows().slice(1)), ("add", pa.concat_tables([build_live_rows(), build_rows(5, 1)]))]
    ):
        files = add_rewrite(build_table_with_data(), rows)
        for line in files.commits[3]:
            if isinstance(line, dict) and kind in line:
                line[kind]["dataChange"] = True
        report = validate(files, tmp_path / f"{number}", select=RULES)
        assert (report.verdict, report.totals) == ("conforms", {}), f"{kind=}"
    files = add_rewrite(build_table_with_data(), replace_id(build_live_rows(), 7, 999))
    get_action(files, 3, "remove")["dataChange"] = True
    assert validate(files, tmp_path / "one remove", select=RULES).totals == {"COM022": 1}
    get_action(files, 3, "add")["dataChange"] = True
    assert validate(files, tmp_path / "mixed", select=RULES).totals == {}


def test_columns_of_the_commit_are_compared(tmp_path: Path) -> None:
    """A column that is added later is null in all files; a widened column has the same values."""
    files = add_rewrite(build_table_with_data(), build_live_rows())
    fields = [*FIELDS, ("more", "string")]
    files.commits[4] = [commit_info_action(4), metadata_action(fields)]
    assert validate(files, tmp_path / "later", select=RULES).verdict == "conforms"
    files.commits[3], files.commits[4] = files.commits[4], files.commits[3]
    files.commits[4][0] = commit_info_action(4, operation="OPTIMIZE")
    rows = build_live_rows().append_column("more", pa.array(["x"] + [None] * 19))
    assert validate(files, tmp_path / "before", select=RULES).totals == {}
    add_data_file(files, "d.parquet", rows)
    get_action(files, 4, "add").update(size=len(files.data["d.parquet"]), stats=None)
    assert validate(files, tmp_path / "filled", select=RULES).totals == {"COM022": 1}


def test_partition_values_are_rows_too(tmp_path: Path) -> None:
    texts = MIDNIGHTS
    report = validate(rewrite_partitions(texts, [0, 10]), tmp_path / "same", select=RULES)
    assert (report.verdict, report.totals) == ("conforms", {})
    report = validate(rewrite_partitions(texts[::-1], [0, 10], "string"), tmp_path / "swapped", select=RULES)
    assert report.totals == {"COM022": 1}


def test_partition_values_with_another_text_may_be_the_same(tmp_path: Path) -> None:
    report = validate(
        rewrite_partitions(["2023-12-31T23:00:00Z", "2024-01-02 00:00:00"], [0, 10]), tmp_path, select=RULES
    )
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert find_reasons(report) == {"the text of partition column p is ambiguous"}


def test_removes_need_not_have_partition_values(tmp_path: Path) -> None:
    for number, first in enumerate((10, 40)):
        files = rewrite_partitions(MIDNIGHTS, [0, first])
        for line in files.commits[2]:
            if isinstance(line, dict) and "remove" in line:
                for name in ("partitionValues", "size", "extendedFileMetadata"):
                    del line["remove"][name]
        report = validate(files, tmp_path / str(number), select=["COM022"])
        if first == 10:
            assert (report.verdict, report.totals) == ("conforms", {}), f"{first=}"
        else:
            assert find_reasons(report) == {"the text of partition column p is ambiguous"}, f"{first=}"


def test_deleted_file_is_not_compared(tmp_path: Path) -> None:
    files = add_rewrite(build_table_with_data(), replace_id(build_live_rows(), 7, 999))
    files.missing.add("b.parquet")
    report = validate(files, tmp_path)
    assert (report.verdict, report.totals) == ("conforms", {})
    (version,) = (
        version for version, lines in files.commits.items() if "b.parquet" in str(lines) and "remove" in str(lines)
    )
    assert [each.files for each in report.checked.rows_not_compared] == [[f"_delta_log/{version:020}.json"]]
    printed = run("validate", tmp_path / "table", "--level", "rows").stdout
    assert "the rows are not known, because removed files" in " ".join(printed.split())


def test_unreadable_file_is_not_checked(tmp_path: Path) -> None:
    files = add_rewrite(build_table_with_data(), build_live_rows())
    files.data["b.parquet"] = b"PAR1" + bytes(len(files.data["b.parquet"]) - 4)
    report = validate(files, tmp_path, select=["COM022"])
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert [each.file for each in report.checked.not_checked] == ["b.parquet"]


def test_unknown_schema_and_values_of_another_type_are_not_checked(tmp_path: Path) -> None:
    files = add_rewrite(build_table_with_data(), replace_id(build_live_rows(), 7, 999))
    files.commits[2].append('{"metaData": 7}')
    report = validate(files, tmp_path / "schema", select=["COM022"])
    assert report.totals == {}
    assert find_reasons(report)
    texts = build_live_rows()
    texts = texts.set_column(0, "id", texts["id"].cast(pa.string()))
    report = validate(add_rewrite(build_table_with_data(), texts), tmp_path / "type", select=["COM022"])
    assert report.totals == {}
    assert find_reasons(report) == {"string does not store the table's type"}


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("decimal(10,2)", "1.5", "1.50"),
        ("double", "-0.0", "0.0"),
        ("double", "1e1", "10.0"),
        ("boolean", "TRUE", "true"),
    ],
)
def test_equal_partition_values_have_many_texts(tmp_path: Path, kind: str, before: str, after: str) -> None:
    report = validate(rewrite_partitions([after, "0"], [0, 10], kind, [before, "0"]), tmp_path, select=["COM022"])
    assert (report.totals, find_reasons(report)) == ({}, set())


def test_invalid_partition_values_are_not_compared(tmp_path: Path) -> None:
    texts = ["2024-01-01", "2024-01-02"]
    files = rewrite_partitions(texts, [0, 10], "date", [f"{each} 00:00:00" for each in texts])
    report = validate(files, tmp_path, select=["COM022"])
    assert (report.totals, find_reasons(report)) == ({}, {"the text of partition column p is ambiguous"})


def test_remove_of_a_file_that_is_not_live_removes_no_rows(tmp_path: Path) -> None:
    files = add_rewrite(build_table_with_data(), build_live_rows())
    files.commits[3].append(remove_action({"add": get_action(files, 1, "add")}, dataChange=False))
    assert validate(files, tmp_path, select=["COM022"]).totals == {}


@pytest.mark.parametrize("stated", [17, 20, 23])
@pytest.mark.parametrize(("kind", "count"), [("add", 23), ("remove", 17)])
def test_wrong_counts_do_not_hide_rows(tmp_path: Path, kind: str, count: int, stated: int) -> None:
    """Only what the log states otherwise is left to the rules over stated counts."""
    rows = build_live_rows().slice(0, count) if count < 20 else pa.concat_tables([build_live_rows(), build_rows(50, 3)])
    files = add_rewrite(build_table_with_data(), rows)
    get_action(files, 3, "add")["stats"] = json.dumps({"numRecords": stated})
    for line in files.commits[3]:
        if isinstance(line, dict) and kind not in line and "commitInfo" not in line:
            next(iter(line.values()))["dataChange"] = True
    report = validate(files, tmp_path, select=RULES)
    by_the_log = "COM020" if kind == "add" else "COM021"
    assert report.totals == {by_the_log if stated == count else "COM022": 1}


def test_structs_without_any_stored_member_are_not_compared(tmp_path: Path) -> None:
    """Some readers return null for such a struct, others a struct of nulls."""
    fields = [("s", {"type": "struct", "fields": [{"name": "y", "type": "long", "nullable": True, "metadata": {}}]})]
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action(fields)]
    old = add_data_file(files, "a.parquet", pa.table({"s": [{"x": 1}]}), stats="{}")
    files.commits[1] = [commit_info_action(1), old]
    new = add_data_file(files, "b.parquet", pa.table({"s": pa.array([None], pa.struct({"y": pa.int64()}))}), stats="{}")
    new["add"]["dataChange"] = False
    files.commits[2] = [commit_info_action(2), remove_action(old, dataChange=False), new]
    report = validate(files, tmp_path, select=["COM022"])
    assert (report.totals, find_reasons(report)) == ({}, {"the file stores no member of s"})


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        ([-1000, 1999], [-1, 1], set()),
        ([-1001, 1999], [-2, 1], {"fractions of microseconds before 1970 are rounded up by some readers"}),
    ],
)
def test_readers_round_fractions_of_microseconds(
    tmp_path: Path, before: list[int], after: list[int], reasons: set[str]
) -> None:
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action([("t", "timestamp")])]
    old, new = (
        add_data_file(
            files, f"{unit}.parquet", pa.table({"t": pa.array(values, pa.timestamp(unit, "UTC"))}), stats="{}"
        )
        for unit, values in (("ns", before), ("us", after))
    )
    files.commits[1] = [commit_info_action(1), old]
    new["add"]["dataChange"] = False
    files.commits[2] = [commit_info_action(2), remove_action(old, dataChange=False), new]
    report = validate(files, tmp_path, select=["COM022"])
    assert (report.totals, find_reasons(report)) == ({}, reasons)


def test_file_with_another_vector_in_a_commit_that_renames_columns(tmp_path: Path) -> None:
    mapped = [build_mapped_field(name, number, kind, f"col-{number}") for number, (name, kind) in enumerate(FIELDS, 1)]
    files = TableFiles()
    enabled = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    partition = build_mapped_field("p", 4, "string", "col-4")
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(3, 7, ["columnMapping", "deletionVectors"], ["columnMapping", "deletionVectors"]),
        metadata_action([*mapped, partition], ["p"], enabled),
    ]
    rows = build_rows().rename_columns(["col-1", "col-2", "col-3"])
    old = add_data_file(files, "a.parquet", rows, partition={"col-4": "x"})
    other = add_data_file(files, "b.parquet", rows, partition={"col-4": "x"})
    files.commits[1] = [commit_info_action(1), old, other]
    disabled = metadata_action([*FIELDS, ("p", "string")], ["p"], enabled | {"delta.columnMapping.mode": "none"})
    with_vector = {**old["add"], "partitionValues": {"p": "x"}, "dataChange": False}
    with_vector["deletionVector"] = inline_vector_descriptor([1])
    new = add_data_file(files, "c.parquet", build_rows(), partition={"p": "x"}, dataChange=False)
    removed = remove_action(other, dataChange=False)
    files.commits[2] = [commit_info_action(2), disabled, removed, {"add": with_vector}, new]
    report = validate(files, tmp_path, select=RULES)
    assert report.totals == {"COM020": 1}  # the file with the earlier vector is not removed


@pytest.mark.parametrize(("first", "totals"), [(0, {}), (1, {"COM022": 1})])
def test_commit_may_rename_the_columns_of_files(tmp_path: Path, first: int, totals: dict[str, int]) -> None:
    """A commit that disables column mapping rewrites the files with the logical names."""
    mapped = [build_mapped_field(name, number, kind, f"col-{number}") for number, (name, kind) in enumerate(FIELDS, 1)]
    files = TableFiles()
    enabled = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(2, 5),
        metadata_action(mapped, configuration=enabled),
    ]
    old = add_data_file(files, "a.parquet", build_rows().rename_columns(["col-1", "col-2", "col-3"]))
    files.commits[1] = [commit_info_action(1), old]
    new = add_data_file(files, "b.parquet", build_rows(first), dataChange=False)
    disabled = metadata_action(FIELDS, configuration=enabled | {"delta.columnMapping.mode": "none"})
    files.commits[2] = [commit_info_action(2), disabled, remove_action(old, dataChange=False), new]
    report = validate(files, tmp_path, select=RULES)
    assert (report.totals, find_reasons(report)) == (totals, set())


def test_commit_that_changes_the_schema_is_not_checked(tmp_path: Path) -> None:
    files = add_rewrite(build_table_with_data(), build_live_rows())
    files.commits[3].append(metadata_action([*FIELDS, ("more", "string")]))
    report = validate(files, tmp_path, select=RULES)
    assert (report.totals, find_reasons(report)) == ({}, {"the commit changes the schema"})


def test_commits_after_an_earlier_report_are_compared(tmp_path: Path) -> None:
    files = add_rewrite(build_table_with_data(), build_live_rows())
    damaged = replace_id(build_live_rows(), 7, 999)
    table = str(tmp_path / "table")
    earlier = tmp_path / "earlier.json"
    validate(files, tmp_path)
    run("validate", table, "--level", "rows", "--format", "json", "--output", str(earlier))
    new = add_data_file(files, "e.parquet", damaged, dataChange=False)
    removed = remove_action({"add": get_action(files, 3, "add")}, dataChange=False)
    files.commits[4] = [commit_info_action(4, operation="OPTIMIZE"), removed, new]
    write_table(files, tmp_path / "table")
    assert deltaspec.validate(table, level="rows", since=str(earlier)).totals == {"COM022": 1}
