"""Planted faults of the row id history in the log: enablement, assignment, marks."""

import json
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import (
    R1_ROW_ID_COLUMN,
    R1_ROW_IDS,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING_SUSPENDED,
    ROWS_PRESERVED_TAG,
)
from deltaspec_generators.table_files import (
    CheckpointFiles,
    TableFiles,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.actions import legacy_row_id_mark_action
from planted_tables.bases.row_ids import (
    COLUMNS,
    ENABLED,
    PROTOCOL,
    R1_ENABLED,
    ROW_ID,
    add_next_commit,
    build_r1_tracked_table,
    build_tracked_table,
    preserving_commit_info,
    row_id_mark_domain,
)
from planted_tables.faults.registry import draw_one, planted_fault

SINCE_R2 = ("r2", "r3", "current")


def update_configuration(files: TableFiles, **more: Any) -> dict[str, Any]:
    """Update and return the configuration of the first metadata, to be edited in place."""
    configuration: dict[str, Any] = get_action(files, 0, "metaData")["configuration"]
    configuration.update(more)
    return configuration


# features and properties


@planted_fault("row-ids.feature")
def row_ids_enabled_without_the_feature(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(draw, protocol_action(1, 2), protocol_action(1, 7, None, ["appendOnly", "invariants"]))
    return log_only.build_table(protocol=protocol, configuration=R1_ENABLED)


@planted_fault("row-ids.enabled")
def row_ids_neither_enabled_nor_not(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=True)
    update_configuration(files)[R1_ROW_IDS] = draw_one(draw, "yes", "1", "")
    return files


@planted_fault("row-tracking.writer-version")
def row_tracking_enabled_at_an_old_writer_version(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(1, draw(st.integers(2, 6))), configuration=ENABLED)


@planted_fault("row-tracking.needs-domains")
def row_tracking_without_domains(_: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["rowTracking"]))
    del files.commits[1], files.commits[2]  # a mark would also need the feature
    return files


@planted_fault("row-tracking.stored-ids-named")
def column_of_stored_ids_without_a_name(_: st.DrawFn) -> TableFiles:
    files = build_tracked_table()
    del update_configuration(files)[ROW_ID_COLUMN]
    return files


@planted_fault("row-tracking.stored-versions-named")
def column_of_stored_versions_without_a_name(_: st.DrawFn) -> TableFiles:
    files = build_tracked_table()
    del update_configuration(files)[ROW_COMMIT_VERSION_COLUMN]
    return files


@planted_fault("row-ids.column-name")
def first_hidden_column_without_a_name(_: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=True)
    del update_configuration(files)[R1_ROW_ID_COLUMN]
    return files


@planted_fault("row-ids.column-name")
def first_hidden_column_of_a_taken_name(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=True)
    update_configuration(files)[R1_ROW_ID_COLUMN] = draw_one(draw, "id", "name")
    return files


@planted_fault("row-tracking.hidden-column", revisions=SINCE_R2)
def hidden_column_shown_by_the_schema(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    fields = [*log_only.FIELDS, (ROW_ID, "long")]
    configuration = {**update_configuration(files), **COLUMNS}
    update_configuration(files, **COLUMNS)
    files.commits[3] = [commit_info_action(3), metadata_action(fields, configuration=configuration)]
    if draw(st.booleans()):  # only temporarily
        files.commits[4] = [commit_info_action(4), metadata_action(log_only.FIELDS, configuration=configuration)]
    return files


@planted_fault("row-tracking.hidden-column", revisions=("r1",))
def first_hidden_column_shown_by_the_schema(_: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=True)
    fields = [*log_only.FIELDS, (ROW_ID, "long")]
    files.commits[3] = [commit_info_action(3), metadata_action(fields, configuration=R1_ENABLED)]
    return files


SUSPENDED = {ROW_TRACKING_SUSPENDED: "true"}


@planted_fault("row-tracking.suspended-or-enabled")
def row_tracking_suspended_while_enabled(_: st.DrawFn) -> TableFiles:
    files = build_tracked_table()
    files.commits[3] = [commit_info_action(3), metadata_action(log_only.FIELDS, configuration={**ENABLED, **SUSPENDED})]
    return files


@planted_fault("row-tracking.not-suspended-when-enabled")
def row_tracking_enabled_while_suspended(_: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=False)
    files.commits[3] = [commit_info_action(3), metadata_action(log_only.FIELDS, configuration=SUSPENDED)]
    files.commits[4] = [commit_info_action(4), metadata_action(log_only.FIELDS, configuration={**ENABLED, **SUSPENDED})]
    return files


@planted_fault("row-tracking.suspended")
def ids_assigned_while_suspended(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=False)
    files.commits[3] = [commit_info_action(3), metadata_action(log_only.FIELDS, configuration=SUSPENDED)]
    body = add_next_commit(files, "d.parquet", 30, version=4)
    if draw(st.booleans()):
        del body["defaultRowCommitVersion" if draw(st.booleans()) else "baseRowId"]
    return files


# enabling


def _add_enabling_commit(files: TableFiles, configuration: dict[str, str]) -> TableFiles:
    files.commits[4] = [commit_info_action(4), metadata_action(log_only.FIELDS, configuration=configuration)]
    return files


@planted_fault("row-tracking.fields-set-when-enabled", revisions=SINCE_R2)
def enabled_over_a_file_without_ids(draw: st.DrawFn) -> TableFiles:
    return _build_backfilled_table(draw, "baseRowId")


@planted_fault("row-tracking.fields-set-when-enabled", revisions=SINCE_R2)
def enabled_over_a_file_without_a_commit_version(draw: st.DrawFn) -> TableFiles:
    return _build_backfilled_table(draw, "defaultRowCommitVersion")


def _build_backfilled_table(draw: st.DrawFn, left_out: str) -> TableFiles:
    """Build a table that backfills row ids before it enables them, with one file incomplete."""
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), deepcopy(PROTOCOL)]
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        again = {**get_action(files, version, "add", which), "baseRowId": base, "defaultRowCommitVersion": 3}
        if base == 10:
            del again[left_out]
        files.commits[3].append({"add": {**again, "dataChange": False}})
    files.commits[3] += [legacy_row_id_mark_action(29), row_id_mark_domain(29)]
    _add_enabling_commit(files, ENABLED)
    if draw(st.booleans()):  # the enabling version is wrong, even if the file is removed later
        files.commits[5] = [preserving_commit_info(5), remove_action({"add": get_action(files, 3, "add", 1)})]
    return files


@planted_fault("row-ids.all-files-when-enabled")
def first_enabled_over_a_file_without_ids(_: st.DrawFn) -> TableFiles:
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["rowIds"])]
    return _add_enabling_commit(files, R1_ENABLED)


@planted_fault("row-ids.base-row-id")
def first_base_row_id_absent(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=draw(st.booleans()))
    del get_action(files, 2, "add")["baseRowId"]
    return files


@planted_fault("row-ids.base-row-id")
def first_add_again_without_ids(_: st.DrawFn) -> TableFiles:
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["rowIds"])]
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False, "tags": {"seen": "twice"}}}
    files.commits[4] = [commit_info_action(4), again]
    return files


@planted_fault("row-ids.base-row-id")
def first_row_ids_given_twice(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=draw(st.booleans()))
    get_action(files, 2, "add")["baseRowId"] = draw(st.integers(1, 19))
    return files


@planted_fault("row-ids.base-row-id")
def first_row_ids_given_twice_for_a_while(_: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table()
    body = get_action(files, 2, "add")
    body["baseRowId"] = 15
    files.commits[3] = [commit_info_action(3), remove_action({"add": body})]
    return files


@planted_fault("row-tracking.unique-default-ids")
def row_ids_given_twice_for_a_while(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    body = get_action(files, 2, "add")
    body["baseRowId"] = draw(st.integers(10, 19))
    removed = {"add": draw_one(draw, body, get_action(files, 1, "add", 1))}
    files.commits[3] = [preserving_commit_info(3), remove_action(removed)]
    return files


@planted_fault("row-ids.removed-base-row-id")
def base_row_id_left_out_of_remove(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=draw(st.booleans()))
    get_action(files, 2, "remove")["baseRowId"] = draw_one(draw, None, 7)
    return files


# assignment of row ids


@planted_fault("row-tracking.above-mark")
def ids_of_a_removed_file_given_again(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    add_next_commit(files, "d.parquet", draw(st.integers(0, 8)), rows=2)  # a had 0 to 9, and is removed
    return files


@planted_fault("row-tracking.fresh-version")
def commit_version_of_the_attempt_before(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    add_next_commit(files, "d.parquet", 30, defaultRowCommitVersion=draw(st.integers(0, 2)))
    return files


def _build_table_with_repeated_add(draw: st.DrawFn, **other: Any) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    again = {**get_action(files, 2, "add"), "dataChange": False, **other}
    files.commits[3] = [
        preserving_commit_info(3),
        {"add": again},
        legacy_row_id_mark_action(59),
        row_id_mark_domain(59),
    ]
    return files


@planted_fault("row-tracking.base-row-id-kept")
def add_again_with_another_base_row_id(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_repeated_add(draw, baseRowId=draw(st.integers(30, 50)))


@planted_fault("row-tracking.commit-version-kept")
def add_again_with_another_commit_version(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_repeated_add(draw, defaultRowCommitVersion=draw_one(draw, 0, 1, 3))


def _build_checkpointed_table(draw: st.DrawFn, **other: Any) -> TableFiles:
    """Build the tracked table with a checkpoint of version 2 in which one add differs from its commit."""
    files = build_tracked_table(enabled=draw(st.booleans()))
    rows = [
        files.commits[0][1],
        files.commits[0][2],
        files.commits[1][2],
        *files.commits[2][1:3],
        row_id_mark_domain(29),
    ]
    found = [json.loads(json.dumps(each)) for each in rows]
    found[draw(st.sampled_from([2, 3]))]["add"].update(other)
    files.checkpoints.append(CheckpointFiles(2, "classic", rows=found))
    return files


@planted_fault("row-tracking.base-row-id-kept", revisions=("r3", "current"))
def another_base_row_id_in_the_checkpoint(draw: st.DrawFn) -> TableFiles:
    return _build_checkpointed_table(draw, baseRowId=draw(st.integers(0, 9)))


@planted_fault("row-tracking.commit-version-kept", revisions=("r3", "current"))
def another_commit_version_in_the_checkpoint(draw: st.DrawFn) -> TableFiles:
    return _build_checkpointed_table(draw, defaultRowCommitVersion=draw_one(draw, 0, None))


# marks and statements of commits


def _remove_highest_file(draw: st.DrawFn, files: TableFiles, *fallen: Any) -> TableFiles:
    """Remove file c, which has the highest ids, and add actions that lower the mark, perhaps in a later commit."""
    body = get_action(files, 2, "add")
    files.commits[3] = [preserving_commit_info(3), remove_action({"add": body})]
    if draw(st.booleans()):
        files.commits[4] = [preserving_commit_info(4)]
    files.commits[max(files.commits)] += fallen
    return files


@planted_fault("row-tracking.high-water-mark")
def mark_falls_with_its_file(draw: st.DrawFn) -> TableFiles:
    return _remove_highest_file(
        draw, build_tracked_table(enabled=draw(st.booleans())), row_id_mark_domain(draw(st.integers(19, 28)))
    )


def _replace_mark(draw: st.DrawFn, files: TableFiles, *fallen: Any, raised: Any) -> TableFiles:
    """Add a commit with an illegal mark and a commit that repairs it."""
    files.commits[3] = [preserving_commit_info(3), *fallen]
    if draw(st.booleans()):
        files.commits[4] = [preserving_commit_info(4)]
    files.commits[len(files.commits)] = [preserving_commit_info(len(files.commits)), raised]
    return files


@planted_fault("row-tracking.high-water-mark")
def mark_falls_for_a_while(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    return _replace_mark(draw, files, row_id_mark_domain(draw(st.integers(-1, 28))), raised=row_id_mark_domain(29))


@planted_fault("row-tracking.high-water-mark")
def mark_raised_too_late(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    return _replace_mark(draw, files, raised=files.commits[2].pop())


@planted_fault("row-tracking.mark-of-action")
def older_mark_falls_for_a_while(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    lower, higher = legacy_row_id_mark_action(draw(st.integers(0, 28))), legacy_row_id_mark_action(29)
    return _replace_mark(draw, files, lower, raised=higher)


@planted_fault("row-ids.mark-covers-ids")
def first_mark_falls_for_a_while(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table()
    lower, higher = (legacy_row_id_mark_action(mark, preservedRowIds=True) for mark in (draw(st.integers(0, 28)), 29))
    files.commits[3], files.commits[4] = [commit_info_action(3), lower], [commit_info_action(4), higher]
    return files


@planted_fault("row-tracking.mark-in-domain")
def mark_removed_for_a_while(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    removed = domain_action("delta.rowTracking", '{"rowIdHighWaterMark":29}', removed=True)
    return _replace_mark(draw, files, removed, raised=row_id_mark_domain(29))


def _remove_last_file(draw: st.DrawFn, missing: str) -> TableFiles:
    """Build a table whose last add has no value for a field, and is removed later."""
    files = build_tracked_table(enabled=draw(st.booleans()))
    del get_action(files, 2, "add")[missing]
    files.commits[3] = [preserving_commit_info(3), remove_action({"add": get_action(files, 2, "add")})]
    return files


@planted_fault("row-tracking.base-row-id")
def base_row_id_absent_from_a_removed_file(draw: st.DrawFn) -> TableFiles:
    return _remove_last_file(draw, "baseRowId")


@planted_fault("row-tracking.commit-version")
def commit_version_absent_from_a_removed_file(draw: st.DrawFn) -> TableFiles:
    return _remove_last_file(draw, "defaultRowCommitVersion")


@planted_fault("row-tracking.mark-of-action")
def older_mark_falls_with_its_file(draw: st.DrawFn) -> TableFiles:
    return _remove_highest_file(
        draw, build_tracked_table(enabled=draw(st.booleans())), legacy_row_id_mark_action(draw(st.integers(19, 28)))
    )


@planted_fault("row-ids.mark-covers-ids")
def first_mark_falls_with_its_file(draw: st.DrawFn) -> TableFiles:
    return _remove_highest_file(
        draw, build_r1_tracked_table(), legacy_row_id_mark_action(draw(st.integers(19, 28)), preservedRowIds=True)
    )


@planted_fault("row-ids.mark-while-reserved")
def reserved_ids_used_without_a_mark(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=draw(st.booleans()))
    files.commits[1][-1] = legacy_row_id_mark_action(29, preservedRowIds=True)
    files.commits[2].pop()
    return files


@planted_fault("reconciliation.one-high-water-mark", revisions=("r2",))
def two_marks_in_a_commit(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table(enabled=draw(st.booleans()))
    files.commits[2].append(legacy_row_id_mark_action(29))
    return files


@planted_fault("reconciliation.one-high-water-mark", revisions=("r1",))
def two_flagged_marks_in_a_commit(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=draw(st.booleans()))
    files.commits[2].append(legacy_row_id_mark_action(29, preservedRowIds=True))
    return files


@planted_fault("row-ids.preserved-flag")
def ids_of_inserted_rows_not_preserved(_: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table(enabled=True)
    files.commits[1][-1] = legacy_row_id_mark_action(19, preservedRowIds=False)
    return files


@planted_fault("row-tracking.preserved-tag")
def nothing_preserved_where_nothing_was_copied(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table()
    files.commits[1][0] = preserving_commit_info(1, draw_one(draw, "false", False, "FALSE"))
    return files


@planted_fault("row-tracking.preserved-tag")
def commit_that_does_not_say_what_is_preserved(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table()
    files.commits[2][0] = commit_info_action(2, **draw_one(draw, {}, {"tags": {}}, {"tags": {ROWS_PRESERVED_TAG: "?"}}))
    return files
