"""Encode checkpoints and sidecars from the raw actions that JSON commits are written from.

Parquet columns are those that engines write: one struct column per action kind. A row may set several kinds, unknown
kinds or none, because the same functions write broken checkpoints.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.protocol.log import file_names, spark_hash
from deltaspec_generators.action_lines import Line, encode_lines

Row: TypeAlias = dict[str, Any]
"""A row of a checkpoint: body by wire name of the action, as in JSON."""
Naming = Literal["classic", "multipart", "uuid-json", "uuid-parquet"]

_STRINGS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
        ("tags", _STRINGS),
        ("deletionVector", _VECTOR),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
        ("clusteringProvider", pa.string()),
    ]
)
_REMOVE = pa.struct(
    [
        ("path", pa.string()),
        ("deletionTimestamp", pa.int64()),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("deletionVector", _VECTOR),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
    ]
)
_TABLE_COLUMNS: dict[str, pa.DataType] = {
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _STRINGS),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
}
DOMAIN_WITH_MAP_CONFIGURATION = pa.struct(
    [("domain", pa.string()), ("configuration", _STRINGS), ("removed", pa.bool_())]
)
"""Arrow type of `domainMetadata` before r3."""
_FILE_COLUMNS: dict[str, pa.DataType] = {"add": _ADD, "remove": _REMOVE}
_V2_COLUMNS: dict[str, pa.DataType] = {
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", _STRINGS)]),
    "sidecar": pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", _STRINGS)]
    ),
}


CLASSIC_COLUMNS: dict[str, pa.DataType] = {
    name: {**_FILE_COLUMNS, **_TABLE_COLUMNS}[name]
    for name in ("txn", "add", "remove", "metaData", "protocol", "domainMetadata")
}
"""Columns of a classic checkpoint with V1 content, in the order in which Delta Spark writes them."""


class SidecarFile(msgspec.Struct):
    """A Parquet file of file actions in `_sidecars/`."""

    name: str
    """File name within `_sidecars/`."""
    rows: list[Row] = msgspec.field(default_factory=list)
    listed: bool = True
    """Whether the checkpoint gets a `sidecar` action with the true size of the file."""
    modification_time: int = 0


class CheckpointFiles(msgspec.Struct):
    """One checkpoint: its version, naming, layout and rows.

    Nothing is validated or added, except `sidecar` actions for sidecars that are `listed` and that no row names.
    """

    version: int
    naming: Naming = "classic"
    v2: bool = False
    """Whether the Parquet schema has the columns of V2 content; rows may still have none."""
    rows: list[Line] = msgspec.field(default_factory=list)
    """Raw actions; verbatim lines are allowed only in a JSON checkpoint."""
    parts: int = 1
    """Number of files of a multipart checkpoint; rows are assigned by Spark's hash of their path."""
    part_numbers: list[int] | None = None
    """Part of each row, counted from 1; overrides the assignment by hash."""
    uuid: str = "00000000-0000-4000-8000-000000000000"
    sidecars: list[SidecarFile] = msgspec.field(default_factory=list)
    parsed: dict[str, pa.DataType] = msgspec.field(default_factory=dict)
    """Arrow types of `stats_parsed` and `partitionValues_parsed`; inferred if absent."""
    types: dict[str, pa.DataType] = msgspec.field(default_factory=dict)
    """Arrow types that replace the usual type of an action."""
    dropped_columns: frozenset[str] = frozenset()
    """Columns left out of the Parquet schema unless a row has a value for them."""
    parquet_options: dict[str, Any] = msgspec.field(default_factory=dict)
    """Options of `pq.write_table` for the checkpoint without its sidecars, such as `compression`."""

    @property
    def names(self) -> list[str]:
        """File names of the checkpoint relative to `_delta_log`, without sidecars."""
        match self.naming:
            case "classic":
                return [file_names.classic_checkpoint_name(self.version)]
            case "multipart":
                every = range(1, self.parts + 1)
                return [file_names.multipart_checkpoint_name(self.version, part, self.parts) for part in every]
            case "uuid-json" | "uuid-parquet":
                kind = self.naming.removeprefix("uuid-")
                return [file_names.uuid_checkpoint_name(self.version, self.uuid, kind)]


def encode_checkpoint(checkpoint: CheckpointFiles, present: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Encode every file of a checkpoint, including its sidecars.

    Args:
        checkpoint: the checkpoint to write.
        present: existing files by name; an existing Parquet file with the same rows is reused byte for byte.

    Returns:
        Bytes by name relative to `_delta_log`.
    """
    before = present or {}
    written: dict[str, bytes] = {}
    for sidecar in checkpoint.sidecars:
        name = file_names.SIDECARS + sidecar.name
        table = build_action_table(sidecar.rows, _FILE_COLUMNS, checkpoint)
        written[name] = encode_parquet(table, before.get(name))
    rows = [*checkpoint.rows, *_build_sidecar_actions(checkpoint, written)]
    if checkpoint.naming == "uuid-json":
        return {checkpoint.names[0]: encode_lines(rows), **written}
    plain = [row for row in rows if isinstance(row, dict)]
    assert len(plain) == len(rows), "verbatim lines cannot be written as Parquet"
    columns = {**_TABLE_COLUMNS, **_FILE_COLUMNS, **(_V2_COLUMNS if checkpoint.v2 else {})}
    part_numbers = checkpoint.part_numbers or assign_parts(plain, len(checkpoint.names), vectors=_has_vectors(plain))
    for part, name in enumerate(checkpoint.names, 1):
        part_rows = [row for row, part_number in zip(plain, part_numbers, strict=True) if part_number == part]
        table = build_action_table(part_rows, columns, checkpoint)
        written[name] = encode_parquet(table, before.get(name), **checkpoint.parquet_options)
    return written


def _has_vectors(rows: Sequence[Row]) -> bool:
    protocols = [row["protocol"] for row in rows if isinstance(row.get("protocol"), dict)]
    return any("deletionVectors" in (each.get("writerFeatures") or ()) for each in protocols)


def assign_parts(rows: Sequence[Row], parts: int, *, vectors: bool) -> list[int]:
    """Compute the part of each row, counted from 1, by Spark's hash of path and, if `vectors`, deletion vector."""
    return [
        spark_hash.compute_part(_part_hash_input(row.get("add") or row.get("remove") or {}, vectors), parts)
        for row in rows
    ]


def _part_hash_input(body: Mapping[str, Any], vectors: bool) -> tuple[str | None, str | None]:
    vector = body.get("deletionVector") if vectors else None
    if not vector:
        return body.get("path"), None
    offset = vector.get("offset")
    return body.get("path"), vector["storageType"] + vector["pathOrInlineDv"] + ("" if offset is None else f"@{offset}")


def build_action_table(
    rows: Sequence[Row], columns: Mapping[str, pa.DataType], checkpoint: CheckpointFiles
) -> pa.Table:
    """Build a table with one struct column per action kind.

    Arrow infers the types of unknown kinds and fields. A kind in `dropped_columns` is written only if a row has it.
    """
    kinds = {kind for row in rows for kind in row}
    written_kinds = [kind for kind in columns if kind not in checkpoint.dropped_columns or kind in kinds]
    written_kinds += sorted(kinds - columns.keys())
    arrays = []
    for kind in written_kinds:
        bodies = [row.get(kind) for row in rows]
        known = checkpoint.types.get(kind, columns.get(kind))
        arrays.append(pa.array(bodies) if known is None else _build_struct_array(bodies, known, checkpoint))
    return pa.table(arrays, names=written_kinds)


def encode_parquet(table: pa.Table, present: bytes | None = None, **options: Any) -> bytes:
    """Encode a table as Parquet; return `present` unchanged if it already contains the same table.

    Parquet bytes depend on the release of pyarrow, the content does not.
    """
    if present is not None and pq.read_table(io.BytesIO(present)).equals(table):
        return present
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, **{"compression": "snappy", **options})
    return sink.getvalue()


def _build_struct_array(bodies: list[Any], known: pa.StructType, checkpoint: CheckpointFiles) -> pa.Array:
    types = {known.field(index).name: known.field(index).type for index in range(known.num_fields)}
    parsed_types = {name: kind for name, kind in checkpoint.parsed.items() if "path" in types}
    for name in sorted({name for body in bodies if isinstance(body, dict) for name in body} - types.keys()):
        values = [body.get(name) for body in bodies if isinstance(body, dict)]
        types[name] = parsed_types.get(name) or pa.array(values).type
    target = pa.struct(list(types.items()))
    return pa.array([_convert_maps_to_pairs(body, target) for body in bodies], target)


def _convert_maps_to_pairs(value: Any, kind: pa.DataType) -> Any:
    """Convert objects that are maps in Arrow to lists of pairs."""
    if isinstance(value, dict) and pa.types.is_map(kind):
        return [(key, _convert_maps_to_pairs(item, kind.item_type)) for key, item in value.items()]
    if isinstance(value, dict) and pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return {each.name: _convert_maps_to_pairs(value.get(each.name), each.type) for each in fields}
    return value


def _build_sidecar_actions(checkpoint: CheckpointFiles, written: Mapping[str, bytes]) -> list[Row]:
    named_paths = {
        row["sidecar"].get("path")
        for row in checkpoint.rows
        if isinstance(row, dict) and isinstance(row.get("sidecar"), dict)
    }
    return [
        {
            "sidecar": {
                "path": sidecar.name,
                "sizeInBytes": len(written[file_names.SIDECARS + sidecar.name]),
                "modificationTime": sidecar.modification_time,
            }
        }
        for sidecar in checkpoint.sidecars
        if sidecar.listed and sidecar.name not in named_paths
    ]
