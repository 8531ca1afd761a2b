"""Describe a table that was written action by action, as the drawn tables are described."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec_generators.table_files import LOG, TableFiles
from deltaspec_generators.table_state import WrittenState, apply_actions
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable


def describe_table(files: TableFiles, rows: pa.Table, history: Iterable[str] = ()) -> ReadableTable:
    """Describe the newest version of a table whose actions are all JSON objects.

    Args:
        files: the table; if the first commits are missing, its only checkpoint is the base.
        rows: rows of the newest version.
        history: the operations that produced the table.
    """
    state = WrittenState()
    if 0 not in files.commits:
        (checkpoint,) = files.checkpoints
        sidecars = [row for sidecar in checkpoint.sidecars for row in sidecar.rows]
        state = apply_actions(WrittenState(version=checkpoint.version - 1), _objects([*checkpoint.rows, *sidecars]), 0)
    for version in sorted(files.commits):
        if version > state.version:
            state = apply_actions(state, _objects(files.commits[version]), 0)
    expected = ExpectedVersion(
        version=state.version,
        timestamp_ms=files.written_ms.get(LOG + commit_name(state.version), 0),
        schema=parse_schema(state.metadata["schemaString"]),
        partition_columns=tuple(state.metadata["partitionColumns"]),
        plain_rows=rows.to_pylist(),
        row_ids=None,
        row_commit_versions=None,
        plain_changes=None,
        state=state,
    )
    return ReadableTable(files, (expected,), tuple(history))


def _objects(lines: Iterable[Any]) -> list[dict[str, Any]]:
    return [line for line in lines if isinstance(line, dict)]
