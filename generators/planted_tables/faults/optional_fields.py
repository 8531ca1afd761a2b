"""Planted faults of optional fields with wrong types, and of features enabled too early."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import CHANGE_DATA_FEED, ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN, ROW_TRACKING
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    domain_action,
    get_action,
    protocol_action,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.actions import legacy_row_id_mark_action
from planted_tables.faults.registry import draw_one, planted_fault


def _build_table_with_field(kind: str, name: str, value: Any, version: int = 2) -> TableFiles:
    """Build a table with another value in one field of an action."""
    files = log_only.build_table()
    get_action(files, version, kind)[name] = value
    return files


@planted_fault("add.fields")
def modification_time_in_seconds(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_field("add", "modificationTime", 1_700_000_002.5)


@planted_fault("add.optional-fields")
def option_of_add_of_another_type(draw: st.DrawFn) -> TableFiles:
    name, value = draw_one(draw, ("stats", 7), ("tags", ["a"]), ("deletionVector", "u"), ("stats", {"numRecords": 1}))
    return _build_table_with_field("add", name, value)


@planted_fault("remove.optional-fields")
def option_of_remove_of_another_type(draw: st.DrawFn) -> TableFiles:
    name, value = draw_one(draw, ("deletionTimestamp", "today"), ("tags", "a"), ("partitionValues", []), ("size", 1.5))
    return _build_table_with_field("remove", name, value)


@planted_fault("cdc.optional-fields")
def tags_of_cdc_that_are_no_map(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 4), configuration={CHANGE_DATA_FEED: "true"})
    body = {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 1000, "dataChange": False}
    files.commits[2].append({"cdc": {**body, "tags": draw_one(draw, "a", [], 7)}})
    return files


@planted_fault("metadata.optional-fields")
def option_of_metadata_of_another_type(draw: st.DrawFn) -> TableFiles:
    name, value = draw_one(draw, ("name", 7), ("description", ["a"]), ("createdTime", "today"))
    return _build_table_with_field("metaData", name, value, 0)


@planted_fault("metadata.field-types")
def field_of_metadata_of_another_type(draw: st.DrawFn) -> TableFiles:
    formats = ({"provider": 7, "options": {}}, {"provider": "parquet", "options": []}, "parquet")
    name, value = draw_one(
        draw, *(("format", each) for each in formats), ("configuration", []), ("configuration", "a=b")
    )
    return _build_table_with_field("metaData", name, value, 0)


@planted_fault("transaction.last-updated")
def time_of_transaction_of_another_type(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[2].append(txn_action("app", 1, lastUpdated=draw_one(draw, "today", 1.5, [])))
    return files


@planted_fault("protocol.feature-lists")
def feature_list_of_another_type(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["appendOnly"]))
    get_action(files, 0, "protocol")["writerFeatures"] = draw_one(draw, "appendOnly", {"appendOnly": True}, [7])
    return files


@planted_fault("checkpoint-metadata.tags", revisions=("r3", "current"))
def tags_of_checkpoint_metadata_that_are_no_map(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    files.checkpoints[0].rows[0] = {"checkpointMetadata": {"version": 1, "tags": draw_one(draw, "a", [], 7)}}
    return files


@planted_fault("sidecar.tags", revisions=("r3", "current"))
def tags_of_sidecar_that_are_no_map(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    invalid = {"path": "a.parquet", "sizeInBytes": 9, "modificationTime": 1, "tags": draw_one(draw, "a", [], 7)}
    files.checkpoints[0].rows.append({"sidecar": invalid})
    return files


@planted_fault("domain.clustering-format")
def clustering_columns_that_are_no_list(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["clustering", "domainMetadata"]))
    invalid = draw_one(draw, {}, {"clusteringColumns": "id"}, {"clusteringColumns": {"id": 1}}, ["id"])
    files.commits[0].append(domain_action("delta.clustering", json.dumps(invalid)))
    return files


@planted_fault("domain.system-configuration")
def half_a_pair_in_system_domain(draw: st.DrawFn) -> TableFiles:
    features = ["clustering", "domainMetadata", "rowTracking"]
    files = log_only.build_table(protocol=protocol_action(1, 7, None, features))
    files.commits = {0: files.commits[0]}  # files would need row ids and statistics
    half = draw_one(draw, "\ud800", "a\udfff-")
    name, configuration = draw_one(
        draw,
        ("delta.clustering", {"clusteringColumns": [[half]]}),
        ("delta.clustering", {"clusteringColumns": [["id"]], "note": half}),
        ("delta.rowTracking", {"rowIdHighWaterMark": 1, half: 1}),
    )
    if name != "delta.clustering":
        files.commits[0].append(domain_action("delta.clustering", '{"clusteringColumns":[]}'))
    files.commits[0].append(domain_action(name, json.dumps(configuration)))
    return files


ROW_TRACKING_ENABLED = {
    ROW_TRACKING: "true",
    ROW_ID_COLUMN: "_row_id",
    ROW_COMMIT_VERSION_COLUMN: "_row_commit_version",
}


@planted_fault("row-tracking.enabled-with-feature")
def row_tracking_enabled_without_feature(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(
        protocol=draw_one(draw, None, protocol_action(1, 7, None, [])), configuration=ROW_TRACKING_ENABLED
    )


@planted_fault("row-tracking.fields-set-when-enabled")
def row_tracking_enabled_over_files_without_ids(draw: st.DrawFn) -> TableFiles:
    """Version 3 adds the feature and backfills all files except one."""
    files = log_only.build_table(last_remove=False)
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])]
    skipped = draw_one(draw, 0, 1, 2)
    for number, (version, which) in enumerate(((1, 0), (1, 1), (2, 0))):
        ids = {} if number == skipped else {"baseRowId": 10 * number}
        body = {**get_action(files, version, "add", which), **ids, "defaultRowCommitVersion": 3, "dataChange": False}
        files.commits[3].append({"add": body})
    mark = json.dumps({"rowIdHighWaterMark": 29})
    files.commits[3] += [domain_action("delta.rowTracking", mark), legacy_row_id_mark_action(29)]
    metadata = get_action(files, 0, "metaData")
    files.commits[4] = [
        commit_info_action(4),
        {"metaData": {**metadata, "configuration": ROW_TRACKING_ENABLED}},
    ]
    return files
