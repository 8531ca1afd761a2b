"""Change data compared with the rows that a commit changes: sound tables that look broken, and undecided cases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows, encode_data_file
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
from planted_tables.bases.actions import (
    CHANGE_FEED_ENABLED,
    CHANGE_FILE_PATH,
    add_change_file,
    build_change_rows,
    build_updated_table,
    build_updated_table_with_changes,
)

Validate = Callable[[TableFiles], Report]


@pytest.fixture
def validate(tmp_path: Path) -> Validate:
    def write_and_validate(files: TableFiles) -> Report:
        write_table(files, tmp_path / "table")
        return deltaspec.validate(str(tmp_path / "table"), level="rows", history="all", select=["CDF"])

    return write_and_validate


def collect_unchecked(report: Report) -> set[tuple[str, str]]:
    return {(each.rule, each.reason) for each in report.checked.not_checked}


def build_delete(before: pa.Table, after: pa.Table, deleted: pa.Table, **more: Any) -> TableFiles:
    """Build a table whose last commit rewrites a file, with change data of its missing rows."""
    files = TableFiles()
    fields = more.pop("fields", FIELDS)
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(fields, more.pop("columns", ()), CHANGE_FEED_ENABLED),
    ]
    add = add_data_file(files, "a.parquet", before, stats="{}", **more)
    files.commits[1] = [commit_info_action(1), add]
    rewritten = add_data_file(files, "b.parquet", after, stats="{}", **more)
    values = {"partitionValues": more["partition"]} if "partition" in more else {}
    change = add_change_file(
        files, CHANGE_FILE_PATH, build_change_rows(deleted, ["delete"] * deleted.num_rows), **values
    )
    files.commits[2] = [commit_info_action(2, operation="DELETE"), rewritten, remove_action(add), change]
    return files


def test_complete_change_data_has_no_finding(validate: Validate) -> None:
    report = validate(build_updated_table()[0])
    assert (report.totals, report.checked.not_checked, report.checked.rows_not_compared) == ({}, [], [])
    assert {"CDF001", "CDF005", "CDF006", "CDF007", "CDF008"} <= set(report.checked.run)


@pytest.mark.parametrize("vacuumed", ["a.parquet", "b.parquet", CHANGE_FILE_PATH])
def test_vacuumed_files_are_legal(validate: Validate, vacuumed: str) -> None:
    files, table = build_updated_table()
    files.commits[2][-1] = add_change_file(
        files, CHANGE_FILE_PATH, table.slice(0, 2)
    )  # one change is missing, but it cannot be detected
    files.missing.add(vacuumed)
    report = validate(files)
    assert (report.verdict, report.totals, report.checked.not_checked) == ("conforms", {}, [])
    (skipped,) = report.checked.rows_not_compared
    assert (skipped.count, skipped.files) == (1, [f"_delta_log/{2:020}.json"])


def test_update_pairs_are_counted_without_the_data_files(validate: Validate) -> None:
    files = build_updated_table_with_changes(build_updated_table()[1].slice(0, 1))
    files.missing.add("a.parquet")
    assert validate(files).totals == {"CDF005": 1}


@pytest.mark.parametrize(("column", "value"), [("price", float("nan")), ("price", -0.0), ("name", None), ("name", "")])
def test_nan_null_and_empty_values_equal_themselves(validate: Validate, column: str, value: Any) -> None:
    before = build_rows()
    index = before.schema.get_field_index(column)
    values = [value] * before.num_rows
    before = before.set_column(index, column, pa.array(values, before.schema.field(index).type))
    assert validate(build_delete(before, before.slice(0, 7), before.slice(7))).totals == {}


def test_negative_zero_equals_zero(validate: Validate) -> None:
    before, deleted = build_rows(0, 1), build_rows(0, 1)
    deleted = deleted.set_column(2, "price", pa.array([-0.0]))
    assert validate(build_delete(before, before.slice(1), deleted)).totals == {}


def test_column_missing_from_older_file_is_null_in_changes(validate: Validate) -> None:
    before = build_rows()
    fields = [*FIELDS, ("extra", "string")]
    nulls = pa.nulls(10, pa.string())
    after = before.append_column("extra", nulls)
    assert validate(build_delete(before, after.slice(0, 9), after.slice(9), fields=fields)).totals == {}


def test_rows_match_in_file_from_before_type_widening(validate: Validate) -> None:
    before = build_rows()
    narrow = before.set_column(0, "id", before["id"].cast(pa.int32()))
    assert validate(build_delete(narrow, before.slice(0, 9), before.slice(9))).totals == {}


def test_partition_timestamp_may_have_another_encoding(validate: Validate) -> None:
    fields = [*FIELDS, ("at", "timestamp")]
    files = build_delete(
        build_rows(),
        build_rows(0, 9),
        build_rows(9, 1),
        fields=fields,
        columns=["at"],
        partition={"at": "2024-01-01 00:00:00"},
    )
    assert validate(files).checked.not_checked == []
    get_action(files, 2, "cdc")["partitionValues"] = {"at": "2024-01-01T00:00:00.000000Z"}
    report = validate(files)
    assert report.totals == {}
    assert collect_unchecked(report) == {("CDF007", "the text of partition column at is ambiguous")}


def test_partition_timestamps_with_zones_are_compared(validate: Validate) -> None:
    files = build_delete(
        build_rows(),
        build_rows(0, 9),
        build_rows(9, 1),
        fields=[*FIELDS, ("at", "timestamp")],
        columns=["at"],
        partition={"at": "2024-01-01T00:00:00Z"},
    )
    get_action(files, 2, "cdc")["partitionValues"] = {"at": "2024-01-01T01:00:00.000+01:00"}
    report = validate(files)
    assert (report.totals, report.checked.not_checked) == ({}, [])
    get_action(files, 2, "cdc")["partitionValues"] = {"at": "2024-01-01T01:00:00Z"}
    assert validate(files).totals == {"CDF007": 1}


def test_change_in_another_partition_is_found(validate: Validate) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = build_delete(
        build_rows(), build_rows(0, 9), build_rows(9, 1), fields=fields, columns=["p"], partition={"p": "1"}
    )
    assert validate(files).totals == {}
    get_action(files, 2, "cdc")["partitionValues"] = {"p": "2"}
    assert validate(files).totals == {"CDF007": 1}


@pytest.mark.parametrize("text", ["01", "+1"])
def test_equivalent_partition_values_match(validate: Validate, text: str) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = build_delete(
        build_rows(), build_rows(0, 9), build_rows(9, 1), fields=fields, columns=["p"], partition={"p": "1"}
    )
    get_action(files, 2, "cdc")["partitionValues"] = {"p": text}
    assert validate(files).totals == {}


def test_tombstone_without_partition_values_has_those_of_its_file(validate: Validate) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = build_delete(
        build_rows(), build_rows(0, 9), build_rows(9, 1), fields=fields, columns=["p"], partition={"p": "1"}
    )
    body = get_action(files, 2, "remove")
    for name in ("partitionValues", "size", "extendedFileMetadata"):
        del body[name]
    report = validate(files)
    assert (report.totals, report.checked.not_checked) == ({}, [])
    get_action(files, 2, "cdc")["partitionValues"] = {"p": "2"}
    assert validate(files).totals == {"CDF007": 1}


def test_change_file_may_be_an_added_file_with_only_inserts(validate: Validate) -> None:
    files = TableFiles()
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(FIELDS, configuration=CHANGE_FEED_ENABLED),
    ]
    table = build_change_rows(build_rows(), ["insert"] * 10)
    add = add_data_file(files, "a.parquet", table, stats="{}")
    change = {"path": "a.parquet", "partitionValues": {}, "size": add["add"]["size"], "dataChange": False}
    files.commits[1] = [commit_info_action(1), add, {"cdc": change}]
    assert validate(files).totals == {}


def test_rows_deleted_by_vector_match_change_data(validate: Validate) -> None:
    files = TableFiles()
    protocol = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors", "changeDataFeed"])
    files.commits[0] = [
        commit_info_action(0),
        protocol,
        metadata_action(FIELDS, configuration={**CHANGE_FEED_ENABLED, "delta.enableDeletionVectors": "true"}),
    ]
    add = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), add]
    vectored = {"add": {**add["add"], "deletionVector": inline_vector_descriptor([2, 5])}}
    deleted = pa.concat_tables([build_rows(2, 1), build_rows(5, 1)])
    change = add_change_file(files, CHANGE_FILE_PATH, build_change_rows(deleted, ["delete"] * 2))
    files.commits[2] = [commit_info_action(2), vectored, remove_action(add), change]
    assert validate(files).totals == {}
    files.commits[2][-1] = add_change_file(files, CHANGE_FILE_PATH, build_change_rows(build_rows(5, 2), ["delete"] * 2))
    assert validate(files).totals == {"CDF007": 1}


def test_commit_with_changes_may_add_a_live_file_again(validate: Validate) -> None:
    files = build_delete(build_rows(), build_rows(0, 9), build_rows(9, 1))
    other = add_data_file(files, "c.parquet", build_rows(50), stats="{}")
    files.commits[1].append(other)
    readded = {"add": {**other["add"], "dataChange": False, "tags": {"seen": "twice"}}}
    files.commits[2].append(readded)
    assert validate(files).totals == {}
    readded["add"]["path"] = "d.parquet"
    files.data["d.parquet"] = files.data["c.parquet"]
    assert validate(files).totals == {"CDF006": 1}


def test_full_overwrite_needs_no_change_data(validate: Validate) -> None:
    files = TableFiles()
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(FIELDS, configuration=CHANGE_FEED_ENABLED),
    ]
    add = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), add]
    files.commits[2] = [commit_info_action(2), add_data_file(files, "b.parquet", build_rows(50)), remove_action(add)]
    report = validate(files)
    assert report.totals == {}
    assert "CDF008" in report.checked.run


def test_update_before_the_feed_is_enabled_needs_no_change_data(validate: Validate) -> None:
    files, _ = build_updated_table()
    files.commits[2].pop()
    del files.data[CHANGE_FILE_PATH]
    assert validate(files).totals == {"CDF008": 1}
    get_action(files, 0, "metaData")["configuration"] = {}
    files.commits[3] = [commit_info_action(3), metadata_action(FIELDS, configuration=CHANGE_FEED_ENABLED)]
    assert validate(files).totals == {}


def test_rows_are_compared_if_the_commit_adds_a_column(validate: Validate) -> None:
    files, table = build_updated_table()
    files.commits[2].append(metadata_action([*FIELDS, ("more", "long")], configuration=CHANGE_FEED_ENABLED))
    files.commits[2][3] = add_change_file(
        files, CHANGE_FILE_PATH, table.append_column("more", pa.array([None, 5, None], pa.int64()))
    )
    after = pa.concat_tables([build_rows(0, 3), table.slice(1, 1).drop_columns(["_change_type"]), build_rows(5, 5)])
    more = pa.array([5 if each == "changed" else None for each in after["name"].to_pylist()], pa.int64())
    files.commits[2][1] = add_data_file(files, "b.parquet", after.append_column("more", more))
    assert validate(files).totals == {}
    files.commits[2][3] = add_change_file(files, CHANGE_FILE_PATH, table)
    assert validate(files).totals == {"CDF007": 1}


def test_column_whose_type_changes_in_the_commit_is_not_checked(validate: Validate) -> None:
    files = build_updated_table_with_changes(build_updated_table()[1].set_column(2, "price", pa.array(["1", "2", "3"])))
    fields = [("id", "long"), ("name", "string"), ("price", "string")]
    files.commits[2].append(metadata_action(fields, configuration=CHANGE_FEED_ENABLED))
    table = pa.concat_tables([build_rows(0, 3), build_rows(4, 6)])
    table = table.set_column(2, "price", table["price"].cast(pa.string()))
    files.commits[2][1] = add_data_file(files, "b.parquet", table)
    report = validate(files)
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked} == {"CDF007"}


def test_former_partition_column_is_not_compared(validate: Validate) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = build_delete(
        build_rows(), build_rows(0, 9), build_rows(9, 1), fields=fields, columns=["p"], partition={"p": "1"}
    )
    ones = pa.array([1] * 9, pa.int32())
    files.commits[2] = [
        commit_info_action(2),
        metadata_action(fields, configuration=CHANGE_FEED_ENABLED),
        add_data_file(files, "b.parquet", build_rows(0, 9).append_column("p", ones)),
        files.commits[2][2],
        add_change_file(
            files, CHANGE_FILE_PATH, build_change_rows(build_rows(9, 1).append_column("p", ones.slice(8)), ["delete"])
        ),
    ]
    assert validate(files).totals == {}


@pytest.mark.parametrize("path", [CHANGE_FILE_PATH, "a.parquet"])
def test_invalid_parquet_file_is_not_checked(validate: Validate, path: str) -> None:
    files, _ = build_updated_table()
    files.data[path] = b"PAR1" + bytes(100) + b"PAR1"
    report = validate(files)
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked} >= {"CDF006", "CDF007"}
    assert report.verdict == "incomplete"


@pytest.mark.parametrize("cut", [8, 20, 40])
def test_file_with_corrupt_pages_is_not_checked(validate: Validate, cut: int) -> None:
    files, table = build_updated_table()
    data = bytearray(encode_data_file(table, compression="none"))
    data[4 : 4 + cut] = bytes(cut)
    files.data[CHANGE_FILE_PATH] = bytes(data)
    report = validate(files)
    assert report.totals == {}
    assert report.verdict == "incomplete"


def test_change_type_column_of_wrong_type_is_left_to_footer_rules(validate: Validate) -> None:
    _, table = build_updated_table()
    report = validate(build_updated_table_with_changes(table.set_column(3, "_change_type", pa.array([0, 1, 2]))))
    assert report.totals == {}
    assert report.verdict == "incomplete"
