"""Valid tables of the log directory, checkpoints and sidecars."""

from typing import Any

import pyarrow as pa

from deltaspec_generators.action_lines import Line, encode_json
from deltaspec_generators.checkpoint_writer import CheckpointFiles, SidecarFile, encode_checkpoint
from deltaspec_generators.data_files.legacy_nesting import store_as
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    commit_info_action,
    encode_table,
    get_action,
    schema_string,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.nested_types import map_type
from planted_tables.bases.single_file import FILE_PATH, build_single_file_table
from planted_tables.permissions.registry import permission

_FIRST, _SECOND = ("00000000-0000-4000-8000-000000000001.parquet", "00000000-0000-4000-8000-000000000002.parquet")


def _build_state_rows(files: TableFiles, version: int) -> list[Line]:
    """Build the checkpoint rows of a version of `log_only.build_table(last_remove=False)`."""
    lines = [line for number in range(version + 1) for line in files.commits[number]]
    return [line for line in lines if isinstance(line, dict) and "commitInfo" not in line]


def _write_sidecar_actions(files: TableFiles, **more: Any) -> None:
    """Add explicit sidecar actions to the first checkpoint, with further fields."""
    checkpoint = files.checkpoints[0]
    written = encode_table(files)
    for sidecar in checkpoint.sidecars:
        sidecar.listed = False
        size = len(written[f"{LOG}_sidecars/{sidecar.name}"])
        body = {"path": sidecar.name, "sizeInBytes": size, "modificationTime": 1_700_000_000_000, **more}
        checkpoint.rows.append({"sidecar": body})


@permission("table.directory", level="files")
def data_beside_the_log() -> TableFiles:
    files = log_only.build_table(last_remove=False)
    files.extra.update({name: bytes(1000) for name in ("a.parquet", "b.parquet", "c.parquet")})
    return files


@permission("table.snapshot")
def state_of_every_kind() -> TableFiles:
    files = log_only.build_table()
    files.commits[1].append(txn_action("stream", 7))
    added, removed = files.commits[2][1:]
    rows = [*files.commits[0][1:], files.commits[1][2], txn_action("stream", 7), added, removed]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    return files


@permission("checkpoint.any-version")
def checkpoint_of_each_version() -> TableFiles:
    files = log_only.build_table(last_remove=False)
    files.checkpoints += [CheckpointFiles(version, rows=_build_state_rows(files, version)) for version in (0, 1, 2)]
    return files


@permission("checkpoint.uuid-sidecars")
def checkpoint_without_sidecars() -> TableFiles:
    return log_only.build_v2_checkpointed_table(sidecars=False)


@permission("checkpoint.uuid-sidecars")
def checkpoint_of_two_sidecars() -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    first = files.checkpoints[0].sidecars[0]
    files.checkpoints[0].sidecars.append(SidecarFile(_SECOND, rows=[first.rows.pop()]))
    return files


@permission("checkpoint.uuid-format")
def checkpoint_as_json() -> TableFiles:
    return log_only.build_v2_checkpointed_table("uuid-json")


@permission("checkpoint.uuid-format")
def checkpoint_as_parquet() -> TableFiles:
    return log_only.build_v2_checkpointed_table("uuid-parquet")


@permission("checkpoint.classic-spec")
def classic_checkpoint_of_v2_content() -> TableFiles:
    return log_only.build_v2_checkpointed_table("classic")


@permission("checkpoint.classic-spec")
def classic_checkpoint_of_v1_content() -> TableFiles:
    return log_only.build_checkpointed_table()


@permission("checkpoint.classic-spec")
def checkpoint_of_parquet_mr_1_11() -> TableFiles:
    """Arrow rejects the annotations of its maps, other readers accept them."""
    files = log_only.build_checkpointed_table()
    (checkpoint,) = encode_checkpoint(files.checkpoints.pop()).items()
    files.extra[f"{LOG}/{checkpoint[0]}"] = store_as(checkpoint[1], "unknown-maps")
    return files


@permission("parquet.format", level="rows")
def data_file_of_parquet_mr_1_11() -> TableFiles:
    kind = map_type("string", map_type("string", "long"))
    stored = pa.map_(pa.string(), pa.map_(pa.string(), pa.int64()))
    rows = pa.table({"m": pa.array([{"a": {"b": 1}}, None], stored)})
    files = build_single_file_table(rows, [("m", kind)])
    files.data[FILE_PATH] = store_as(files.data[FILE_PATH], "unknown-maps")
    get_action(files, 1, "add")["size"] = len(files.data[FILE_PATH])
    return files


@permission("checkpoint.classic-v1-always")
def v1_content_where_v2_is_supported() -> TableFiles:
    files = log_only.build_v2_checkpointed_table()
    files.commits[2] = files.commits[2][:2]
    files.checkpoints.append(CheckpointFiles(2, rows=_build_state_rows(files, 2)))
    return files


@permission("sidecar.tags")
def sidecar_with_tags() -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    _write_sidecar_actions(files, tags={"writer": "drawn"})
    return files


@permission("checkpoint-metadata.tags")
def checkpoint_metadata_with_tags() -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    files.checkpoints[0].rows[0] = {"checkpointMetadata": {"version": 1, "tags": {"writer": "drawn", "empty": ""}}}
    return files


@permission("checkpoint-metadata.known-tags")
def checkpoint_metadata_with_counts() -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    size = len(encode_table(files)[f"{LOG}_sidecars/{_FIRST}"])
    path: dict[str, Any] = {"type": "struct", "fields": [{"name": "path", "type": "string", "nullable": True}]}
    path["fields"][0]["metadata"] = {}
    tags = {
        "sidecarNumActions": "2",
        "sidecarSizeInBytes": str(size),
        "numOfAddFiles": "2",
        "sidecarFileSchema": schema_string([("add", path), ("remove", path)]),
    }
    files.checkpoints[0].rows[0] = {"checkpointMetadata": {"version": 1, "tags": tags}}
    return files


@permission("checkpoint.embedded-in-hint")
def checkpoint_embedded_in_the_hint() -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    _write_sidecar_actions(files)
    checkpoint = files.checkpoints[0]
    rows = [row for row in checkpoint.rows if isinstance(row, dict)]
    files.last_checkpoint = {
        "version": 1,
        "size": len(rows) + 2,
        "v2Checkpoint": {
            "path": checkpoint.names[0],
            "sizeInBytes": sum(len(encode_json(row)) + 1 for row in rows),
            "modificationTime": 1_700_000_000_000,
            "nonFileActions": [row for row in rows if "sidecar" not in row],
            "sidecarFiles": [row["sidecar"] for row in rows if "sidecar" in row],
        },
    }
    files.commits[1][0] = commit_info_action(1)
    return files
