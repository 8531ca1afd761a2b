"""What the protocol leaves to writers in checkpoints."""

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles, lay_down
from deltaspec_generators.checkpoint_bases import AS_COLUMNS, change_adds, enforcing, with_columns, with_null_counts
from deltaspec_generators.permissions import permission


@permission("checkpoint-contents.commit-info-optional")
def commit_info_kept_in_checkpoint() -> TableFiles:
    files = bases.checkpointed()
    files.checkpoints[0].rows.append(files.commits[1][0])
    return files


@permission("checkpoint-contents.commit-info-optional")
def commit_info_left_out_of_checkpoint() -> TableFiles:
    return bases.checkpointed()


@permission("checkpoint-contents.parsed-partition-values-unpartitioned")
def no_typed_partition_values_without_partitions() -> TableFiles:
    files = enforcing(AS_COLUMNS)
    change_adds(files, with_columns)
    return files


@permission("checkpoint-schema.add-row-fields")
def row_tracking_fields_in_checkpoint() -> TableFiles:
    files = bases.checkpointed()
    for version, kind, which, number in ((1, "add", 0, 0), (1, "add", 1, 10), (2, "add", 0, 20), (2, "remove", 0, 0)):
        body = bases.action(files, version, kind, which)
        body.update(baseRowId=number, defaultRowCommitVersion=1 if kind == "remove" else version)
    return files


@permission("checkpoint-schema.checkpoint-metadata")
def checkpoint_metadata_column_of_the_sample() -> TableFiles:
    files = bases.checkpointed_v2("uuid-parquet", sidecars=False)
    files.checkpoints[0].v2 = True
    files.checkpoints[0].rows[0] = {"checkpointMetadata": {"version": 1, "tags": {"numOfAddFiles": "2"}}}
    return files


@permission("checkpoint-schema.sidecar")
def sidecar_column_of_the_sample() -> TableFiles:
    files = bases.checkpointed_v2("uuid-parquet")
    checkpoint = files.checkpoints[0]
    checkpoint.v2 = True
    name = checkpoint.sidecars[0].name
    size = len(lay_down(files)[f"_delta_log/_sidecars/{name}"])
    body = {"path": name, "sizeInBytes": size, "modificationTime": 1, "tags": {"a": "b"}}
    checkpoint.rows.append({"sidecar": body})
    return files


@permission("checkpoint-schema.null-counts")
def null_counts_by_the_name_of_the_sample() -> TableFiles:
    return with_null_counts("nullCounts")


@permission("checkpoint-schema.null-count")
def null_counts_by_the_name_of_the_statistic() -> TableFiles:
    return with_null_counts("nullCount")
