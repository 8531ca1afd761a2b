"""Store decoded file actions as columns, with one Arrow schema for commits, compactions, checkpoints and sidecars.

Nested fields of deletion vectors are flattened.
"""

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deltaspec.model.actions import Add, Cdc, Remove

STRING_MAP = pa.map_(pa.string(), pa.string())

FILE_ACTION_SCHEMA = pa.schema(
    [
        ("line", pa.int64()),
        ("kind", pa.string()),
        ("path", pa.string()),
        ("partition_values", STRING_MAP),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("deletion_timestamp", pa.int64()),
        ("extended_file_metadata", pa.bool_()),
        ("stats", pa.string()),
        ("dv_storage_type", pa.string()),
        ("dv_path_or_inline", pa.string()),
        ("dv_offset", pa.int64()),
        ("dv_size_in_bytes", pa.int64()),
        ("dv_cardinality", pa.int64()),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("tags", STRING_MAP),
        ("clustering_provider", pa.string()),
    ]
)
"""Columns of a file action as written; all nullable. `line` is the line or Parquet row number, from 1."""


@dataclass
class FileActionBuilder:
    """Collect decoded file actions row by row, to build one Arrow table."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    removes_with_tags: int = 0
    """Number of removes with tags."""
    removes_with_data_change: int = 0
    has_cdc: bool = False

    def add(self, line: int, action: Add) -> None:
        """Append an add."""
        self.rows.append(
            (
                line,
                "add",
                action.path,
                list(action.partition_values.items()),
                action.size,
                action.modification_time,
                action.data_change,
                None,
                None,
                action.stats,
                *_flatten_vector(action.deletion_vector),
                action.base_row_id,
                action.default_row_commit_version,
                list(action.tags.items()) if action.tags else None,
                action.clustering_provider,
            )
        )

    def remove(self, line: int, action: Remove) -> None:
        """One remove, as the columns of `FILE_ACTION_SCHEMA`."""
        values = action.partition_values
        self.removes_with_tags += bool(action.tags)
        self.removes_with_data_change += action.data_change
        self.rows.append(
            (
                line,
                "remove",
                action.path,
                None if values is None else list(values.items()),
                action.size,
                None,
                action.data_change,
                action.deletion_timestamp,
                action.extended_file_metadata,
                action.stats,
                *_flatten_vector(action.deletion_vector),
                action.base_row_id,
                action.default_row_commit_version,
                list(action.tags.items()) if action.tags else None,
                None,
            )
        )

    def cdc(self, line: int, action: Cdc) -> None:
        """Append a cdc."""
        self.has_cdc = True
        values = list(action.partition_values.items())
        self.rows.append((line, "cdc", action.path, values, action.size, None, action.data_change, *_NO_OTHER_FIELDS))

    def table(self) -> pa.Table:
        """Return the collected rows with the schema `FILE_ACTION_SCHEMA`."""
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in FILE_ACTION_SCHEMA)
        return pa.table(
            [pa.array(values, kind.type) for values, kind in zip(columns, FILE_ACTION_SCHEMA, strict=True)],
            schema=FILE_ACTION_SCHEMA,
        )


_NO_OTHER_FIELDS = (None,) * 12
_NO_VECTOR = (None,) * 5


def _flatten_vector(descriptor: Any) -> tuple[Any, ...]:
    if descriptor is None:
        return _NO_VECTOR
    return (
        descriptor.storage_type,
        descriptor.path_or_inline_dv,
        descriptor.offset,
        descriptor.size_in_bytes,
        descriptor.cardinality,
    )
