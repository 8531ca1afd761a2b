"""Mutations of what kind a checkpoint is: its name, its content, its parts and its sidecars together."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.builder import LOG, TableFiles, txn_action
from deltaspec_generators.checkpoint_files import CheckpointFiles, SidecarFile
from deltaspec_generators.json_lines import json_lines
from deltaspec_generators.mutations import mutation, pick

_SIDECAR = "00000000-0000-4000-8000-000000000001.parquet"


@mutation("checkpoint-contents.parquet")
def checkpoint_as_json_lines(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed()
    checkpoint = files.checkpoints.pop()
    files.extra[LOG + checkpoint.names[0]] = json_lines(checkpoint.rows)
    return files


@mutation("checkpoint.multipart-format")
def part_as_json_lines(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed("multipart")
    checkpoint = files.checkpoints[0]
    checkpoint.parts = 2
    files.extra[LOG + checkpoint.names[pick(draw, 0, 1)]] = json_lines(checkpoint.rows[:2])
    return files


@mutation("checkpoint.uuid-is-v2")
def v1_content_of_uuid_name(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed_v2(pick(draw, "uuid-json", "uuid-parquet"), sidecars=False)
    del files.checkpoints[0].rows[0]
    return files


@mutation("checkpoint-metadata.only-in-v2")
def checkpoint_metadata_in_parts(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed("multipart")
    files.checkpoints[0].parts, files.checkpoints[0].v2 = 2, True
    files.checkpoints[0].rows.insert(pick(draw, 0, 2), {"checkpointMetadata": {"version": 1}})
    return files


@mutation("sidecar.only-in-v2")
def sidecar_of_parts(draw: st.DrawFn) -> TableFiles:
    """The multipart checkpoint says itself that its content is V2, so that its sidecar is all that is wrong."""
    files = bases.checkpointed("multipart")
    checkpoint = files.checkpoints[0]
    checkpoint.parts, checkpoint.v2 = 2, True
    checkpoint.sidecars.append(SidecarFile(_SIDECAR, rows=bases.state_rows(files)[2:]))
    checkpoint.rows = [{"checkpointMetadata": {"version": 1}}, *checkpoint.rows[:2]]
    return files


@mutation("sidecar.columns")
def sidecar_of_other_columns(draw: st.DrawFn) -> TableFiles:
    texts = pa.array(['{"path":"a.parquet"}'])
    content = io.BytesIO()
    pq.write_table(pick(draw, pa.table({"add": texts, "remove": pa.nulls(1)}), pa.table({"add": texts})), content)
    return _with_sidecar(content.getvalue())


def _with_sidecar(content: bytes) -> TableFiles:
    files = bases.checkpointed_v2("uuid-json")
    files.checkpoints[0].sidecars.clear()
    files.extra[f"{LOG}_sidecars/{_SIDECAR}"] = content
    body = {"path": _SIDECAR, "sizeInBytes": len(content), "modificationTime": 1}
    files.checkpoints[0].rows.append({"sidecar": body})
    return files


@mutation("checkpoint.v2-others-inline")
def state_of_the_table_in_a_sidecar(draw: st.DrawFn) -> TableFiles:
    """The commits are cleaned up, so that nothing but the checkpoint says what holds."""
    files = bases.checkpointed_v2(pick(draw, "uuid-json", "uuid-parquet"))
    files.checkpoints[0].sidecars[0].rows.append(txn_action("app", 1))
    del files.commits[0], files.commits[1]
    return files


@mutation("checkpoint.classic-same-content")
def classic_checkpoint_lacks_a_file(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed_v2(pick(draw, "uuid-json", "uuid-parquet"))
    rows = bases.state_rows(files)
    del rows[pick(draw, 2, 3)]
    files.checkpoints.append(CheckpointFiles(1, v2=True, rows=[{"checkpointMetadata": {"version": 1}}, *rows]))
    return files
