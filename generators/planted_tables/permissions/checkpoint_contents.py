"""Valid tables with optional checkpoint content."""

from deltaspec_generators.table_files import TableFiles, encode_table, get_action
from planted_tables.bases import log_only
from planted_tables.bases.checkpoints import (
    STATISTICS_AS_STRUCT,
    add_statistics_columns,
    build_table_with_checkpoint_properties,
    build_table_with_null_counts,
    edit_checkpoint_adds,
)
from planted_tables.permissions.registry import permission


@permission("checkpoint-contents.commit-info-optional")
def commit_info_kept_in_checkpoint() -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].rows.append(files.commits[1][0])
    return files


@permission("checkpoint-contents.commit-info-optional")
def commit_info_left_out_of_checkpoint() -> TableFiles:
    return log_only.build_checkpointed_table()


@permission("checkpoint-contents.parsed-partition-values-unpartitioned")
def no_typed_partition_values_without_partitions() -> TableFiles:
    files = build_table_with_checkpoint_properties(STATISTICS_AS_STRUCT)
    edit_checkpoint_adds(files, add_statistics_columns)
    return files


@permission("checkpoint-schema.add-row-fields")
def row_tracking_fields_in_checkpoint() -> TableFiles:
    files = log_only.build_checkpointed_table()
    for version, kind, which, number in ((1, "add", 0, 0), (1, "add", 1, 10), (2, "add", 0, 20), (2, "remove", 0, 0)):
        body = get_action(files, version, kind, which)
        body.update(baseRowId=number, defaultRowCommitVersion=1 if kind == "remove" else version)
    return files


@permission("checkpoint-schema.checkpoint-metadata")
def checkpoint_metadata_column_of_the_sample() -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-parquet", sidecars=False)
    files.checkpoints[0].v2 = True
    files.checkpoints[0].rows[0] = {"checkpointMetadata": {"version": 1, "tags": {"numOfAddFiles": "2"}}}
    return files


@permission("checkpoint-schema.sidecar")
def sidecar_column_of_the_sample() -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-parquet")
    checkpoint = files.checkpoints[0]
    checkpoint.v2 = True
    name = checkpoint.sidecars[0].name
    size = len(encode_table(files)[f"_delta_log/_sidecars/{name}"])
    body = {"path": name, "sizeInBytes": size, "modificationTime": 1, "tags": {"a": "b"}}
    checkpoint.rows.append({"sidecar": body})
    return files


@permission("checkpoint-schema.null-counts")
def null_counts_by_the_name_of_the_sample() -> TableFiles:
    return build_table_with_null_counts("nullCounts")


@permission("checkpoint-schema.null-count")
def null_counts_by_the_name_of_the_statistic() -> TableFiles:
    return build_table_with_null_counts("nullCount")
