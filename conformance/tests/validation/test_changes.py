"""Change data beside the rows that a commit changes: legal things that look like faults, and what cannot be decided."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.actions import (
    CHANGE_FEED_ENABLED,
    CHANGE_FILE_PATH,
    add_change_file,
    build_change_rows,
    build_updated_table,
    build_updated_table_with_changes,
)
from deltaspec_generators.bases.data_files import FIELDS, add_data_file, build_rows, encode_data_file
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, remove_action, write_table

Judge = Callable[[TableFiles], Report]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    def write_and_validate(files: TableFiles) -> Report:
        write_table(files, tmp_path / "table")
        return deltaspec.validate(str(tmp_path / "table"), level="rows", history="all", select=["CDF"])

    return write_and_validate


def deleted(before: pa.Table, after: pa.Table, gone: pa.Table, **more: Any) -> TableFiles:
    """A table whose last commit rewrites a file, with the change data of the rows that are gone."""
    files = TableFiles()
    fields = more.pop("fields", FIELDS)
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(fields, more.pop("columns", ()), CHANGE_FEED_ENABLED),
    ]
    add = add_data_file(files, "a.parquet", before, stats="{}", **more)
    files.commits[1] = [commit_info_action(1), add]
    kept = add_data_file(files, "b.parquet", after, stats="{}", **more)
    values = {"partitionValues": more["partition"]} if "partition" in more else {}
    change = add_change_file(files, CHANGE_FILE_PATH, build_change_rows(gone, ["delete"] * gone.num_rows), **values)
    files.commits[2] = [commit_info_action(2, operation="DELETE"), kept, remove_action(add), change]
    return files


def test_whole_changes_are_no_finding(judge: Judge) -> None:
    report = judge(build_updated_table()[0])
    assert (report.totals, report.checked.not_checked) == ({}, [])
    assert {"CDF001", "CDF005", "CDF006", "CDF007", "CDF008"} <= set(report.checked.run)


@pytest.mark.parametrize("gone", ["a.parquet", "b.parquet", CHANGE_FILE_PATH])
def test_files_vacuumed_since_are_legal(judge: Judge, gone: str) -> None:
    files, table = build_updated_table()
    files.commits[2][-1] = add_change_file(
        files, CHANGE_FILE_PATH, table.slice(0, 2)
    )  # a change is left out, and nobody can tell
    files.missing.add(gone)
    report = judge(files)
    assert (report.totals, report.checked.not_checked) == ({}, [])


def test_pairs_are_counted_though_data_files_are_gone(judge: Judge) -> None:
    files = build_updated_table_with_changes(build_updated_table()[1].slice(0, 1))
    files.missing.add("a.parquet")
    assert judge(files).totals == {"CDF005": 1}


@pytest.mark.parametrize(("column", "value"), [("price", float("nan")), ("price", -0.0), ("name", None), ("name", "")])
def test_odd_values_equal_themselves(judge: Judge, column: str, value: Any) -> None:
    before = build_rows()
    place = before.schema.get_field_index(column)
    values = [value] * before.num_rows
    before = before.set_column(place, column, pa.array(values, before.schema.field(place).type))
    assert judge(deleted(before, before.slice(0, 7), before.slice(7))).totals == {}


def test_zero_written_with_another_sign_is_the_same_row(judge: Judge) -> None:
    before, gone = build_rows(0, 1), build_rows(0, 1)
    gone = gone.set_column(2, "price", pa.array([-0.0]))
    assert judge(deleted(before, before.slice(1), gone)).totals == {}


def test_column_that_the_older_file_lacks_is_null_in_its_changes(judge: Judge) -> None:
    before = build_rows()
    fields = [*FIELDS, ("extra", "string")]
    nulls = pa.nulls(10, pa.string())
    after = before.append_column("extra", nulls)
    assert judge(deleted(before, after.slice(0, 9), after.slice(9), fields=fields)).totals == {}


def test_file_from_before_a_column_was_widened_holds_the_same_rows(judge: Judge) -> None:
    before = build_rows()
    narrow = before.set_column(0, "id", before["id"].cast(pa.int32()))
    assert judge(deleted(narrow, before.slice(0, 9), before.slice(9))).totals == {}


def test_timestamp_of_a_partition_may_be_spelled_anew(judge: Judge) -> None:
    fields = [*FIELDS, ("at", "timestamp")]
    files = deleted(
        build_rows(),
        build_rows(0, 9),
        build_rows(9, 1),
        fields=fields,
        columns=["at"],
        partition={"at": "2024-01-01 00:00:00"},
    )
    get_action(files, 2, "cdc")["partitionValues"] = {"at": "2024-01-01T00:00:00.000000Z"}
    assert judge(files).totals == {}


def test_change_in_another_partition_is_found(judge: Judge) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = deleted(
        build_rows(), build_rows(0, 9), build_rows(9, 1), fields=fields, columns=["p"], partition={"p": "1"}
    )
    assert judge(files).totals == {}
    get_action(files, 2, "cdc")["partitionValues"] = {"p": "2"}
    assert judge(files).totals == {"CDF007": 1}


@pytest.mark.parametrize("text", ["01", "+1"])
def test_partition_value_in_other_letters_is_the_same(judge: Judge, text: str) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = deleted(
        build_rows(), build_rows(0, 9), build_rows(9, 1), fields=fields, columns=["p"], partition={"p": "1"}
    )
    get_action(files, 2, "cdc")["partitionValues"] = {"p": text}
    assert judge(files).totals == {}


def test_tombstone_without_partition_values_is_compared_by_the_other_columns(judge: Judge) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = deleted(
        build_rows(), build_rows(0, 9), build_rows(9, 1), fields=fields, columns=["p"], partition={"p": "1"}
    )
    body = get_action(files, 2, "remove")
    for name in ("partitionValues", "size", "extendedFileMetadata"):
        del body[name]
    assert judge(files).totals == {}


def test_change_file_may_be_an_added_file_whose_rows_are_all_new(judge: Judge) -> None:
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
    assert judge(files).totals == {}


def test_rows_deleted_by_a_vector_are_the_changes(judge: Judge) -> None:
    files = TableFiles()
    protocol = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors", "changeDataFeed"])
    files.commits[0] = [
        commit_info_action(0),
        protocol,
        metadata_action(FIELDS, configuration={**CHANGE_FEED_ENABLED, "delta.enableDeletionVectors": "true"}),
    ]
    add = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), add]
    vectored = {"add": {**add["add"], "deletionVector": log_only.inline_vector_descriptor([2, 5])}}
    gone = pa.concat_tables([build_rows(2, 1), build_rows(5, 1)])
    change = add_change_file(files, CHANGE_FILE_PATH, build_change_rows(gone, ["delete"] * 2))
    files.commits[2] = [commit_info_action(2), vectored, remove_action(add), change]
    assert judge(files).totals == {}
    files.commits[2][-1] = add_change_file(files, CHANGE_FILE_PATH, build_change_rows(build_rows(5, 2), ["delete"] * 2))
    assert judge(files).totals == {"CDF007": 1}


def test_commit_with_changes_may_add_a_live_file_again(judge: Judge) -> None:
    files = deleted(build_rows(), build_rows(0, 9), build_rows(9, 1))
    other = add_data_file(files, "c.parquet", build_rows(50), stats="{}")
    files.commits[1].append(other)
    again = {"add": {**other["add"], "dataChange": False, "tags": {"seen": "twice"}}}
    files.commits[2].append(again)
    assert judge(files).totals == {}
    again["add"]["path"] = "d.parquet"
    files.data["d.parquet"] = files.data["c.parquet"]
    assert judge(files).totals == {"CDF006": 1}


def test_whole_overwrite_needs_no_change_data(judge: Judge) -> None:
    files = TableFiles()
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(FIELDS, configuration=CHANGE_FEED_ENABLED),
    ]
    add = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), add]
    files.commits[2] = [commit_info_action(2), add_data_file(files, "b.parquet", build_rows(50)), remove_action(add)]
    report = judge(files)
    assert report.totals == {}
    assert "CDF008" in report.checked.run


def test_update_before_the_feed_is_enabled_needs_no_change_data(judge: Judge) -> None:
    files, _ = build_updated_table()
    files.commits[2].pop()
    del files.data[CHANGE_FILE_PATH]
    assert judge(files).totals == {"CDF008": 1}
    get_action(files, 0, "metaData")["configuration"] = {}
    files.commits[3] = [commit_info_action(3), metadata_action(FIELDS, configuration=CHANGE_FEED_ENABLED)]
    assert judge(files).totals == {}


def test_schema_that_grows_with_the_commit_is_compared(judge: Judge) -> None:
    files, table = build_updated_table()
    files.commits[2].append(metadata_action([*FIELDS, ("more", "long")], configuration=CHANGE_FEED_ENABLED))
    files.commits[2][3] = add_change_file(
        files, CHANGE_FILE_PATH, table.append_column("more", pa.array([None, 5, None], pa.int64()))
    )
    after = pa.concat_tables([build_rows(0, 3), table.slice(1, 1).drop_columns(["_change_type"]), build_rows(5, 5)])
    more = pa.array([5 if each == "changed" else None for each in after["name"].to_pylist()], pa.int64())
    files.commits[2][1] = add_data_file(files, "b.parquet", after.append_column("more", more))
    assert judge(files).totals == {}
    files.commits[2][3] = add_change_file(files, CHANGE_FILE_PATH, table)
    assert judge(files).totals == {"CDF007": 1}


def test_column_of_another_type_since_the_commit_is_not_checked(judge: Judge) -> None:
    files = build_updated_table_with_changes(build_updated_table()[1].set_column(2, "price", pa.array(["1", "2", "3"])))
    fields = [("id", "long"), ("name", "string"), ("price", "string")]
    files.commits[2].append(metadata_action(fields, configuration=CHANGE_FEED_ENABLED))
    texts = pa.concat_tables([build_rows(0, 3), build_rows(4, 6)])
    texts = texts.set_column(2, "price", texts["price"].cast(pa.string()))
    files.commits[2][1] = add_data_file(files, "b.parquet", texts)
    report = judge(files)
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked} == {"CDF007"}


def test_column_that_was_a_partition_column_before_the_commit_is_left_out(judge: Judge) -> None:
    fields = [*FIELDS, ("p", "integer")]
    files = deleted(
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
    assert judge(files).totals == {}


@pytest.mark.parametrize("path", [CHANGE_FILE_PATH, "a.parquet"])
def test_file_that_is_no_parquet_is_not_checked(judge: Judge, path: str) -> None:
    files, _ = build_updated_table()
    files.data[path] = b"PAR1" + bytes(100) + b"PAR1"
    report = judge(files)
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked} >= {"CDF006", "CDF007"}
    assert report.verdict == "incomplete"


@pytest.mark.parametrize("cut", [8, 20, 40])
def test_file_with_broken_pages_is_not_checked(judge: Judge, cut: int) -> None:
    files, table = build_updated_table()
    data = bytearray(encode_data_file(table, compression="none"))
    data[4 : 4 + cut] = bytes(cut)
    files.data[CHANGE_FILE_PATH] = bytes(data)
    report = judge(files)
    assert report.totals == {}
    assert report.verdict == "incomplete"


def test_change_type_of_another_type_is_left_to_the_footer(judge: Judge) -> None:
    _, table = build_updated_table()
    report = judge(build_updated_table_with_changes(table.set_column(3, "_change_type", pa.array([0, 1, 2]))))
    assert report.totals == {}
    assert report.verdict == "incomplete"
