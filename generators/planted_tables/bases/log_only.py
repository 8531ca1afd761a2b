"""Small valid tables without data files, which planted faults break and permissions extend.

Unlike the random tables of `logs()`, these are known line by line, so a planted fault can break exactly one place.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from deltaspec.protocol.property_names import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    IN_COMMIT_TIMESTAMPS,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
)
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row, SidecarFile
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
)

FIELDS: tuple[tuple[str, Any], ...] = (("id", "long"), ("name", "string"))


def build_table(
    *,
    protocol: Row | None = None,
    configuration: Mapping[str, str] | None = None,
    fields: Sequence[Any] = FIELDS,
    partition_columns: Sequence[str] = (),
    partition: Mapping[str, str | None] | None = None,
    last_remove: bool = True,
) -> TableFiles:
    """Build three commits: protocol and metadata; two adds; one add and, with `last_remove`, one remove."""
    first = add_action("a.parquet", rows=10, partition=partition)
    second = add_action("b.parquet", rows=10, partition=partition)
    third = add_action("c.parquet", rows=10, partition=partition)
    files = TableFiles()
    metadata = metadata_action(fields, partition_columns, configuration)
    files.commits[0] = [commit_info_action(0), deepcopy(protocol) or protocol_action(1, 2), metadata]
    files.commits[1] = [commit_info_action(1), first, second]
    files.commits[2] = [commit_info_action(2), third, *([remove_action(first)] if last_remove else [])]
    return files


def build_table_with_features(*features: str, writer: Sequence[str] = (), **more: Any) -> TableFiles:
    """Build `build_table()` with reader-writer features and writer-only features."""
    return build_table(protocol=protocol_action(3, 7, features, (*features, *writer)), **more)


def build_checkpointed_table(naming: Any = "classic", **more: Any) -> TableFiles:
    """Build `build_table()` with a checkpoint of version 1 with V1 content."""
    files = build_table(**more)
    files.checkpoints.append(CheckpointFiles(1, naming, rows=[*build_state_rows(files)]))
    return files


def build_v2_checkpointed_table(naming: Any = "uuid-parquet", *, sidecars: bool = True) -> TableFiles:
    """Build a v2Checkpoint table with a checkpoint of version 1 whose adds are in one sidecar or inline."""
    files = build_table_with_features("v2Checkpoint")
    rows = build_state_rows(files)
    table = [row for row in rows if "add" not in row]
    adds = [row for row in rows if "add" in row]
    head: Row = {"checkpointMetadata": {"version": 1}}
    checkpoint = CheckpointFiles(1, naming, rows=[head, *table, *([] if sidecars else adds)])
    if sidecars:
        checkpoint.sidecars.append(SidecarFile("00000000-0000-4000-8000-000000000001.parquet", rows=adds))
    files.checkpoints.append(checkpoint)
    return files


def build_state_rows(files: TableFiles) -> list[Row]:
    """Build the checkpoint rows of version 1 of `build_table()`."""
    actions = [line for version in (0, 1) for line in files.commits[version] if isinstance(line, dict)]
    return [action for action in actions if "commitInfo" not in action]


def build_table_with_checksum(**more: Any) -> TableFiles:
    """Build `build_table()` with a checksum of version 2 that has every optional field."""
    files = build_table(**more)
    live = [row["add"] for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    protocol, metadata = files.commits[0][1], files.commits[0][2]
    assert isinstance(protocol, dict)
    assert isinstance(metadata, dict)
    files.checksums[2] = {
        "tableSizeBytes": 2000,
        "numFiles": 2,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": metadata["metaData"],
        "protocol": protocol["protocol"],
        "setTransactions": [],
        "domainMetadata": [],
        "allFiles": live,
        "numDeletedRecordsOpt": 0,
        "numDeletionVectorsOpt": 0,
        "fileSizeHistogram": {"sortedBinBoundaries": [0, 1024], "fileCounts": [2, 0], "totalBytes": [2000, 0]},
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]},
    }
    return files


def build_table_with_transaction_checksum(txn_id: str, *, catalog_managed: bool = True) -> TableFiles:
    """Build a table whose last commit has transaction `2a` and whose checksum has `txn_id`."""
    readers = ["catalogManaged"] if catalog_managed else []
    files = build_table_with_checksum(
        protocol=protocol_action(3, 7, readers, [*readers, "inCommitTimestamp"]),
        configuration={IN_COMMIT_TIMESTAMPS: "true"},
    )
    for version, lines in files.commits.items():
        time = 1_700_000_000_000 + version
        lines[0] = commit_info_action(version, inCommitTimestamp=time, txnId=f"{version}a")
    body = files.checksums[2]
    assert isinstance(body, dict)
    files.checksums[2] = {**body, "inCommitTimestampOpt": 1_700_000_000_002, "txnId": txn_id}
    return files


def build_table_with_compaction() -> TableFiles:
    """Build `build_table()` with a log compaction of versions 1 and 2."""
    files = build_table()
    removed, second = files.commits[2][2], files.commits[1][2]
    files.compactions[(1, 2)] = [second, files.commits[2][1], removed]
    return files


def build_table_with_hint() -> TableFiles:
    """Build `build_checkpointed_table()` with a `_last_checkpoint` that names the checkpoint."""
    files = build_checkpointed_table()
    files.last_checkpoint = {"version": 1, "size": 4, "numOfAddFiles": 2}
    return files


def build_table_with_timestamps(**more: Any) -> TableFiles:
    """Build a table with in-commit timestamps from its first commit."""
    files = build_table(
        protocol=protocol_action(1, 7, None, ["inCommitTimestamp"]),
        configuration={IN_COMMIT_TIMESTAMPS: "true"},
        **more,
    )
    for version, lines in files.commits.items():
        lines[0] = commit_info_action(version, inCommitTimestamp=1_700_000_000_000 + version)
    return files


def build_table_with_vector(descriptor: Mapping[str, Any] | None = None, rows: int | None = 10) -> TableFiles:
    """Build a table whose version 2 adds a file with a deletion vector."""
    files = build_table_with_features("deletionVectors", configuration={DELETION_VECTORS: "true"})
    files.commits[2][1] = add_action(
        "c.parquet", rows=rows, deletionVector=dict(descriptor or inline_vector_descriptor())
    )
    return files


def build_table_with_column_mapping(mode: str = "name") -> TableFiles:
    """Build a table with column mapping and a struct column."""

    def field(name: str, number: int, kind: Any) -> dict[str, Any]:
        metadata = {COLUMN_ID: number, PHYSICAL_NAME: f"col-{number}"}
        return {"name": name, "type": kind, "nullable": True, "metadata": metadata}

    inner = {"type": "struct", "fields": [field("x", 3, "long"), field("y", 4, "string")]}
    configuration = {COLUMN_MAPPING_MODE: mode, MAX_COLUMN_ID: "4"}
    return build_table(
        protocol=protocol_action(2, 5),
        configuration=configuration,
        fields=[field("id", 1, "long"), field("s", 2, inner)],
    )
