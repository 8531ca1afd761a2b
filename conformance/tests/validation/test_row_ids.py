"""Row ids: legal things that look like faults, and what cannot be decided."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.data_files import add_data_file, build_rows
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.bases.row_ids import (
    ENABLED,
    ROW_ID,
    build_rewritten_table,
    build_tracked_table,
    preserving_commit_info,
    row_id_mark_domain,
)
from deltaspec_generators.table_files import CheckpointFiles, TableFiles, protocol_action, remove_action, write_table

Judge = Callable[..., Report]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    def write_and_validate(files: TableFiles, level: str = "rows", **options: Any) -> Report:
        write_table(files, tmp_path / "table")
        return deltaspec.validate(str(tmp_path / "table"), level=level, select=["RID"], **{"history": "all", **options})

    return write_and_validate


def clean(report: Report) -> bool:
    return report.totals == {} and report.checked.not_checked == []


# the log


@pytest.mark.parametrize("enabled", [True, False])
def test_ids_of_a_sound_table_are_no_finding(judge: Judge, enabled: bool) -> None:
    report = judge(build_tracked_table(enabled=enabled), "log")
    assert clean(report)
    assert {"RID001", "RID002", "RID003", "RID004", "RID005"} <= set(report.checked.run)


def test_file_without_num_records_says_nothing_of_its_ids(judge: Judge) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add").update(stats="{}", baseRowId=5)
    assert clean(judge(files, "log"))


def test_ids_of_an_empty_file_overlap_with_none(judge: Judge) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add").update(stats='{"numRecords":0}', baseRowId=15)
    assert clean(judge(files, "log"))


def test_files_from_before_support_need_no_ids_until_they_are_enabled(judge: Judge) -> None:
    files = log_only.build_table(last_remove=False)
    body = get_action(files, 2, "add")
    files.commits[2].insert(0, protocol_action(1, 7, None, ["rowTracking", "domainMetadata"]))
    assert judge(files, "log").totals == {"RID004": 1, "RID005": 1}  # c.parquet alone
    body.update(baseRowId=0, defaultRowCommitVersion=2)
    files.commits[2].append(row_id_mark_domain(9))
    assert clean(judge(files, "log"))
    metadata = json.loads(json.dumps(files.commits[0][2]))
    metadata["metaData"]["configuration"] = ENABLED
    files.commits[3] = [commit_info_action(3), metadata]
    assert judge(files, "log").totals == {"RID004": 2, "RID005": 2}


def test_add_that_had_no_ids_may_be_committed_again_without(judge: Judge) -> None:
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])]
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False, "tags": {"seen": "twice"}}}
    files.commits[4] = [commit_info_action(4), again]
    assert clean(judge(files, "log"))


@pytest.mark.parametrize("told", [True, False])
def test_file_of_unknown_past_may_be_restored_without_ids(judge: Judge, told: bool) -> None:
    """Its tombstone stands in the checkpoint without ids, or is gone with the commits before."""
    files = build_tracked_table(enabled=False)
    old = {"add": {**get_action(files, 1, "add"), "path": "old.parquet"}}
    for name in ("baseRowId", "defaultRowCommitVersion"):
        del old["add"][name]
    removed = remove_action(old)
    removed["remove"]["dataChange"] = False
    live = [
        *files.commits[0][1:3],
        {"add": get_action(files, 1, "add")},
        {"add": get_action(files, 1, "add", 1)},
        row_id_mark_domain(19),
    ]
    files.checkpoints.append(CheckpointFiles(1, "classic", rows=[*live, *[removed] * told]))
    for version in (0, 1):
        del files.commits[version]
    files.commits[3] = [commit_info_action(3, operation="RESTORE"), old]
    assert clean(judge(files, "log"))


def test_file_restored_without_ids_that_it_had(judge: Judge) -> None:
    files = build_tracked_table(enabled=False)
    body = {**get_action(files, 1, "add")}
    del body["baseRowId"], body["defaultRowCommitVersion"]
    files.commits[3] = [commit_info_action(3, operation="RESTORE"), {"add": body}]
    assert judge(files, "log").totals == {"RID004": 1, "RID005": 1}
    for name in ("baseRowId", "defaultRowCommitVersion"):  # what its remove forgot, its add had
        del get_action(files, 2, "remove")[name]
    assert judge(files, "log").totals == {"RID004": 1, "RID005": 1}


def test_add_committed_again_may_not_lose_its_ids(judge: Judge) -> None:
    files = build_tracked_table(enabled=False)
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False}}
    del again["add"]["baseRowId"]
    files.commits[3] = [commit_info_action(3), again]
    assert judge(files, "log").totals == {"RID004": 1}


def test_files_written_while_suspended_need_no_ids(judge: Judge) -> None:
    files = build_tracked_table(enabled=False)
    for name in ("baseRowId", "defaultRowCommitVersion"):
        del get_action(files, 2, "add")[name]
    suspended = json.loads(json.dumps(files.commits[0][2]))
    suspended["metaData"]["configuration"] = {"delta.rowTrackingSuspended": "true"}
    files.commits[2].append(suspended)
    assert clean(judge(files, "log"))
    files.commits[3] = [commit_info_action(3), files.commits[0][2]]
    assert clean(judge(files, "log"))


def test_mark_of_the_older_key_is_a_mark(judge: Judge) -> None:
    files = build_tracked_table()
    files.commits[2][-1] = row_id_mark_domain(29, "highWaterMark")
    assert clean(judge(files, "log"))


def test_ids_of_files_that_are_removed_are_not_shared_but_given_again(judge: Judge) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add")["baseRowId"] = 0  # those of a, which the commit removes; b has 10 to 19
    assert judge(files, "log").totals == {"RID021": 1}


def test_highest_long_is_no_id_beyond_itself(judge: Judge) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add")["baseRowId"] = 2**63 - 1
    assert judge(files, "log").totals == {"RID002": 1}


def test_domain_that_cannot_be_decoded_is_not_checked(judge: Judge) -> None:
    files = build_tracked_table()
    files.commits[2][-1] = {"domainMetadata": {"domain": "delta.rowTracking", "configuration": 7, "removed": False}}
    report = judge(files, "log")
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked} >= {"RID002", "RID003"}


def test_files_of_unknown_history_are_not_checked(judge: Judge) -> None:
    files = build_tracked_table()
    del files.commits[1]
    report = judge(files, "log")
    assert report.totals == {}
    assert {"RID001", "RID004"} <= {each.rule for each in report.checked.not_checked}


def test_hidden_columns_may_not_share_a_name(judge: Judge) -> None:
    files = build_tracked_table()
    configuration = get_action(files, 0, "metaData")["configuration"]
    configuration["delta.rowTracking.materializedRowCommitVersionColumnName"] = ROW_ID
    assert judge(files, "log").totals == {"RID007": 2}


# the rows


def test_kept_ids_are_no_finding(judge: Judge) -> None:
    report = judge(build_rewritten_table())
    assert clean(report)
    assert {"RID008", "RID009", "RID010", "RID011", "RID012"} <= set(report.checked.run)


def test_rows_inserted_by_the_rewriting_commit_have_null(judge: Judge) -> None:
    assert clean(judge(build_rewritten_table([*range(9), None], [*[1] * 9, None], data_change=True)))


def test_id_equal_to_the_default_one_is_nobody_elses(judge: Judge) -> None:
    assert judge(build_rewritten_table([10, *range(1, 10)], data_change=True)).totals == {"RID035": 1}


def test_rewriting_commit_may_add_a_live_file_again(judge: Judge) -> None:
    files = build_rewritten_table()
    e = add_data_file(files, "e.parquet", build_rows(30, 5), baseRowId=25, defaultRowCommitVersion=1)
    files.commits[1].append(e)
    for version in (1, 2, 3):
        files.commits[version] = [line for line in files.commits[version] if "domainMetadata" not in line]
        files.commits[version].append(row_id_mark_domain(29))
    files.commits[2].append({"add": {**e["add"], "dataChange": False, "tags": {"seen": "twice"}}})
    assert clean(judge(files))


def test_vacuumed_files_say_nothing(judge: Judge) -> None:
    files = build_rewritten_table([None] * 10)
    files.missing.add("a.parquet")
    report = judge(files)
    assert clean(report)
    assert "RID011" not in report.checked.run


def test_rewrite_before_row_tracking_is_enabled_keeps_nothing(judge: Judge) -> None:
    files = build_rewritten_table([None] * 10)
    enabling = json.loads(json.dumps(files.commits[0][2]))
    files.commits[3].append(enabling)
    get_action(files, 0, "metaData")["configuration"] = {}
    assert clean(judge(files))


def test_rows_that_a_vector_deletes_have_no_ids(judge: Judge) -> None:
    files = build_rewritten_table(data_change=True)
    protocol = get_action(files, 0, "protocol")
    protocol.update(minReaderVersion=3, readerFeatures=["deletionVectors"])
    protocol["writerFeatures"] = [*protocol["writerFeatures"], "deletionVectors"]
    d = files.commits[3][1]
    assert isinstance(d, dict)
    table = build_rows(10, 1).append_column(ROW_ID, pa.array([22]))
    moved = add_data_file(files, "e.parquet", table, stats='{"numRecords":1}', baseRowId=25, defaultRowCommitVersion=4)
    files.commits[4] = [preserving_commit_info(4), moved, row_id_mark_domain(25)]
    assert judge(files).totals == {"RID008": 1, "RID033": 1}
    vectored = {"add": {**d["add"], "deletionVector": log_only.inline_vector_descriptor([2])}}
    files.commits[4] = [preserving_commit_info(4), moved, vectored, remove_action(d), row_id_mark_domain(25)]
    assert clean(judge(files))


def test_ids_below_zero_are_compared(judge: Judge) -> None:
    assert clean(judge(build_rewritten_table([-1, *range(1, 10)], data_change=True)))
    assert judge(build_rewritten_table([-1, -1, *range(2, 10)], data_change=True)).totals == {"RID008": 1}


@pytest.mark.parametrize(
    ("values", "totals"), [(["x"] * 10, {"RID037": 1}), ([1.5] * 10, {"RID037": 1}), ([2**63] * 10, {})]
)
def test_column_of_no_longs_is_not_checked(judge: Judge, values: list[Any], totals: dict[str, int]) -> None:
    files = build_rewritten_table(data_change=True)
    add = get_action(files, 2, "add")
    table = build_rows().append_column(ROW_ID, pa.array(values, pa.uint64() if values[0] == 2**63 else None))
    add["size"] = add_data_file(files, "c.parquet", table)["add"]["size"]
    report = judge(files)
    assert report.totals == totals
    assert {"RID008", "RID009"} <= {each.rule for each in report.checked.not_checked}


def test_file_that_is_no_parquet_is_not_checked(judge: Judge) -> None:
    files = build_rewritten_table()
    files.data["c.parquet"] = b"PAR1" + bytes(100) + b"PAR1"
    report = judge(files)
    assert report.totals == {}
    assert {"RID008", "RID011"} <= {each.rule for each in report.checked.not_checked}
