"""Write a large table as a stream: data files, commits, deletion vectors and a checkpoint with sidecars."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pyarrow.parquet as pq
from pyroaring import BitMap64

from deltaspec.golden.scale.options import ScaleOptions
from deltaspec.golden.scale.values import Aggregates, arrow_schema, build_rows, list_columns, select_live
from deltaspec.protocol.files.deletion_vectors import MAGIC, build_file, build_file_descriptor
from deltaspec.protocol.log.file_names import commit_name, uuid_checkpoint_name
from deltaspec.protocol.property_names import CHECKPOINT_POLICY, DELETION_VECTORS
from deltaspec_generators.action_lines import Line, encode_lines
from deltaspec_generators.checkpoint_writer import CheckpointFiles, SidecarFile, encode_checkpoint
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import LOG, TABLE_ID, commit_info_action, protocol_action, remove_action
from deltaspec_generators.tables.features import build_protocol

BATCH_VALUES = 2_000_000
"""Values that are in memory at a time."""
_WRITTEN_MS = 1_700_000_000_000
_VECTOR_UUID = UUID(int=0x5CA1E)
Row = dict[str, Any]


def write_scale_table(options: ScaleOptions, directory: Path) -> Aggregates:
    """Write a table into a new directory.

    Memory holds about `BATCH_VALUES` values, the file actions of one commit or sidecar, and the vectors of one file.

    Returns:
        The aggregates over its live rows.
    """
    log = directory / LOG
    (log / "_sidecars").mkdir(parents=True)
    aggregates = Aggregates(options)
    created = [_build_protocol(options), _build_metadata(options)]
    (log / commit_name(0)).write_bytes(encode_lines([commit_info_action(0), *created]))
    files = _write_data_files(options, directory, aggregates)
    adds = directory / "adds.tmp"
    with adds.open("wb") as spool:
        for commit in range(options.commits):
            count = options.get_first_file(commit + 1) - options.get_first_file(commit)
            with (log / commit_name(commit + 1)).open("wb") as out:
                out.write(encode_lines([commit_info_action(commit + 1)]))
                for _ in range(count):
                    line = encode_lines([{"add": next(files)}])
                    out.write(line)
                    spool.write(line)
    version = options.commits
    if options.deleted:
        version += 1
        _delete_rows(options, directory, adds, version)
    if options.sidecars:
        _write_checkpoint(options, directory, adds, version, created)
    adds.unlink()
    if not any((log / "_sidecars").iterdir()):
        (log / "_sidecars").rmdir()
    return aggregates


def _build_protocol(options: ScaleOptions) -> Row:
    if not options.features:
        return protocol_action(1, 2)
    return {"protocol": build_protocol({*options.features}, reader=1)}


def _build_metadata(options: ScaleOptions) -> Row:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in list_columns(options)]
    if options.depth:
        nested: Any = "long"
        for level in range(options.depth, 0, -1):
            field = {"name": f"f{level}", "type": nested, "nullable": True, "metadata": {}}
            nested = {"type": "struct", "fields": [field]}
        fields.append({"name": "nested", "type": nested, "nullable": True, "metadata": {}})
    configuration = {DELETION_VECTORS: "true"} if options.deleted else {}
    if options.sidecars:
        configuration[CHECKPOINT_POLICY] = "v2"
    body = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": configuration,
        "createdTime": _WRITTEN_MS,
    }
    return {"metaData": body}


def _write_data_files(options: ScaleOptions, directory: Path, aggregates: Aggregates) -> Iterator[Row]:
    """Write the data files one after another, and yield the body of the add action of each."""
    schema = arrow_schema(options)
    step = max(1, BATCH_VALUES // len(schema))
    block, start = build_rows(options, 0, min(step, options.rows)), 0
    aggregates.add(select_live(block, options, 0))
    for number in range(options.files):
        first, end = options.get_first_row(number), options.get_first_row(number + 1)
        name = f"part-{number // 1000:04}/{number:07}.parquet"
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        with pq.ParquetWriter(path, schema, compression="snappy", store_schema=False) as writer:
            at = first
            while at < end:
                if at >= start + block.num_rows:
                    start, block = at, build_rows(options, at, min(step, options.rows - at))
                    aggregates.add(select_live(block, options, start))
                taken = min(end, start + block.num_rows) - at
                writer.write_table(block.slice(at - start, taken))
                at += taken
        statistics = {
            "numRecords": end - first,
            "minValues": {"id": first},
            "maxValues": {"id": end - 1},
            "nullCount": {"id": 0},
        }
        yield {
            "path": name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": _WRITTEN_MS,
            "dataChange": True,
            "stats": json.dumps(statistics),
        }


def _delete_rows(options: ScaleOptions, directory: Path, adds: Path, version: int) -> None:
    """Write one commit that deletes every second row of the first files, and rewrite the list of adds."""
    vectors = directory / f"deletion_vector_{_VECTOR_UUID}.bin"
    rewritten = directory / "rewritten.tmp"
    offset = 1
    with (
        (directory / LOG / commit_name(version)).open("wb") as out,
        vectors.open("wb") as data,
        adds.open("rb") as before,
        rewritten.open("wb") as after,
    ):
        data.write(build_file([])[0])
        out.write(encode_lines([commit_info_action(version)]))
        for number, line in enumerate(before):
            first, end = options.get_first_row(number), options.get_first_row(number + 1)
            rows = BitMap64(range(1 - first % 2, min(end, 2 * options.deleted) - first, 2))
            if not rows:
                after.write(line)
                continue
            bitmap = MAGIC.to_bytes(4, "little") + rows.serialize()
            stored = build_file([bitmap])[0][1:]
            data.write(stored)
            found = build_file_descriptor(_VECTOR_UUID, offset, bitmap, len(rows))
            offset += len(stored)
            add = msgspec.json.decode(line)["add"]
            statistics = json.loads(add["stats"]) | {"tightBounds": False}
            vector = {
                "storageType": found.storage_type,
                "pathOrInlineDv": found.path_or_inline_dv,
                "offset": found.offset,
                "sizeInBytes": found.size_in_bytes,
                "cardinality": found.cardinality,
            }
            changed = {**add, "deletionVector": vector, "stats": json.dumps(statistics)}
            out.write(encode_lines([remove_action({"add": add}, _WRITTEN_MS), {"add": changed}]))
            after.write(encode_lines([{"add": changed}]))
    rewritten.replace(adds)


def _write_checkpoint(options: ScaleOptions, directory: Path, adds: Path, version: int, created: list[Row]) -> None:
    """Write a V2 checkpoint whose sidecars list the files, one sidecar at a time."""
    log = directory / LOG
    sidecars: list[Row] = []
    with adds.open("rb") as lines:
        for number in range(options.sidecars):
            low, high = (options.files * each // options.sidecars for each in (number, number + 1))
            rows = [{"add": {**msgspec.json.decode(next(lines))["add"], "dataChange": False}} for _ in range(low, high)]
            name = f"{build_uuid(number + 1)}.parquet"
            part = CheckpointFiles(version, "uuid-parquet", True, sidecars=[SidecarFile(name, rows)])
            encoded = encode_checkpoint(part)[f"_sidecars/{name}"]
            (log / "_sidecars" / name).write_bytes(encoded)
            body = {"path": name, "sizeInBytes": len(encoded), "modificationTime": _WRITTEN_MS}
            sidecars.append({"sidecar": body})
    actions: list[Line] = [{"checkpointMetadata": {"version": version}}, *created, *sidecars]
    uuid = build_uuid(0)
    whole = CheckpointFiles(version, "uuid-parquet", True, uuid=uuid, rows=actions)
    name = uuid_checkpoint_name(version, uuid, "parquet")
    (log / name).write_bytes(encode_checkpoint(whole)[name])
    (log / "_last_checkpoint").write_bytes(
        json.dumps({"version": version, "size": len(actions) + options.files}).encode()
    )
