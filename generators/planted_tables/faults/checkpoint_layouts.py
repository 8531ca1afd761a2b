"""Planted faults of checkpoint layouts: name, content, parts and sidecars."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from deltaspec.protocol.log.spark_hash import compute_part
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row, SidecarFile
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    add_action,
    commit_info_action,
    inline_vector_descriptor,
    remove_action,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.faults.registry import draw_one, planted_fault

_SIDECAR = "00000000-0000-4000-8000-000000000001.parquet"


@planted_fault("checkpoint-contents.parquet")
def checkpoint_as_json_lines(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    checkpoint = files.checkpoints.pop()
    files.extra[LOG + checkpoint.names[0]] = encode_lines(checkpoint.rows)
    return files


@planted_fault("checkpoint.multipart-format")
def part_as_json_lines(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table("multipart")
    checkpoint = files.checkpoints[0]
    checkpoint.parts = 2
    files.extra[LOG + checkpoint.names[draw_one(draw, 0, 1)]] = encode_lines(checkpoint.rows[:2])
    return files


@planted_fault("checkpoint.uuid-is-v2")
def v1_content_of_uuid_name(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"), sidecars=False)
    del files.checkpoints[0].rows[0]
    return files


@planted_fault("checkpoint-metadata.only-in-v2")
def checkpoint_metadata_in_parts(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table("multipart")
    files.checkpoints[0].parts, files.checkpoints[0].v2 = 2, True
    files.checkpoints[0].rows.insert(draw_one(draw, 0, 2), {"checkpointMetadata": {"version": 1}})
    return files


@planted_fault("sidecar.only-in-v2")
def sidecar_of_parts(draw: st.DrawFn) -> TableFiles:
    """The multipart checkpoint has V2 content, so only its sidecar is wrong."""
    files = log_only.build_checkpointed_table("multipart")
    checkpoint = files.checkpoints[0]
    checkpoint.parts, checkpoint.v2 = 2, True
    checkpoint.sidecars.append(SidecarFile(_SIDECAR, rows=log_only.build_state_rows(files)[2:]))
    checkpoint.rows = [{"checkpointMetadata": {"version": 1}}, *checkpoint.rows[:2]]
    return files


@planted_fault("sidecar.columns")
def sidecar_of_other_columns(draw: st.DrawFn) -> TableFiles:
    texts = pa.array(['{"path":"a.parquet"}'])
    flat = pa.table({"path": ["a.parquet"], "size": [1000]})
    content = io.BytesIO()
    pq.write_table(
        draw_one(draw, flat, pa.table({"add": texts, "remove": pa.nulls(1)}), pa.table({"add": texts})), content
    )
    return _build_table_with_sidecar(content.getvalue())


def _build_table_with_sidecar(content: bytes) -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    files.checkpoints[0].sidecars.clear()
    files.extra[f"{LOG}_sidecars/{_SIDECAR}"] = content
    body = {"path": _SIDECAR, "sizeInBytes": len(content), "modificationTime": 1}
    files.checkpoints[0].rows.append({"sidecar": body})
    return files


@planted_fault("checkpoint.v2-others-inline")
def state_of_the_table_in_a_sidecar(draw: st.DrawFn) -> TableFiles:
    """The commits are cleaned up, so only the checkpoint has the state."""
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    files.checkpoints[0].sidecars[0].rows.append(txn_action("app", 1))
    del files.commits[0]
    files.commits[1] = [commit_info_action(1)]
    return files


@planted_fault("checkpoint.v2-files-in-one-place")
def tombstone_beside_sidecars(draw: st.DrawFn) -> TableFiles:
    """The commits are cleaned up, so no commit contradicts the tombstone."""
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    files.checkpoints[0].v2 = True
    files.checkpoints[0].rows.append(remove_action(add_action("gone.parquet")))
    del files.commits[0]
    files.commits[1] = [commit_info_action(1)]
    return files


@planted_fault("checkpoint.classic-same-content")
def classic_checkpoint_lacks_a_file(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    rows = log_only.build_state_rows(files)
    del rows[draw_one(draw, 2, 3)]
    files.checkpoints.append(CheckpointFiles(1, v2=True, rows=[{"checkpointMetadata": {"version": 1}}, *rows]))
    return files


@planted_fault("checkpoint.multipart-avoided")
def checkpoint_in_parts(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table("multipart")
    files.checkpoints[0].parts = draw_one(draw, 2, 3)
    return files


@planted_fault("checkpoint-contents.parts-hashed")
def file_in_another_part(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table("multipart")
    first, second = (compute_part([path], 2) for path in ("a.parquet", "b.parquet"))
    files.checkpoints[0].parts = 2
    files.checkpoints[0].part_numbers = [
        1,
        1,
        *draw_one(draw, (3 - first, second), (first, 3 - second), (3 - first, 3 - second)),
    ]
    return files


@planted_fault("checkpoint-contents.parts-hashed")
def part_chosen_by_path_beside_vectors(draw: st.DrawFn) -> TableFiles:
    """If the table supports deletion vectors, the path alone is not the hash key."""
    files, rows = _build_table_with_vector_at_2()
    vector = rows[-1]["add"]["deletionVector"]
    key = ["a.parquet", vector["storageType"] + vector["pathOrInlineDv"]]
    parts = next(number for number in range(2, 40) if compute_part(key, number) != compute_part(key[:1], number))
    by_path = [compute_part([(row.get("add") or row.get("remove") or {}).get("path")], parts) for row in rows]
    files.checkpoints.append(CheckpointFiles(2, "multipart", rows=[*rows], parts=parts, part_numbers=by_path))
    return files


@planted_fault("checkpoint-contents.parts-clustered-by-path")
def path_in_two_parts(draw: st.DrawFn) -> TableFiles:
    """The remove of a file is in one part, its add with a deletion vector in another."""
    files, rows = _build_table_with_vector_at_2()
    part_numbers = [1, 1, 1, *draw_one(draw, (1, 2), (2, 1))]
    files.checkpoints.append(CheckpointFiles(2, "multipart", rows=[*rows], parts=2, part_numbers=part_numbers))
    return files


def _build_table_with_vector_at_2() -> tuple[TableFiles, list[Row]]:
    """Build a table whose version 2 adds a deletion vector to its first file; also return its state, that file last."""
    files = log_only.build_table_with_features("deletionVectors", configuration={DELETION_VECTORS: "true"})
    before = add_action("a.parquet", rows=10)
    after = add_action("a.parquet", rows=10, deletionVector=inline_vector_descriptor())
    files.commits[2][1:] = [remove_action(before), after]
    protocol, metadata, _, other = log_only.build_state_rows(files)
    return files, [protocol, metadata, other, remove_action(before), after]
