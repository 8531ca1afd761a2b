"""Write checkpoints, log compactions and version checksums of a state. Source: Checkpoints; Log Compaction Files."""

import io
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.reference.typed_columns import JSON_ONLY, StatisticsForm
from deltaspec.candidates.reference.written_files import get_clock_ms, write_new_file
from deltaspec.model.log.checkpoints import build_checkpoint_actions
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import WIRE_NAMES, Action, Add, Remove, Sidecar
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import get_file_retention_ms
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.protocol.json_values import parse_lossless
from deltaspec.protocol.log import file_names
from deltaspec.protocol.log.canonical_json import compute_checksum
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint
from deltaspec.protocol.log.spark_hash import compute_part
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_TRACKING = [("deletionVector", _VECTOR), ("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64())]
COLUMNS: dict[str, pa.DataType] = {
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", _MAP)]),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "add": pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", _MAP),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", pa.string()),
            ("tags", _MAP),
            *_TRACKING,
            ("clusteringProvider", pa.string()),
        ]
    ),
    "remove": pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("partitionValues", _MAP),
            ("size", pa.int64()),
            *_TRACKING,
        ]
    ),
    "sidecar": pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", _MAP)]
    ),
}
"""Parquet columns of a checkpoint by wire name of the action."""
_ONLY_V2 = ("checkpointMetadata", "sidecar")
_PARTS = 2
"""Files of a multi-part checkpoint."""


def encode_action(action: Action) -> dict[str, Any]:
    """Return an action as the JSON object of a line."""
    return {WIRE_NAMES[type(action)]: msgspec.to_builtins(action)}


def encode_lines(actions: Sequence[Action]) -> bytes:
    """Return actions as the lines of a commit."""
    return b"".join(msgspec.json.encode(encode_action(each)) + b"\n" for each in actions)


def encode_rows(actions: Sequence[Action], *, v2: bool, form: StatisticsForm = JSON_ONLY) -> bytes:
    """Return actions as the bytes of a Parquet checkpoint or sidecar, with statistics in one form or both."""
    rows = [encode_action(each) for each in actions]
    for action, row in zip(actions, rows, strict=True):
        if isinstance(action, Add):
            row["add"] = form.complete(action, row["add"])
    columns = {name: kind for name, kind in COLUMNS.items() if v2 or name not in _ONLY_V2}
    columns["add"] = pa.struct([*columns["add"], *form.types.items()])
    arrays = [
        pa.array([_complete(row[name], kind) if name in row else None for row in rows], kind)
        for name, kind in columns.items()
    ]
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays, names=list(columns)), sink)
    return sink.getvalue()


def _complete(value: Any, kind: pa.DataType) -> Any:
    """Return a JSON value as a value of an Arrow type."""
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return {each.name: _complete(value[each.name], each.type) for each in kind if each.name in value}
    return list(value.items()) if pa.types.is_map(kind) and isinstance(value, dict) else value


def encode_hint(hint: LastCheckpoint) -> bytes:
    """Return a hint as JSON, with its checksum."""
    checksum = compute_checksum(parse_lossless(msgspec.json.encode(hint).decode()).value)
    return msgspec.json.encode(msgspec.structs.replace(hint, checksum=checksum))


class CheckpointWriter:
    """Writes checkpoints of a table. The public methods can be replaced, to build faulty writers."""

    def __init__(self, table: str) -> None:
        self.log = Path(table) / LOG_DIRECTORY

    def write_checkpoint(self, snapshot: Snapshot, form: str) -> None:
        """Write a checkpoint of the form `v1`, `multipart`, `v2` or `v2-sidecars`, and the file that points to it.

        Files that the version already has are kept.
        """
        v2 = form.startswith("v2")
        actions = self.list_actions(snapshot, v2=v2)
        hint = LastCheckpoint(version=snapshot.version, size=len(actions))
        match form:
            case "multipart":
                files = self._divide(snapshot, actions)
                hint = msgspec.structs.replace(hint, parts=len(files))
            case "v1":
                files = {file_names.classic_checkpoint_name(snapshot.version): actions}
            case _:
                name = file_names.uuid_checkpoint_name(snapshot.version, str(uuid.uuid4()), "parquet")
                files = {name: self._move_to_sidecar(actions) if form == "v2-sidecars" else actions}
        for name, content in files.items():
            if not (self.log / name).exists():
                write_new_file(self.log / name, self.encode(content, v2=v2))
        self.write_hint(hint)

    def list_actions(self, snapshot: Snapshot, *, v2: bool) -> list[Action]:
        """Return the actions of a checkpoint."""
        assert snapshot.metadata is not None
        retention = get_file_retention_ms(snapshot.metadata.configuration)
        return build_checkpoint_actions(snapshot, v2=v2, clock_ms=get_clock_ms(), retention_ms=retention)

    def encode(self, actions: Sequence[Action], *, v2: bool) -> bytes:
        """Return the bytes of a checkpoint."""
        return encode_rows(actions, v2=v2)

    def write_hint(self, hint: LastCheckpoint) -> None:
        """Replace the file that points to the newest checkpoint."""
        temporary = self.log / f".{uuid.uuid4()}.tmp"
        write_new_file(temporary, encode_hint(hint))
        temporary.replace(self.log / "_last_checkpoint")

    @staticmethod
    def _divide(snapshot: Snapshot, actions: Sequence[Action]) -> dict[str, list[Action]]:
        """Return the actions of each part of a multi-part checkpoint by its name."""
        assert snapshot.protocol is not None
        parts: list[list[Action]] = [[] for _ in range(_PARTS)]
        has_vectors = supports(snapshot.protocol, "deletionVectors")
        for each in actions:
            path = each.path if isinstance(each, Add | Remove) else None
            vector = get_vector_id(each) if has_vectors and isinstance(each, Add | Remove) else None
            parts[compute_part((path, vector), _PARTS) - 1].append(each)
        return {
            file_names.multipart_checkpoint_name(snapshot.version, number, _PARTS): part
            for number, part in enumerate(parts, 1)
        }

    def _move_to_sidecar(self, actions: list[Action]) -> list[Action]:
        files = [each for each in actions if isinstance(each, Add | Remove)]
        if not files:
            return actions
        name = f"{uuid.uuid4()}.parquet"
        size = write_new_file(self.log / "_sidecars" / name, self.encode(files, v2=False))
        others = [each for each in actions if not isinstance(each, Add | Remove)]
        return [*others, Sidecar(path=name, size_in_bytes=size, modification_time=get_clock_ms())]
