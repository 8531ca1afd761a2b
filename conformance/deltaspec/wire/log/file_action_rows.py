"""Store decoded file actions as columns, with one Arrow schema for commits, compactions, checkpoints and sidecars.

Nested fields of deletion vectors are flattened.
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.wire import arrow_compute as pc

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
_VECTOR_FIELDS = {
    "dv_storage_type": "storage_type",
    "dv_path_or_inline": "path_or_inline_dv",
    "dv_offset": "offset",
    "dv_size_in_bytes": "size_in_bytes",
    "dv_cardinality": "cardinality",
}
"""Column to the field of a deletion-vector descriptor."""
_NO_VECTOR = SimpleNamespace(**dict.fromkeys(_VECTOR_FIELDS.values()))
_COMMON_FIELDS = ("path", "size", "data_change")
_STORED_FIELDS = (*_COMMON_FIELDS, "stats", "base_row_id", "default_row_commit_version")
_FIELDS: dict[str, tuple[str, ...]] = {
    "add": (*_STORED_FIELDS, "modification_time", "clustering_provider"),
    "remove": (*_STORED_FIELDS, "deletion_timestamp", "extended_file_metadata"),
    "cdc": _COMMON_FIELDS,
}
"""Kind of action to the columns that are fields of the same name."""


class FileActions(msgspec.Struct):
    """Decoded file actions, in the order in which they were read."""

    lines: list[int] = msgspec.field(default_factory=list)
    """Line number of each action, from 1."""
    kinds: list[str] = msgspec.field(default_factory=list)
    """Wire name of each action: `add`, `remove` or `cdc`."""
    actions: list[Any] = msgspec.field(default_factory=list)
    """`Add`, `Remove` and `Cdc` objects, or classes of an older revision with the same attributes."""

    def __len__(self) -> int:
        return len(self.actions)

    def __iter__(self) -> Iterator[tuple[int, str, Any]]:
        """Iterate over line number, kind and action."""
        return zip(self.lines, self.kinds, self.actions, strict=True)

    def append(self, line: int, kind: str, action: Any) -> None:
        """Append one action."""
        self.lines.append(line)
        self.kinds.append(kind)
        self.actions.append(action)

    def extend(self, other: "FileActions") -> None:
        """Append the actions of another file."""
        self.lines += other.lines
        self.kinds += other.kinds
        self.actions += other.actions

    def select(self, kind: str) -> list[Any]:
        """Return the actions of one kind."""
        return [action for each, action in zip(self.kinds, self.actions, strict=True) if each == kind]

    def table(self) -> pa.Table:
        """Return the actions as columns with the schema `FILE_ACTION_SCHEMA`."""
        rows: dict[str, list[int]] = {kind: [] for kind in dict.fromkeys(self.kinds)}
        if len(rows) == 1:
            return _build_table(self.kinds[0], self.lines, self.actions)
        for row, kind in enumerate(self.kinds):
            rows[kind].append(row)
        tables = [FILE_ACTION_SCHEMA.empty_table()]
        for kind, chosen in rows.items():
            tables.append(_build_table(kind, [self.lines[n] for n in chosen], [self.actions[n] for n in chosen]))
        places = [0] * len(self.kinds)
        for place, row in enumerate(chain.from_iterable(rows.values())):
            places[row] = place
        return pc.take(pa.concat_tables(tables), pa.array(places, pa.int64())).combine_chunks()


def _build_table(kind: str, lines: list[int], actions: list[Any]) -> pa.Table:
    """Build the columns of actions of one kind."""
    columns: dict[str, pa.Array] = {
        "line": pa.array(lines, pa.int64()),
        "kind": pa.repeat(pa.scalar(kind), len(actions)),
        "partition_values": _build_maps([each.partition_values for each in actions]),
    }
    columns |= {name: _build_column(name, map(attrgetter(name), actions)) for name in _FIELDS[kind]}
    if kind != "cdc":
        columns["tags"] = _build_maps([each.tags or None for each in actions])
        vectors = [each.deletion_vector for each in actions]
        if any(vectors):
            descriptors = [_NO_VECTOR if each is None else each for each in vectors]
            columns |= {
                name: _build_column(name, map(attrgetter(attribute), descriptors))
                for name, attribute in _VECTOR_FIELDS.items()
            }
    return pa.table(
        [columns.get(each.name, pa.nulls(len(actions), each.type)) for each in FILE_ACTION_SCHEMA],
        schema=FILE_ACTION_SCHEMA,
    )


def _build_column(name: str, values: Iterable[Any]) -> pa.Array:
    return pa.array(list(values), FILE_ACTION_SCHEMA.field(name).type)


def _build_maps(maps: list[dict[str, str | None] | None]) -> pa.Array:
    """Build a map column; entries keep their order."""
    present = [each for each in maps if each is not None]
    if not present:
        return pa.nulls(len(maps), STRING_MAP)
    offsets: list[int | None] = [0, *accumulate(len(each) if each else 0 for each in maps)]
    if len(present) < len(maps):
        offsets[:-1] = [None if each is None else start for each, start in zip(maps, offsets, strict=False)]
    keys = pa.array(list(chain.from_iterable(present)), pa.string())
    values = pa.array([value for each in present for value in each.values()], pa.string())
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, values)
