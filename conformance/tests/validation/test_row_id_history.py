"""Row ids across versions: legal cases that look like errors, and cases that cannot be decided."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.small_tables import FIELDS, build_rows
from deltaspec_generators.table_files import (
    CheckpointFiles,
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.actions import legacy_row_id_mark_action
from planted_tables.bases.row_ids import (
    ENABLED,
    PROTOCOL,
    ROW_COMMIT_VERSION,
    ROW_ID,
    add_next_commit,
    add_tracked_file,
    build_r1_tracked_table,
    build_rewritten_table,
    build_tracked_table,
    preserving_commit_info,
    row_id_mark_actions,
    row_id_mark_domain,
)
from planted_tables.permissions.row_ids import restored_files_bring_their_row_ids_back

Validate = Callable[..., Report]


@pytest.fixture
def validate(tmp_path: Path) -> Validate:
    def write_and_validate(files: TableFiles, level: str = "log", **options: Any) -> Report:
        write_table(files, tmp_path / "table")
        return deltaspec.validate(str(tmp_path / "table"), level=level, select=["RID"], **{"history": "all", **options})

    return write_and_validate


def is_clean(report: Report) -> bool:
    """Return whether every selected rule of the level was evaluated without a finding."""
    return report.totals == {} and {each.reason for each in report.checked.not_checked} <= {"needs --level rows"}


# assignment of ids


@pytest.mark.parametrize("revision", ["r2", "r3", "current"])
def test_reserved_ids_may_be_used_by_a_later_commit(validate: Validate, revision: str) -> None:
    files = build_tracked_table()
    files.commits[1][-2:] = [legacy_row_id_mark_action(39), row_id_mark_domain(39)]
    files.commits[2] = files.commits[2][:-2]
    add_next_commit(files, "d.parquet", 30)
    files.commits[3] = files.commits[3][:-2]
    assert is_clean(validate(files, revision=revision))


def test_restored_file_keeps_its_ids(validate: Validate) -> None:
    assert is_clean(validate(restored_files_bring_their_row_ids_back()))


def test_ids_of_a_removed_file_must_not_be_reused(validate: Validate) -> None:
    files = build_tracked_table()
    body = add_next_commit(files, "d.parquet", 10)
    files.commits[3].append(remove_action({"add": get_action(files, 1, "add", 1)}))
    assert validate(files).totals == {"RID021": 1}
    body["baseRowId"] = 30
    files.commits[3][-3:-1] = [legacy_row_id_mark_action(39), row_id_mark_domain(39)]
    assert is_clean(validate(files))


def test_files_of_one_commit_with_equal_ids_are_found(validate: Validate) -> None:
    files = build_tracked_table()
    add_next_commit(files, "d.parquet", 30)
    again = {"add": {**get_action(files, 3, "add"), "path": "e.parquet"}}
    files.commits[3].append(again)
    assert validate(files).totals == {"RID001": 1}
    files.commits[4] = [preserving_commit_info(4), remove_action(again)]
    assert validate(files).totals == {"RID022": 1}


@pytest.mark.parametrize("is_complete", [True, False])
def test_path_that_may_be_in_an_expired_commit_is_not_new(validate: Validate, is_complete: bool) -> None:
    files = build_tracked_table()
    live = [files.commits[0][1], files.commits[0][2], files.commits[1][1], files.commits[1][2], row_id_mark_domain(19)]
    files.checkpoints.append(CheckpointFiles(1, "classic", rows=[each for each in live if isinstance(each, dict)]))
    files.commits[2] = [line for line in files.commits[2] if "rowIdHighWaterMark" not in line]
    old = add_next_commit(files, "d.parquet", 30, defaultRowCommitVersion=1)
    if not is_complete:
        del files.commits[0]
    assert validate(files).totals == ({"RID020": 1} if is_complete else {})
    old["defaultRowCommitVersion"] = 3
    assert is_clean(validate(files))


@pytest.mark.parametrize("another", [True, False])
def test_repeated_clone_may_assign_other_ids(validate: Validate, another: bool) -> None:
    files = build_tracked_table()
    body = add_next_commit(files, "file:///elsewhere/p.parquet", 30)
    files.commits[4] = [preserving_commit_info(4, operation="DELETE"), remove_action({"add": body})]
    table_id = {"id": "33333333-2222-4333-8444-555555555555"} if another else {}
    replaced = metadata_action(FIELDS, configuration=ENABLED, **table_id)
    again = {"add": {**body, "baseRowId": 40, "defaultRowCommitVersion": 5}}
    files.commits[5] = [
        preserving_commit_info(5, operation="CLONE"),
        replaced,
        again,
        legacy_row_id_mark_action(49),
        row_id_mark_domain(49),
    ]
    assert validate(files).totals == ({} if another else {"RID024": 1, "RID025": 1})


def test_file_added_again_while_suspended_keeps_its_ids(validate: Validate) -> None:
    files = build_tracked_table(enabled=False)
    suspended = metadata_action(log_only.FIELDS, configuration={"delta.rowTrackingSuspended": "true"})
    files.commits[3] = [commit_info_action(3), suspended]
    files.commits[4] = [commit_info_action(4), {"add": {**get_action(files, 2, "add"), "dataChange": False}}]
    assert is_clean(validate(files))


def test_older_revisions_have_no_suspension(validate: Validate) -> None:
    files = build_tracked_table(enabled=False)
    get_action(files, 0, "metaData")["configuration"]["delta.rowTrackingSuspended"] = "true"
    del get_action(files, 2, "add")["baseRowId"]
    assert validate(files, revision="r3").totals == {"RID004": 1}
    assert set(validate(files).totals) == {"RID023"}


def test_files_of_a_lost_commit_are_not_checked(validate: Validate) -> None:
    files = build_tracked_table()
    del files.commits[1]
    report = validate(files)
    assert report.totals == {}
    assert {"RID020", "RID021", "RID022", "RID023", "RID029"} <= {each.rule for each in report.checked.not_checked}


def test_ids_restart_after_the_feature_was_dropped(validate: Validate) -> None:
    files = build_tracked_table(enabled=False)
    protocol = files.commits[0][1]
    live = [{"add": get_action(files, 2, "add")}, {"add": get_action(files, 1, "add", 1)}]
    files.commits[3] = [commit_info_action(3), *map(remove_action, live), log_only.build_table().commits[0][1]]
    files.commits[4] = [commit_info_action(4), protocol]
    add_next_commit(files, "d.parquet", 0, version=5)
    files.commits[5][-2:] = [legacy_row_id_mark_action(9), row_id_mark_domain(9)]
    assert is_clean(validate(files))


@pytest.mark.parametrize("highest", [2**63 - 1, 2**63, 10**19 - 1, -(2**63)])
def test_high_water_marks_at_the_limits_of_long_are_handled(validate: Validate, highest: int) -> None:
    files = build_tracked_table()
    files.commits[2][-1] = row_id_mark_domain(highest)
    assert validate(files).totals == ({"RID002": 3} if highest < 0 else {})


# enabling


def test_backfill_before_enabling_is_valid(validate: Validate) -> None:
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), PROTOCOL]
    adds = [get_action(files, version, "add", which) for version, which in ((1, 0), (1, 1), (2, 0))]
    again = [
        {"add": {**add, "baseRowId": 10 * number, "defaultRowCommitVersion": 4, "dataChange": False}}
        for number, add in enumerate(adds)
    ]
    files.commits[4] = [commit_info_action(4), *again, row_id_mark_domain(29)]
    files.commits[5] = [commit_info_action(5), metadata_action(log_only.FIELDS, configuration=ENABLED)]
    assert is_clean(validate(files))


def test_file_without_ids_is_found_at_the_enabling_version(validate: Validate) -> None:
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), PROTOCOL]
    files.commits[4] = [commit_info_action(4), metadata_action(log_only.FIELDS, configuration=ENABLED)]
    adds = [{"add": get_action(files, version, "add", which)} for version, which in ((1, 0), (1, 1), (2, 0))]
    files.commits[5] = [preserving_commit_info(5), *map(remove_action, adds)]
    assert validate(files).totals == {"RID004": 3, "RID005": 3}


def test_materialized_column_of_a_disabled_table_may_have_any_name(validate: Validate) -> None:
    settings = {**ENABLED, "delta.rowTracking.materializedRowIdColumnName": "id"}
    assert is_clean(validate(log_only.build_table(configuration={**settings, "delta.enableRowTracking": "false"})))


# provenance of commits


def test_commit_without_provenance_is_not_checked(validate: Validate) -> None:
    files = build_tracked_table()
    del files.commits[1][0]
    assert is_clean(validate(files))


@pytest.mark.parametrize("tags", [7, [], "x", {"delta.rowTracking.preserved": 1}, {"other": "true"}])
def test_invalid_tags_count_as_missing(validate: Validate, tags: Any) -> None:
    files = build_tracked_table()
    files.commits[1][0] = commit_info_action(1, tags=tags)
    assert validate(files).totals == {"RID030": 1}


def test_commit_without_file_actions_needs_no_tag(validate: Validate) -> None:
    files = build_tracked_table()
    files.commits[3] = [commit_info_action(3), metadata_action(log_only.FIELDS, configuration={**ENABLED, "a": "b"})]
    assert is_clean(validate(files))


def test_update_may_state_that_ids_were_lost(validate: Validate) -> None:
    files = build_tracked_table()
    files.commits[2][0] = preserving_commit_info(2, "false")
    assert is_clean(validate(files))


def test_r1_needs_no_flag_before_row_ids_are_enabled(validate: Validate) -> None:
    files = build_r1_tracked_table()
    files.commits[1][-1] = legacy_row_id_mark_action(19, preservedRowIds=False)
    assert is_clean(validate(files, revision="r1"))


@pytest.mark.parametrize("enabled", [True, False])
def test_tracked_table_conforms_to_r1(validate: Validate, enabled: bool) -> None:
    report = validate(build_r1_tracked_table(enabled=enabled), revision="r1")
    assert is_clean(report)
    assert {"RID001", "RID002", "RID004", "RID027", "RID028", "RID029"} <= set(report.checked.run)
    assert is_clean(validate(build_rewritten_table(oldest=True), "rows", revision="r1"))


# ids in data files


def build_clone() -> TableFiles:
    """Build a clone whose first file has row ids and commit versions of the source table."""
    files = TableFiles()
    table = build_rows(0, 5).append_column(ROW_ID, pa.array([7, 8, None, 9, 6], pa.int64()))
    table = table.append_column(ROW_COMMIT_VERSION, pa.nulls(5, pa.int64()))
    add = add_tracked_file(files, "a.parquet", table, 20, 0)
    metadata = metadata_action(FIELDS, configuration=ENABLED)
    files.commits[0] = [preserving_commit_info(0, operation="CLONE"), PROTOCOL, metadata, add, *row_id_mark_actions(24)]
    return files


def test_cloned_files_keep_their_ids(validate: Validate) -> None:
    assert is_clean(validate(build_clone(), "rows"))


def test_files_cloned_into_a_replaced_table_keep_their_ids(validate: Validate) -> None:
    files = build_clone()
    files.commits[1] = files.commits[0][:1] + files.commits[0][3:]
    files.commits[0] = [commit_info_action(0), PROTOCOL, files.commits[0][2]]
    get_action(files, 1, "add")["defaultRowCommitVersion"] = 1
    assert validate(files, "rows").totals == {"RID033": 1}
    files.commits[1].insert(1, metadata_action(FIELDS, configuration={**ENABLED, "a": "b"}))
    assert is_clean(validate(files, "rows"))


def test_ids_in_files_are_checked_only_while_enabled(validate: Validate) -> None:
    files = build_rewritten_table([0] * 10)
    get_action(files, 0, "metaData")["configuration"]["delta.enableRowTracking"] = "false"
    assert is_clean(validate(files, "rows"))


def test_update_that_inserts_rows_need_not_preserve_ids(validate: Validate) -> None:
    files = build_rewritten_table([*range(8), None, None], data_change=True)
    files.commits[2][0] = preserving_commit_info(2, "false", operation="UPDATE")
    assert validate(files, "rows").totals == {"RID011": 1}
    files.commits[2] = files.commits[2][:-1]
    get_action(files, 1, "add", 1)["stats"] = json.dumps({"numRecords": 5})
    del files.commits[2][3]  # file b stays
    files.commits[2].append(row_id_mark_domain(19))
    assert "RID011" not in validate(files, "rows").totals


# marks that cannot be read


def check_marks_are_undecided(report: Report, codes: set[str]) -> None:
    reason = "an action that may contain the high-water mark cannot be decoded"
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked if each.reason == reason} >= codes


def test_replaced_mark_of_an_unreadable_domain_is_not_checked(validate: Validate) -> None:
    files = build_tracked_table()
    get_action(files, 1, "domainMetadata")["configuration"] = "x"
    check_marks_are_undecided(validate(files), {"RID039", "RID040"})


def test_replaced_mark_of_an_undecodable_action_is_not_checked(validate: Validate) -> None:
    files = build_r1_tracked_table()
    get_action(files, 1, "rowIdHighWaterMark")["highWaterMark"] = "x"
    check_marks_are_undecided(validate(files, revision="r1"), {"RID039"})
