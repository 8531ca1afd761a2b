"""Writing drawn rows: data files with what the log says of them, change data files, deletion vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote
from uuid import UUID

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.model import deletion_vectors, partition_values, paths, z85
from deltaspec.model.data_types import Struct
from deltaspec_generators.data_schemas import reshaped
from deltaspec_generators.data_statistics import StatisticsStyle, statistics_of
from deltaspec_generators.data_values import arrow_type, column_of
from deltaspec_generators.files import identifier
from deltaspec_generators.log_state import Body
from deltaspec_generators.parquet_spellings import ParquetSpelling, parquet_fields, rows_table, write_parquet

if TYPE_CHECKING:
    from deltaspec_generators.data_tables import DataDraft

Row: TypeAlias = dict[str, Any]
"""Plain values by physical column name, partition columns not among them."""
ROW_ID, ROW_VERSION = "_row-id-col-1", "_row-commit-version-col-1"
"""Names of the columns that materialized row ids and row commit versions stand in."""
CHANGE_TYPE = "_change_type"
CHANGE_DATA = "_change_data/"
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class StoredFile:
    """A live data file and what only its writer knows of it."""

    add: Body
    rows: list[Row]
    """Every row of the file, deleted ones too."""
    schema: Struct
    """Physical columns of the table when it was written, without partition columns."""
    style: StatisticsStyle
    spelling: ParquetSpelling
    partition: dict[str, Any]
    """Plain partition values by physical name."""
    deleted: frozenset[int] = frozenset()
    row_ids: list[int] = field(default_factory=list)
    """Stable id of each row; empty without row tracking."""
    row_versions: list[int] = field(default_factory=list)

    @property
    def kept(self) -> list[int]:
        """Indexes of the rows that are not deleted."""
        return [index for index in range(len(self.rows)) if index not in self.deleted]


def drawn_rows(draft: DataDraft, count: int) -> list[Row]:
    """New rows of the table's columns."""
    columns = [
        (each.name, draft.draw(column_of(each.type, count, nullable=each.nullable)))
        for each in draft.data_schema.fields
    ]
    return [{name: values[index] for name, values in columns} for index in range(count)]


def drawn_partition(draft: DataDraft) -> dict[str, Any]:
    """Plain values of the partition columns; the empty string is null, as no text tells the two apart."""
    found = {}
    for each in draft.partition_fields:
        value = draft.draw(column_of(each.type, 1))[0]
        found[each.name] = None if value == "" else value
    return found


def rows_as_of(stored: StoredFile, schema: Struct) -> list[Row]:
    """All rows of a file as rows of a later physical schema."""
    found: list[Row] = [reshaped(row, stored.schema, schema) for row in stored.rows]
    return found


def store(
    draft: DataDraft,
    rows: Sequence[Row],
    partition: Mapping[str, Any],
    *,
    data_change: bool = True,
    row_ids: Sequence[int | None] = (),
    row_versions: Sequence[int | None] = (),
) -> StoredFile:
    """Write a data file and say so in the commit at hand.

    Args:
        draft: the table.
        rows: of the table's present columns.
        partition: their plain partition values.
        data_change: of the action.
        row_ids: where the table tracks rows: the stable id of each that had one before, None for new rows.
        row_versions: the same for row commit versions; None for rows that this commit inserts or changes.
    """
    spelling, style = draft.spelling(), draft.style()
    extra: dict[str, tuple[pa.DataType, Sequence[Any]]] = {}
    if any(each is not None for each in row_ids):
        extra[ROW_ID] = pa.int64(), row_ids
    if any(each is not None for each in row_versions):
        extra[ROW_VERSION] = pa.int64(), row_versions
    if spelling.extra_column:
        # A table with a change data feed may hold the column of change files in its data files, all null.
        name = CHANGE_TYPE if draft.on("delta.enableChangeDataFeed") else "beyond the schema"
        extra[name] = pa.string(), [None if name == CHANGE_TYPE else "x"] * len(rows)
    data, table = encoded(draft, rows, partition, spelling, extra)
    path = drawn_path(draft, "part", partition)
    draft.files.data[paths.decode(path)] = data
    add: Body = {
        "path": path,
        "partitionValues": partition_texts(draft, partition),
        "size": len(data),
        "modificationTime": draft.timestamp_ms,
        "dataChange": data_change,
    }
    text = statistics_of(table, draft.data_schema, (), style)
    if text is not None:
        add["stats"] = text
    stored = StoredFile(add, list(rows), draft.data_schema, style, spelling, dict(partition))
    if "rowTracking" in draft.features:
        base = draft.high_water_mark + 1
        add |= {"baseRowId": base, "defaultRowCommitVersion": draft.version}
        draft.high_water_mark += len(rows)
        ids = [base + index if each is None else each for index, each in enumerate(row_ids or [None] * len(rows))]
        versions = [draft.version if each is None else each for each in row_versions or [None] * len(rows)]
        stored = replace(stored, row_ids=ids, row_versions=versions)
    draft.live[path] = stored
    draft.actions.append({"add": add})
    return stored


def encoded(
    draft: DataDraft,
    rows: Sequence[Row],
    partition: Mapping[str, Any],
    spelling: ParquetSpelling,
    extra: Mapping[str, tuple[pa.DataType, Sequence[Any]]],
) -> tuple[bytes, pa.Table]:
    """Rows as Parquet, and the table that was written."""
    fields = parquet_fields(draft.data_schema, spelling)
    table = rows_table(rows, fields)
    if spelling.partition_columns:
        for each in parquet_fields(Struct(tuple(draft.partition_fields)), spelling):
            table = table.append_column(each, pa.array([partition[each.name]] * len(rows), each.type))
    for name, (kind, values) in extra.items():
        table = table.append_column(pa.field(name, kind), pa.array(values, kind))
    return write_parquet(table, spelling), table


def drawn_path(draft: DataDraft, prefix: str, partition: Mapping[str, Any]) -> str:
    """A path that no file had before, in the folders of its partition or elsewhere; as the log has it."""
    name = f"{prefix}-{draft.next_number():05d}.parquet"
    folder = "".join(
        f"{column}={HIVE_NULL if text is None else quote(text, safe='')}/"
        for column, text in partition_texts(draft, partition).items()
    )
    choices = ["", "xY/", "é %+=&/"]
    if folder and len(folder) < 120:
        choices.insert(0, folder)
    return paths.encode(draft.draw(st.sampled_from(choices)) + name)


def partition_texts(draft: DataDraft, partition: Mapping[str, Any]) -> dict[str, str | None]:
    """Partition values as the log has them."""
    return {each.name: partition_values.serialize(partition[each.name], each.type) for each in draft.partition_fields}


def removed(draft: DataDraft, stored: StoredFile, *, data_change: bool = True) -> None:
    """Remove a live file in the commit at hand."""
    add = stored.add
    kept = ("partitionValues", "size", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    body: Body = {
        "path": add["path"],
        "deletionTimestamp": draft.timestamp_ms,
        "dataChange": data_change,
        "extendedFileMetadata": True,
        **{name: add[name] for name in kept if name in add},
    }
    draft.actions.append({"remove": body})
    del draft.live[add["path"]]


def mark_deleted(draft: DataDraft, deleted: Mapping[str, Collection[int]]) -> None:
    """Take rows away by deletion vectors, all of this commit in one file or each in the log itself.

    Args:
        draft: the table.
        deleted: rows by path, beside those that are deleted already.
    """
    before = [draft.live[path] for path in deleted]
    rows = [stored.deleted | set(deleted[stored.add["path"]]) for stored in before]
    vectors = _descriptors(draft, rows)
    for stored, gone, vector in zip(before, rows, vectors, strict=True):
        removed(draft, stored)
        style = stored.style.for_deleted()
        table = rows_table(stored.rows, [pa.field(each.name, arrow_type(each.type)) for each in stored.schema.fields])
        text = statistics_of(table, stored.schema, gone, style)
        add = {**stored.add, "dataChange": True, "stats": text, "deletionVector": vector}
        draft.live[add["path"]] = replace(stored, add=add, deleted=frozenset(gone), style=style)
        draft.actions.append({"add": add})


def _descriptors(draft: DataDraft, rows: Sequence[Collection[int]]) -> list[Body]:
    runs, stored = draft.draw(st.booleans()), draft.draw(st.booleans())
    bitmaps = [deletion_vectors.encode_bitmap(each, runs=runs) for each in rows]
    common = [
        {"sizeInBytes": len(bitmap), "cardinality": len(each)} for bitmap, each in zip(bitmaps, rows, strict=True)
    ]
    if not stored:
        texts = [z85.encode(bitmap + bytes(-len(bitmap) % 4)) for bitmap in bitmaps]
        return [{"storageType": "i", "pathOrInlineDv": text, **each} for text, each in zip(texts, common, strict=True)]
    data, offsets = deletion_vectors.layout_file(bitmaps)
    uuid = UUID(identifier(draft.next_number()))
    prefix = draft.draw(st.sampled_from(("", "ab")))
    draft.files.extra[f"{prefix}/deletion_vector_{uuid}.bin".removeprefix("/")] = data
    where = prefix + z85.encode(uuid.bytes)
    return [
        {"storageType": "u", "pathOrInlineDv": where, "offset": offset, **each}
        for offset, each in zip(offsets, common, strict=True)
    ]


def store_changes(draft: DataDraft, changes: Sequence[tuple[str, Row]], partition: Mapping[str, Any]) -> None:
    """Write a change data file of rows of the table's present columns, each with its kind of change."""
    spelling = replace(draft.spelling(), extra_column=False)
    kinds = [kind for kind, _ in changes]
    data, _ = encoded(draft, [row for _, row in changes], partition, spelling, {CHANGE_TYPE: (pa.string(), kinds)})
    folder = draft.draw(st.sampled_from(("p/", "p=x/") if partition else ("", "p/")))
    path = f"{CHANGE_DATA}{folder}cdc-{draft.next_number():05d}.parquet"
    draft.files.data[path] = data
    body: Body = {
        "path": path,
        "partitionValues": partition_texts(draft, partition),
        "size": len(data),
        "dataChange": False,
    }
    draft.actions.append({"cdc": body})
