"""Build the files of a table from raw actions and small Arrow tables.

`TableFiles` is a plain mutable value. To get a broken table, edit it: nothing here validates, completes or repairs,
so a table can be wrong in exactly one place.

    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    files.commits[1] = [add_action("a.parquet", rows=3)]
    write_table(files, directory)
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.protocol.files import deletion_vectors
from deltaspec.protocol.log import file_names
from deltaspec_generators.action_lines import Line, encode_json, encode_line, encode_lines
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row, SidecarFile, encode_checkpoint, encode_parquet
from deltaspec_generators.table_uris import TABLE_URI, get_elsewhere, replace_table_uri

__all__ = [
    "CheckpointFiles",
    "Line",
    "Row",
    "SidecarFile",
    "TableFiles",
    "add_action",
    "commit_info_action",
    "domain_action",
    "encode_table",
    "get_action",
    "inline_vector_descriptor",
    "metadata_action",
    "protocol_action",
    "remove_action",
    "schema_string",
    "txn_action",
    "write_table",
]

LOG = "_delta_log/"
TABLE_ID = "11111111-2222-4333-8444-555555555555"


class TableFiles(msgspec.Struct):
    """Contents of a table directory before encoding."""

    commits: dict[int, list[Line]] = msgspec.field(default_factory=dict)
    """Lines of each commit by version."""
    checkpoints: list[CheckpointFiles] = msgspec.field(default_factory=list)
    compactions: dict[tuple[int, int], list[Line]] = msgspec.field(default_factory=dict)
    """Lines of each log compaction by first and last version."""
    checksums: dict[int, dict[str, Any] | str | bytes] = msgspec.field(default_factory=dict)
    """Version checksum (`.crc`) by version: an object or verbatim text."""
    last_checkpoint: dict[str, Any] | str | bytes | None = None
    data: dict[str, pa.Table | bytes] = msgspec.field(default_factory=dict)
    """Data files by path relative to the table; paths are file system names, not percent-encoded."""
    elsewhere: dict[str, bytes] = msgspec.field(default_factory=dict)
    """Data files outside of the table by path relative to `get_elsewhere`; the log names them by `ELSEWHERE_URI`."""
    extra: dict[str, bytes] = msgspec.field(default_factory=dict)
    """Other files by path relative to the table; they replace any generated file with the same path."""
    clock_ms: int | None = None
    """Clock for retention checks in milliseconds since the epoch; None if the table needs none."""
    written_ms: dict[str, int] = msgspec.field(default_factory=dict)
    """Modification times of files in milliseconds since the epoch; other files are new."""
    missing: set[str] = msgspec.field(default_factory=set)
    """Paths relative to the table that are left out."""


def encode_table(
    files: TableFiles, present: Mapping[str, bytes] | None = None, uri: str = TABLE_URI
) -> dict[str, bytes]:
    """Encode the files of a table.

    Args:
        files: the table.
        present: existing files by path; an existing Parquet file with the same rows is reused byte for byte.
        uri: URI of the table's directory with a slash at the end, which replaces `TABLE_URI` in the log.

    Returns:
        Bytes by path relative to the table, sorted by path, without the files elsewhere. Log files other than Parquet
        depend only on `files`.
    """
    before = present or {}
    log_before = {path.removeprefix(LOG): data for path, data in before.items() if path.startswith(LOG)}
    log: dict[str, bytes] = {}
    for version, lines in files.commits.items():
        log[file_names.commit_name(version)] = encode_lines(lines)
    for checkpoint in files.checkpoints:
        log.update(encode_checkpoint(_locate_checkpoint(checkpoint, uri), log_before))
    for (start, end), lines in files.compactions.items():
        log[file_names.compaction_name(start, end)] = encode_lines(lines)
    for version, checksum in files.checksums.items():
        log[file_names.checksum_name(version)] = encode_line(checksum)
    if files.last_checkpoint is not None:
        log["_last_checkpoint"] = encode_line(files.last_checkpoint)
    found = {LOG + name: locate_file(LOG + name, data, uri) for name, data in log.items()}
    for path, table in files.data.items():
        found[path] = table if isinstance(table, bytes) else encode_parquet(table, before.get(path))
    found.update(files.extra)
    return {path: found[path] for path in sorted(found) if path not in files.missing}


def _locate_checkpoint(checkpoint: CheckpointFiles, uri: str) -> CheckpointFiles:
    """Replace `TABLE_URI` in the rows of a checkpoint."""
    sidecars = [replace(each, rows=replace_table_uri(each.rows, uri)) for each in checkpoint.sidecars]
    return replace(checkpoint, rows=replace_table_uri(checkpoint.rows, uri), sidecars=sidecars)


def locate_file(path: str, data: bytes, uri: str) -> bytes:
    """Replace `TABLE_URI` and `ELSEWHERE_URI` in a text file of the log; `path` is relative to the table."""
    found: bytes = replace_table_uri(data, uri) if path.startswith(LOG) and not path.endswith(".parquet") else data
    return found


def write_table(files: TableFiles, directory: Path) -> None:
    """Write the files of a table into a directory, created if needed; existing files are kept.

    Files elsewhere are written to the directory that `get_elsewhere` returns.
    """
    (directory / LOG).mkdir(parents=True, exist_ok=True)
    for path, data in files.elsewhere.items():
        target = get_elsewhere(directory) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for path, data in encode_table(files, uri=directory.absolute().as_uri() + "/").items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        if path in files.written_ms:
            os.utime(target, ns=(files.written_ms[path] * 1_000_000,) * 2)


def schema_string(fields: Sequence[tuple[str, Any] | dict[str, Any]]) -> str:
    """Build a schema string from nullable columns (name and type) or fields as JSON objects."""
    return encode_json(
        {
            "type": "struct",
            "fields": [
                {"name": each[0], "type": each[1], "nullable": True, "metadata": {}}
                if isinstance(each, tuple)
                else each
                for each in fields
            ],
        }
    )


def protocol_action(
    reader: int, writer: int, reader_features: Sequence[str] | None = None, writer_features: Sequence[str] | None = None
) -> Row:
    """Build a `protocol` action; feature lists are included if they are not None."""
    body: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    if reader_features is not None:
        body["readerFeatures"] = list(reader_features)
    if writer_features is not None:
        body["writerFeatures"] = list(writer_features)
    return {"protocol": body}


def metadata_action(
    fields: Sequence[tuple[str, Any] | dict[str, Any]],
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    **more: Any,
) -> Row:
    """Build a `metaData` action of a Parquet table; `more` adds or replaces fields by wire name."""
    body = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_string(fields),
        "partitionColumns": list(partition_columns),
        "configuration": dict(configuration or {}),
        "createdTime": 1_700_000_000_000,
    }
    return {"metaData": {**body, **more}}


def add_action(
    path: str, *, rows: int | None = None, partition: Mapping[str, str | None] | None = None, **more: Any
) -> Row:
    """Build an `add` action; `rows` sets `numRecords`, `more` adds or replaces fields by wire name."""
    body: dict[str, Any] = {
        "path": path,
        "partitionValues": dict(partition or {}),
        "size": 1000,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
    }
    if rows is not None:
        body["stats"] = json.dumps({"numRecords": rows})
    return {"add": {**body, **more}}


def remove_action(add: Mapping[str, Any], deletion_timestamp: int | None = 1_700_000_000_000, **more: Any) -> Row:
    """Build the `remove` action of an `add` (raw action), with extended file metadata."""
    added = add["add"]
    body: dict[str, Any] = {"path": added["path"], "dataChange": True, "extendedFileMetadata": True}
    if deletion_timestamp is not None:
        body["deletionTimestamp"] = deletion_timestamp
    copied = ("partitionValues", "size", "tags", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    body.update({name: added[name] for name in copied if name in added})
    return {"remove": {**body, **more}}


def txn_action(app_id: str, version: int, **more: Any) -> Row:
    """Build a `txn` action."""
    return {"txn": {"appId": app_id, "version": version, **more}}


def domain_action(domain: str, configuration: str = "{}", *, removed: bool = False) -> Row:
    """Build a `domainMetadata` action."""
    return {"domainMetadata": {"domain": domain, "configuration": configuration, "removed": removed}}


def commit_info_action(version: int, **more: Any) -> Row:
    """Build a `commitInfo` action as engines write it."""
    return {"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "WRITE", **more}}


def get_action(files: TableFiles, version: int, kind: str, which: int = 0) -> dict[str, Any]:
    """Return the body of an action of a commit, to be edited in place."""
    found = [line for line in files.commits[version] if isinstance(line, dict) and kind in line]
    body: dict[str, Any] = found[which][kind]
    return body


def inline_vector_descriptor(rows: Sequence[int] = (1, 3)) -> dict[str, Any]:
    """Build the raw descriptor of an inline deletion vector."""
    found = deletion_vectors.build_inline_descriptor(rows)
    return {
        "storageType": found.storage_type,
        "pathOrInlineDv": found.path_or_inline_dv,
        "sizeInBytes": found.size_in_bytes,
        "cardinality": found.cardinality,
    }
