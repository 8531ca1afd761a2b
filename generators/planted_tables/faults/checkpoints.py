"""Planted faults of checkpoints and sidecars."""

import copy
from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    encode_table,
    get_action,
    protocol_action,
    remove_action,
    schema_string,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.retention import build_table_cleaned_up_at_2
from planted_tables.faults.registry import draw_one, planted_fault


def _get_rows(files: TableFiles) -> list[Any]:
    return files.checkpoints[0].rows


def _copy_body(files: TableFiles, kind: str, which: int = 0) -> dict[str, Any]:
    """Replace an action of the checkpoint by a copy and return its body, so that edits do not affect the commits."""
    rows = _get_rows(files)
    indexes = [index for index, row in enumerate(rows) if kind in row]
    body = dict(rows[indexes[which]][kind])
    rows[indexes[which]] = {kind: body}
    return body


@planted_fault("checkpoint.format")
def checkpoint_is_garbage(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    name = files.checkpoints.pop().names[0]
    files.extra[LOG + name] = draw_one(draw, b"", b"PAR1", b"not parquet", b"PAR1" + bytes(40) + b"PAR1")
    return files


@planted_fault("reconciliation.one-protocol")
def checkpoint_without_protocol(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].rows = [row for row in _get_rows(files) if "protocol" not in row]
    return files


@planted_fault("reconciliation.one-metadata")
def checkpoint_without_metadata(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    other_rows = [row for row in _get_rows(files) if "metaData" not in row]
    files.checkpoints[0].rows = draw_one(draw, other_rows, [*_get_rows(files), log_only.build_state_rows(files)[1]])
    return files


@planted_fault("checkpoint.no-commit-info-no-cdc")
def checkpoint_with_commit_info(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    cdc = {"cdc": {"path": "_change_data/x", "partitionValues": {}, "size": 1, "dataChange": False}}
    _get_rows(files).append(draw_one(draw, {"commitInfo": {"operation": "WRITE"}}, cdc))
    return files


@planted_fault("checkpoint.v2-has-metadata")
def checkpoint_metadata_absent(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    files.checkpoints[0].v2 = True
    rows = _get_rows(files)
    files.checkpoints[0].rows = draw_one(draw, rows[1:], [rows[0], *rows])
    return files


@planted_fault("checkpoint-metadata.version")
def checkpoint_metadata_of_another_version(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    _copy_body(files, "checkpointMetadata")["version"] = draw_one(draw, 0, 2)
    return files


@planted_fault("checkpoint.v2-needs-feature")
def v2_content_without_feature(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].v2 = True
    _get_rows(files).insert(0, {"checkpointMetadata": {"version": 1}})
    return files


@planted_fault("checkpoint.multipart-is-v1")
def v2_content_in_parts(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table("multipart")
    files.checkpoints[0].parts, files.checkpoints[0].v2 = 2, True
    _get_rows(files).insert(0, {"checkpointMetadata": {"version": 1}})
    return files


@planted_fault("checkpoint.one-action-a-row")
def row_of_no_or_two_actions(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    rows = _get_rows(files)
    if draw_one(draw, True, False):
        rows.append({})
    else:
        files.checkpoints[0].rows = [*rows[2:], {**rows[0], **rows[1]}]
    return files


@planted_fault("domain.no-tombstones-in-checkpoint")
def removed_domain_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    _get_rows(files).append(domain_action("mine", removed=True))
    return files


@planted_fault("reconciliation.domain-unique")
def domain_twice_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[1].append(domain_action("mine", "1"))
    _get_rows(files).extend([domain_action("mine", "1"), domain_action("mine", "1")])
    return files


@planted_fault("reconciliation.transaction-unique")
def transaction_twice_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.commits[1].append(txn_action("app", 1))
    _get_rows(files).extend([txn_action("app", 1), txn_action("app", 1)])
    return files


def _build_table_with_sidecar_action(change: dict[str, Any]) -> TableFiles:
    """Build a V2 checkpoint with an explicit sidecar action and apply changes to it."""
    files = log_only.build_v2_checkpointed_table("uuid-json")
    sidecar = files.checkpoints[0].sidecars[0]
    size = len(encode_table(files)[f"{LOG}_sidecars/{sidecar.name}"])
    body = {"path": sidecar.name, "sizeInBytes": size, "modificationTime": 1}
    sidecar.listed = False
    _get_rows(files).append({"sidecar": {**body, **change}})
    return files


_SIDECAR = "00000000-0000-4000-8000-000000000001.parquet"


@planted_fault("sidecar.path")
def sidecar_outside_its_folder(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_sidecar_action(
        {"path": draw_one(draw, f"other/{_SIDECAR}", f"_delta_log/{_SIDECAR}", f"s3://b/{_SIDECAR}")}
    )


@planted_fault("sidecar.path-is-name")
def sidecar_by_path(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_sidecar_action({"path": f"_delta_log/_sidecars/{_SIDECAR}"})


@planted_fault("sidecar.exists")
def sidecar_gone(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    files.missing.add(f"{LOG}_sidecars/{_SIDECAR}")
    return files


@planted_fault("sidecar.size")
def sidecar_size_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_sidecar_action({"sizeInBytes": draw(st.integers(0, 100))})


@planted_fault("sidecar.format")
def sidecar_is_garbage(draw: st.DrawFn) -> TableFiles:
    garbage = draw_one(draw, b"PAR1PAR1", b"{}")
    files = _build_table_with_sidecar_action({"sizeInBytes": len(garbage)})
    files.extra[f"{LOG}_sidecars/{_SIDECAR}"] = garbage
    return files


@planted_fault("sidecar.files-only")
def sidecar_with_transaction(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table()
    files.checkpoints[0].sidecars[0].rows.append(txn_action("app", 1))
    return files


@planted_fault("sidecar.unique-name")
def sidecar_listed_twice(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_sidecar_action({})
    listed = next(row for row in _get_rows(files) if "sidecar" in row)
    _get_rows(files).append(listed)
    return files


@planted_fault("sidecar.fields")
def malformed_sidecar(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json")
    broken = draw_one(draw, {"path": "x"}, {"path": "x", "sizeInBytes": "1", "modificationTime": 1})
    _get_rows(files).append({"sidecar": broken})
    return files


@planted_fault("checkpoint.v2-files-in-one-place")
def files_beside_sidecars(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    files.checkpoints[0].v2 = True
    moved = files.checkpoints[0].sidecars[0].rows.pop()
    _get_rows(files).append(moved)
    return files


@planted_fault("checkpoint-metadata.fields")
def malformed_checkpoint_metadata(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table("uuid-json", sidecars=False)
    _get_rows(files)[0] = {"checkpointMetadata": draw_one(draw, {}, {"version": "1"}, {"version": None})}
    return files


@planted_fault("checkpoint.equals-replay")
def live_file_absent_from_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    del _get_rows(files)[draw_one(draw, 2, 3)]
    return files


@planted_fault("checkpoint.equals-replay")
def dead_file_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    _get_rows(files).append(add_action("never.parquet", rows=1))
    return files


@planted_fault("checkpoint.equals-replay")
def file_changed_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    changes = (
        {"size": 7},
        {"modificationTime": 7},
        {"stats": '{"numRecords":7}'},
        {"baseRowId": 0},
        {"tags": {"a": "b"}},
    )
    _copy_body(files, "add", draw_one(draw, 0, 1)).update(draw_one(draw, *changes))
    return files


@planted_fault("checkpoint.equals-replay")
def tombstone_of_nobody(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    _get_rows(files).append(remove_action(add_action("never.parquet")))
    return files


@planted_fault("checkpoint.equals-replay")
def tombstone_changed(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].version = 2
    tombstone = dict(get_action(files, 2, "remove"))
    tombstone.update(draw_one(draw, {"deletionTimestamp": 7}, {"size": 7}))
    files.checkpoints[0].rows = [*_get_rows(files)[:2], _get_rows(files)[3], files.commits[2][1], {"remove": tombstone}]
    return files


@planted_fault("checkpoint.equals-replay")
def tombstone_abridged(draw: st.DrawFn) -> TableFiles:
    """The tombstone has only the fields of the protocol's sample schema, or states that it has no others."""
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].version = 2
    kept = ("path", "deletionTimestamp", "dataChange")
    tombstone = {name: get_action(files, 2, "remove")[name] for name in kept}
    tombstone |= draw_one(draw, {}, {"extendedFileMetadata": False}, {"extendedFileMetadata": False, "size": 0})
    files.checkpoints[0].rows = [*_get_rows(files)[:2], _get_rows(files)[3], files.commits[2][1], {"remove": tombstone}]
    return files


@planted_fault("checkpoint.equals-replay", revisions=("r3", "current"))
def checkpoints_of_one_version_contradict(draw: st.DrawFn) -> TableFiles:
    """The history starts with two checkpoints of a version that disagree on a file, which no commit decides."""
    files = build_table_cleaned_up_at_2(log_only.build_table_with_features("v2Checkpoint", last_remove=False))
    rows = copy.deepcopy(files.checkpoints[0].rows)
    add = next(row["add"] for row in rows if isinstance(row, dict) and "add" in row)
    add[draw_one(draw, "size", "modificationTime")] += 1
    rows.append({"checkpointMetadata": {"version": 2}})
    files.checkpoints.append(CheckpointFiles(2, "uuid-parquet", v2=True, rows=rows))
    return files


@planted_fault("checkpoint.equals-replay")
def protocol_changed_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    _copy_body(files, "protocol")["minWriterVersion"] = draw_one(draw, 1, 3)
    return files


@planted_fault("checkpoint.equals-replay")
def metadata_changed_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    changes: tuple[dict[str, Any], ...] = (
        {"name": "x"},
        {"configuration": {"a": "b"}},
        {"id": "11111111-2222-4333-8444-666666666666"},
        {"format": {"provider": "parquet", "options": {"a": "b"}}},
    )
    _copy_body(files, "metaData").update(draw_one(draw, *changes))
    return files


@planted_fault("checkpoint.equals-replay")
def transaction_changed_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.commits[1].append(txn_action("app", 5, lastUpdated=7))
    same, late = txn_action("app", 5, lastUpdated=7), txn_action("app", 5, lastUpdated=8)
    rows: list[Row] = draw_one(draw, [], [txn_action("app", 4)], [same, txn_action("other", 1)], [late])
    _get_rows(files).extend(rows)
    return files


@planted_fault("checkpoint.equals-replay")
def domain_changed_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[1].append(domain_action("mine", "1"))
    rows: list[Row] = draw_one(draw, [], [domain_action("mine", "2")])
    _get_rows(files).extend(rows)
    return files


@planted_fault("add.fields")
def required_field_absent_from_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(last_remove=False)
    files.checkpoints[0].rows = [*_get_rows(files)[:2], {"remove": {"path": "old.parquet", "deletionTimestamp": 1}}]
    del files.commits[0]
    files.commits[1] = [commit_info_action(1)]
    return files


@planted_fault("checkpoint-metadata.tag-values")
def checkpoint_tag_wrong(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    schemas = ("not json", schema_string([("add", "long")]), schema_string([("add", "long"), ("remove", "long")]))
    numbers = ("99", "-1", "2.0", "x")
    tags = {"sidecarNumActions": numbers, "sidecarSizeInBytes": numbers, "numOfAddFiles": numbers}
    name = draw_one(draw, *tags, "sidecarFileSchema")
    value = draw_one(draw, *tags.get(name, schemas))
    _get_rows(files)[0] = {"checkpointMetadata": {"version": 1, "tags": {name: value}}}
    return files
