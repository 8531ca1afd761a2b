"""Row ids: legal cases that look like errors, and cases that cannot be decided."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows
from deltaspec_generators.table_files import (
    CheckpointFiles,
    TableFiles,
    commit_info_action,
    domain_action,
    get_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.row_ids import (
    ENABLED,
    PROTOCOL,
    ROW_ID,
    build_r1_tracked_table,
    build_rewritten_table,
    build_tracked_table,
    preserving_commit_info,
    row_id_mark_domain,
)

Validate = Callable[..., Report]


@pytest.fixture
def validate(tmp_path: Path) -> Validate:
    def write_and_validate(files: TableFiles, level: str = "rows", **options: Any) -> Report:
        write_table(files, tmp_path / "table")
        return deltaspec.validate(str(tmp_path / "table"), level=level, select=["RID"], **{"history": "all", **options})

    return write_and_validate


def is_clean(report: Report) -> bool:
    """Return whether every selected rule of the level was evaluated without a finding."""
    return report.totals == {} and {each.reason for each in report.checked.not_checked} <= {"needs --level rows"}


# the log


@pytest.mark.parametrize("enabled", [True, False])
def test_valid_table_has_no_finding_in_the_log(validate: Validate, enabled: bool) -> None:
    report = validate(build_tracked_table(enabled=enabled), "log")
    assert is_clean(report)
    assert {"RID001", "RID002", "RID003", "RID004", "RID005"} <= set(report.checked.run)


def test_ids_of_a_file_without_num_records_are_not_compared(validate: Validate) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add").update(stats="{}", baseRowId=5)
    assert is_clean(validate(files, "log"))


def test_ids_of_an_empty_file_overlap_with_no_others(validate: Validate) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add").update(stats='{"numRecords":0}', baseRowId=15)
    assert is_clean(validate(files, "log"))


def test_files_from_before_support_need_no_ids_until_they_are_enabled(validate: Validate) -> None:
    files = log_only.build_table(last_remove=False)
    body = get_action(files, 2, "add")
    files.commits[2].insert(0, protocol_action(1, 7, None, ["rowTracking", "domainMetadata"]))
    assert validate(files, "log").totals == {"RID004": 1, "RID005": 1}  # only c.parquet
    body.update(baseRowId=0, defaultRowCommitVersion=2)
    files.commits[2].append(row_id_mark_domain(9))
    assert is_clean(validate(files, "log"))
    metadata = json.loads(json.dumps(files.commits[0][2]))
    metadata["metaData"]["configuration"] = ENABLED
    files.commits[3] = [commit_info_action(3), metadata]
    assert validate(files, "log").totals == {"RID004": 2, "RID005": 2}


def _drop_feature(files: TableFiles, version: int) -> None:
    files.commits[version] = [
        commit_info_action(version),
        protocol_action(1, 7, None, []),
        metadata_action(log_only.FIELDS, configuration={}),
    ]


@pytest.mark.parametrize("revision", ["r1", "r2", "r3", "current"])
@pytest.mark.parametrize("history", ["latest", "1", "all"])
def test_ids_that_a_version_required_are_missed_after_the_feature_is_dropped(
    validate: Validate, revision: str, history: str
) -> None:
    is_first = revision == "r1"
    files = build_r1_tracked_table() if is_first else build_tracked_table()
    for name in ("baseRowId", "defaultRowCommitVersion"):
        get_action(files, 2, "add").pop(name, None)
    _drop_feature(files, 3)
    report = validate(files, "log", history=history, revision=revision)
    assert report.totals == ({"RID004": 1} if is_first else {"RID004": 1, "RID005": 1})
    assert {each.version for each in report.findings} == {2}


@pytest.mark.parametrize("is_dropped", [True, False])
@pytest.mark.parametrize("has_checkpoint", [True, False])
def test_files_without_ids_are_found_in_the_version_that_enabled_them(
    validate: Validate, is_dropped: bool, has_checkpoint: bool
) -> None:
    files = log_only.build_table(last_remove=False)
    if has_checkpoint:
        files.checkpoints.append(CheckpointFiles(1, "classic", rows=[*log_only.build_state_rows(files)]))
        for version in (0, 1):
            del files.commits[version]
    files.commits[3] = [commit_info_action(3), PROTOCOL, metadata_action(log_only.FIELDS, configuration=ENABLED)]
    if is_dropped:
        _drop_feature(files, 4)
    else:
        files.commits[4] = [commit_info_action(4), metadata_action(log_only.FIELDS, configuration={})]
    report = validate(files, "log")
    assert report.totals == {"RID004": 3, "RID005": 3}
    assert {each.version for each in report.findings} == {3}


def test_ids_given_twice_are_found_after_the_feature_is_dropped(validate: Validate) -> None:
    files = build_tracked_table(enabled=False)
    get_action(files, 2, "add")["baseRowId"] = 15
    assert validate(files, "log").totals == {"RID001": 1}
    _drop_feature(files, 3)
    assert validate(files, "log").totals == {"RID022": 1}
    files.commits[4] = [commit_info_action(4), PROTOCOL]
    assert validate(files, "log").totals == {"RID001": 1}
    files.commits[4].append(remove_action({"add": get_action(files, 2, "add")}))
    assert validate(files, "log").totals == {"RID022": 1}


def test_file_without_ids_may_be_added_again_without_them(validate: Validate) -> None:
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])]
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False, "tags": {"seen": "twice"}}}
    files.commits[4] = [commit_info_action(4), again]
    assert is_clean(validate(files, "log"))


@pytest.mark.parametrize("has_tombstone", [True, False])
def test_file_of_unknown_history_may_be_restored_without_ids(validate: Validate, has_tombstone: bool) -> None:
    """Its tombstone is in the checkpoint without ids, or was removed with earlier commits."""
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
    files.checkpoints.append(CheckpointFiles(1, "classic", rows=[*live, *[removed] * has_tombstone]))
    for version in (0, 1):
        del files.commits[version]
    files.commits[3] = [commit_info_action(3, operation="RESTORE"), old]
    assert is_clean(validate(files, "log"))


def test_file_restored_without_its_former_ids_is_found(validate: Validate) -> None:
    files = build_tracked_table(enabled=False)
    body = {**get_action(files, 1, "add")}
    del body["baseRowId"], body["defaultRowCommitVersion"]
    files.commits[3] = [commit_info_action(3, operation="RESTORE"), {"add": body}]
    assert validate(files, "log").totals == {"RID004": 1, "RID005": 1}
    for name in ("baseRowId", "defaultRowCommitVersion"):  # missing from the remove, present in the add
        del get_action(files, 2, "remove")[name]
    assert validate(files, "log").totals == {"RID004": 1, "RID005": 1}


def test_file_added_again_must_keep_its_ids(validate: Validate) -> None:
    files = build_tracked_table(enabled=False)
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False}}
    del again["add"]["baseRowId"]
    files.commits[3] = [commit_info_action(3), again]
    assert validate(files, "log").totals == {"RID004": 1}


def test_files_written_while_suspended_need_no_ids(validate: Validate) -> None:
    files = build_tracked_table(enabled=False)
    for name in ("baseRowId", "defaultRowCommitVersion"):
        del get_action(files, 2, "add")[name]
    suspended = json.loads(json.dumps(files.commits[0][2]))
    suspended["metaData"]["configuration"] = {"delta.rowTrackingSuspended": "true"}
    files.commits[2].append(suspended)
    assert is_clean(validate(files, "log"))
    files.commits[3] = [commit_info_action(3), files.commits[0][2]]
    assert is_clean(validate(files, "log"))


@pytest.mark.parametrize(("is_removed", "rule"), [(False, "RID002"), (True, "RID003")])
def test_mark_is_found_at_the_commit_that_lowers_or_removes_it(validate: Validate, is_removed: bool, rule: str) -> None:
    files = build_tracked_table(enabled=False)
    lowered: dict[str, Any] = row_id_mark_domain(19)
    lowered["domainMetadata"]["removed"] = is_removed
    files.commits[3] = [commit_info_action(3), lowered]
    files.commits[4] = [commit_info_action(4)]
    report = validate(files, "log")
    assert report.totals == {rule: 2 if is_removed else 1}
    assert {(each.version, each.file) for each in report.findings} == {(3, "_delta_log/00000000000000000003.json")}


def test_high_water_mark_may_have_its_older_key(validate: Validate) -> None:
    files = build_tracked_table()
    files.commits[2][-1] = row_id_mark_domain(29, "highWaterMark")
    assert is_clean(validate(files, "log"))


def test_reused_ids_of_a_removed_file_are_found(validate: Validate) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add")["baseRowId"] = 0  # ids of a, which the commit removes; b has 10 to 19
    assert validate(files, "log").totals == {"RID021": 1}


def test_ids_beyond_the_range_of_long_do_not_overflow(validate: Validate) -> None:
    files = build_tracked_table()
    get_action(files, 2, "add")["baseRowId"] = 2**63 - 1
    assert validate(files, "log").totals == {"RID002": 1}


def test_undecodable_domain_is_not_checked(validate: Validate) -> None:
    files = build_tracked_table()
    files.commits[2][-1] = {"domainMetadata": {"domain": "delta.rowTracking", "configuration": 7, "removed": False}}
    report = validate(files, "log")
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked} >= {"RID002", "RID003"}


def test_files_of_unknown_history_are_not_checked(validate: Validate) -> None:
    files = build_tracked_table()
    del files.commits[1]
    report = validate(files, "log")
    assert report.totals == {}
    assert {"RID001", "RID004"} <= {each.rule for each in report.checked.not_checked}


def test_materialized_columns_must_have_different_names(validate: Validate) -> None:
    files = build_tracked_table()
    configuration = get_action(files, 0, "metaData")["configuration"]
    configuration["delta.rowTracking.materializedRowCommitVersionColumnName"] = ROW_ID
    assert validate(files, "log").totals == {"RID007": 2}


# the rows


def test_preserved_ids_have_no_finding(validate: Validate) -> None:
    report = validate(build_rewritten_table())
    assert is_clean(report)
    assert {"RID008", "RID009", "RID010", "RID011", "RID012"} <= set(report.checked.run)


def test_rows_inserted_by_a_rewrite_have_null(validate: Validate) -> None:
    assert is_clean(validate(build_rewritten_table([*range(9), None], [*[1] * 9, None], data_change=True)))


def test_stored_id_equal_to_a_default_id_is_found(validate: Validate) -> None:
    assert validate(build_rewritten_table([10, *range(1, 10)], data_change=True)).totals == {"RID035": 1}


def test_rewriting_commit_may_add_a_live_file_again(validate: Validate) -> None:
    files = build_rewritten_table()
    e = add_data_file(files, "e.parquet", build_rows(30, 5), baseRowId=25, defaultRowCommitVersion=1)
    files.commits[1].append(e)
    for version in (1, 2, 3):
        files.commits[version] = [line for line in files.commits[version] if "domainMetadata" not in line]
        files.commits[version].append(row_id_mark_domain(29))
    files.commits[2].append({"add": {**e["add"], "dataChange": False, "tags": {"seen": "twice"}}})
    assert is_clean(validate(files))


def test_vacuumed_files_are_not_compared(validate: Validate) -> None:
    files = build_rewritten_table([None] * 10)
    files.missing.add("a.parquet")
    report = validate(files)
    assert is_clean(report)
    assert "RID011" not in report.checked.run


def test_rewrite_before_enabling_need_not_preserve_ids(validate: Validate) -> None:
    files = build_rewritten_table([None] * 10)
    enabling = json.loads(json.dumps(files.commits[0][2]))
    files.commits[3].append(enabling)
    get_action(files, 0, "metaData")["configuration"] = {}
    assert is_clean(validate(files))


def test_deleted_rows_have_no_ids(validate: Validate) -> None:
    files = build_rewritten_table(data_change=True)
    protocol = get_action(files, 0, "protocol")
    protocol.update(minReaderVersion=3, readerFeatures=["deletionVectors"])
    protocol["writerFeatures"] = [*protocol["writerFeatures"], "deletionVectors"]
    d = files.commits[3][1]
    assert isinstance(d, dict)
    table = build_rows(10, 1).append_column(ROW_ID, pa.array([22]))
    moved = add_data_file(files, "e.parquet", table, stats='{"numRecords":1}', baseRowId=25, defaultRowCommitVersion=4)
    files.commits[4] = [preserving_commit_info(4), moved, row_id_mark_domain(25)]
    assert validate(files).totals == {"RID008": 1, "RID033": 1}
    vectored = {"add": {**d["add"], "deletionVector": inline_vector_descriptor([2])}}
    files.commits[4] = [preserving_commit_info(4), moved, vectored, remove_action(d), row_id_mark_domain(25)]
    assert is_clean(validate(files))


def test_negative_ids_are_compared(validate: Validate) -> None:
    assert is_clean(validate(build_rewritten_table([-1, *range(1, 10)], data_change=True)))
    assert validate(build_rewritten_table([-1, -1, *range(2, 10)], data_change=True)).totals == {"RID008": 1}


@pytest.mark.parametrize(
    ("values", "totals"), [(["x"] * 10, {"RID037": 1}), ([1.5] * 10, {"RID037": 1}), ([2**63] * 10, {})]
)
def test_id_column_of_another_type_is_not_checked(
    validate: Validate, values: list[Any], totals: dict[str, int]
) -> None:
    files = build_rewritten_table(data_change=True)
    add = get_action(files, 2, "add")
    table = build_rows().append_column(ROW_ID, pa.array(values, pa.uint64() if values[0] == 2**63 else None))
    add["size"] = add_data_file(files, "c.parquet", table)["add"]["size"]
    report = validate(files)
    assert report.totals == totals
    assert {"RID008", "RID009"} <= {each.rule for each in report.checked.not_checked}


def end_row_tracking(files: TableFiles, *, drop: bool) -> TableFiles:
    """Add commits that disable row tracking and, if `drop`, remove the feature and the mark."""
    files.commits[4] = [commit_info_action(4), metadata_action(FIELDS, configuration={})]
    if drop:
        files.commits[5] = [
            commit_info_action(5),
            protocol_action(1, 7, None, ["domainMetadata"]),
            domain_action("delta.rowTracking", removed=True),
        ]
    return files


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize(
    ("rule", "ids", "versions", "data_change"),
    [
        ("RID008", [20, *range(1, 10)], None, True),
        ("RID009", [25, *range(1, 10)], None, True),
        ("RID010", None, [4, *[1] * 9], True),
        ("RID011", [None] * 10, None, False),
        ("RID012", None, [0, *[1] * 9], False),
    ],
)
def test_ids_are_checked_although_row_tracking_ended(
    validate: Validate, rule: str, ids: Any, versions: Any, data_change: bool, drop: bool
) -> None:
    def count(files: TableFiles) -> int:
        return validate(end_row_tracking(files, drop=drop)).totals.get(rule, 0)

    assert count(build_rewritten_table(ids, versions, data_change=data_change)) == 1
    assert count(build_rewritten_table(data_change=data_change)) == 0


def test_ids_of_the_last_version_with_row_tracking_are_undecided_without_its_files(validate: Validate) -> None:
    files = end_row_tracking(build_rewritten_table(), drop=True)
    files.commits[6] = [commit_info_action(6), remove_action({"add": get_action(files, 3, "add")})]
    del files.data["d.parquet"]
    assert {each.reason for each in validate(files).checked.not_checked if each.rule == "RID008"} == {
        "files that only earlier versions had no longer exist"
    }


def test_file_that_is_not_parquet_is_not_checked(validate: Validate) -> None:
    files = build_rewritten_table()
    files.data["c.parquet"] = b"PAR1" + bytes(100) + b"PAR1"
    report = validate(files)
    assert report.totals == {}
    assert {"RID008", "RID011"} <= {each.rule for each in report.checked.not_checked}
