"""Write data files, change data files and deletion vectors, with their actions in the log."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from msgspec.structs import replace

from deltaspec.model.log import paths
from deltaspec.model.property_names import VARIANT_SHREDDING
from deltaspec.model.schema import partition_values
from deltaspec.model.schema.data_types import DataType, Struct
from deltaspec_generators.data_files.file_actions import (
    VectorOptions,
    build_remove,
    build_vectors,
    list_row_ids,
    track_rows,
)
from deltaspec_generators.data_files.parquet_encodings import (
    ParquetEncoding,
    build_parquet_fields,
    build_rows_table,
    write_parquet,
)
from deltaspec_generators.data_files.statistics import compute_statistics
from deltaspec_generators.data_files.stored_files import ROW_ID, ROW_VERSION, Row, StoredFile, convert_rows
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_state import Body
from deltaspec_generators.table_uris import TABLE_URI
from deltaspec_generators.tables.builder import DataTableBuilder, TableBuilder
from deltaspec_generators.tables.features import CHANGE_FEED
from deltaspec_generators.values.arrow_values import arrow_type
from deltaspec_generators.values.partition_texts import draw_partition_text, draw_partition_value
from deltaspec_generators.values.plain_values import draw_values
from deltaspec_generators.values.variants import draw_shredding, is_shredded

CHANGE_TYPE = "_change_type"
CHANGE_DATA = "_change_data/"
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def draw_rows(builder: TableBuilder, count: int) -> list[Row]:
    """Draw new rows of the current schema."""
    columns = [
        (each.name, draw_values(builder.choices, each.type, count, nullable=each.nullable))
        for each in builder.data_schema.fields
    ]
    return [{name: values[index] for name, values in columns} for index in range(count)]


def draw_partition(builder: TableBuilder) -> dict[str, Any]:
    """Draw plain partition values."""
    found = {}
    for each in builder.partition_fields:
        found[each.name] = draw_partition_value(builder.choices, each.type)
    return found


def write_data_file(
    builder: DataTableBuilder,
    rows: Sequence[Row],
    partition: Mapping[str, Any],
    *,
    data_change: bool = True,
    row_ids: Sequence[int | None] = (),
    row_commit_versions: Sequence[int | None] = (),
) -> StoredFile:
    """Write a data file and add it in the current commit.

    Args:
        builder: the table.
        rows: rows of the current schema.
        partition: plain partition values of the rows.
        data_change: value of `dataChange`.
        row_ids: with row tracking, the existing stable id of each row; None for new rows.
        row_commit_versions: likewise, row commit versions; None for rows that this commit inserts or changes.
    """
    parquet_encoding, style = builder.draw_parquet_encoding(), builder.draw_style()
    extra: dict[str, tuple[pa.DataType, Sequence[Any]]] = {}
    if any(each is not None for each in row_ids):
        extra[ROW_ID] = pa.int64(), row_ids
    if any(each is not None for each in row_commit_versions):
        extra[ROW_VERSION] = pa.int64(), row_commit_versions
    if parquet_encoding.extra_column:
        # Data files of a table with change data feed may have the change type column if it is all null.
        name = CHANGE_TYPE if builder.is_enabled(CHANGE_FEED) else "beyond the schema"
        extra[name] = pa.string(), [None if name == CHANGE_TYPE else "x"] * len(rows)
    data, table = encode_rows(builder, rows, partition, parquet_encoding, extra)
    local, path = draw_path(builder, "part", serialize_partition(builder, partition))
    builder.files.data[local] = data
    add: Body = {
        "path": path,
        "partitionValues": draw_partition_texts(builder, partition),
        "size": len(data),
        "modificationTime": builder.timestamp_ms,
        "dataChange": data_change,
    }
    stats = compute_statistics(table, builder.data_schema, (), style)
    if stats is not None:
        add["stats"] = stats
    stored = StoredFile(add, list(rows), builder.data_schema, style, parquet_encoding, dict(partition))
    if "rowTracking" in builder.features:
        stored = track_rows(stored, builder.high_water_mark + 1, builder.version, row_ids, row_commit_versions)
        builder.high_water_mark += len(rows)
    builder.live[path] = stored
    builder.actions.append({"add": add})
    return stored


def encode_rows(
    builder: DataTableBuilder,
    rows: Sequence[Row],
    partition: Mapping[str, Any],
    parquet_encoding: ParquetEncoding,
    extra: Mapping[str, tuple[pa.DataType, Sequence[Any]]],
) -> tuple[bytes, pa.Table]:
    """Encode rows as Parquet; also return the Arrow table."""
    fields = build_parquet_fields(builder.data_schema, parquet_encoding)
    table = build_rows_table(rows, fields)
    if builder.is_enabled(VARIANT_SHREDDING):
        table = draw_shredding(builder.choices, table, rows)
        builder.record(*(("variant:shredded",) if is_shredded(table) else ()))
    if parquet_encoding.partition_columns:
        for each in build_parquet_fields(Struct(tuple(builder.partition_fields)), parquet_encoding):
            table = table.append_column(each, pa.array([partition[each.name]] * len(rows), each.type))
    for name, (arrow_kind, values) in extra.items():
        table = table.append_column(pa.field(name, arrow_kind), pa.array(values, arrow_kind))
    return write_parquet(table, parquet_encoding), table


def build_partition_folder(texts: Mapping[str, str | None]) -> str:
    """Build the partition directories of a file, relative to the table."""
    return "".join(f"{name}={quote(text, safe='') if text else HIVE_NULL}/" for name, text in texts.items())


def draw_path(builder: TableBuilder, prefix: str, texts: Mapping[str, str | None]) -> tuple[str, str]:
    """Draw an unused path, in the partition directory or elsewhere: relative to the table, and as in the log."""
    name = f"{prefix}-{builder.next_number():05d}.parquet"
    folder = build_partition_folder(texts)
    folders = ["", "xY/", "é %+=&/"]
    if folder and len(folder) < 120:
        folders.insert(0, folder)
    if "paths" in builder.options.extras:
        folders += ["a#b?c/", "p=%2F/", "~'(x)!/", "日本/", ".hidden/"]
    folder = builder.choices.pick(folders)
    if folder.startswith("a#"):
        builder.record("path:fragment-and-query")
    local = folder + name
    if "absolute" in builder.options.extras and builder.choices.chance(1, 3):
        builder.record("path:absolute")
        return local, builder.options.root + paths.encode(local)
    return local, paths.encode(local)


def draw_partition_texts(builder: TableBuilder, partition: Mapping[str, Any]) -> dict[str, str | None]:
    """Draw one of the legal texts of each partition value."""
    if "paths" not in builder.options.extras:
        return serialize_partition(builder, partition)
    return {
        each.name: draw_partition_text(
            builder.choices, partition[each.name], each.type, builder.options.timestamp_texts
        )
        for each in builder.partition_fields
    }


def serialize_partition(builder: TableBuilder, partition: Mapping[str, Any]) -> dict[str, str | None]:
    """Serialize partition values."""
    return {
        each.name: partition_values.serialize_partition_value(partition[each.name], each.type)
        for each in builder.partition_fields
    }


def remove_file(builder: DataTableBuilder, stored: StoredFile, *, data_change: bool = True) -> None:
    """Remove a live file in the current commit."""
    builder.actions.append({"remove": build_remove(stored, builder.timestamp_ms, data_change=data_change)})
    del builder.live[stored.add["path"]]


def add_stored_file(builder: DataTableBuilder, stored: StoredFile) -> None:
    """Add a file of an older version again, with its vector and row ids."""
    add = {**stored.add, "dataChange": True}
    builder.live[add["path"]] = replace(stored, add=add)
    builder.actions.append({"add": add})


def write_deletion_vectors(builder: DataTableBuilder, deleted: Mapping[str, Collection[int]]) -> None:
    """Delete rows by deletion vectors, stored inline or all in one file.

    Args:
        builder: the table.
        deleted: additional deleted row indexes by path.
    """
    files = [builder.live[path] for path in deleted]
    rows = [stored.deleted | set(deleted[stored.add["path"]]) for stored in files]
    vectors = write_vectors(builder, rows)
    for stored, all_deleted, vector in zip(files, rows, vectors, strict=True):
        remove_file(builder, stored)
        style = stored.style.for_deleted()
        table = build_rows_table(
            stored.rows, [pa.field(each.name, arrow_type(each.type)) for each in stored.schema.fields]
        )
        stats = compute_statistics(table, stored.schema, all_deleted, style)
        add = {**stored.add, "dataChange": True, "stats": stats, "deletionVector": vector}
        builder.live[add["path"]] = replace(stored, add=add, deleted=frozenset(all_deleted), style=style)
        builder.actions.append({"add": add})


def write_vectors(builder: TableBuilder, rows: Sequence[Collection[int]]) -> list[Body]:
    """Draw how deletion vectors are written, write them, and return their descriptors."""
    runs, in_file = builder.choices.chance(1, 2), builder.choices.chance(1, 2)
    absolute = in_file and "absolute" in builder.options.extras and builder.choices.chance(1, 2)
    options = VectorOptions("absolute" if absolute else "stored" if in_file else "inline", runs=runs)
    if in_file:
        uuid, prefix = build_uuid(builder.next_number()), builder.choices.pick(("", "ab"))
        options = replace(options, uuid=uuid, prefix=prefix)
    vectors, files = build_vectors(rows, options, builder.options.root)
    if not absolute or builder.options.root == TABLE_URI:
        builder.files.extra |= files
    return vectors


def write_change_file(
    builder: DataTableBuilder, changes: Sequence[tuple[str, Row]], partition: Mapping[str, Any]
) -> None:
    """Write a change data file of rows of the current schema, each with its change type."""
    parquet_encoding = replace(builder.draw_parquet_encoding(), extra_column=False)
    kinds = [kind for kind, _ in changes]
    data, _ = encode_rows(
        builder, [row for _, row in changes], partition, parquet_encoding, {CHANGE_TYPE: (pa.string(), kinds)}
    )
    folder = builder.choices.pick(("p/", "p=x/") if partition else ("", "p/"))
    path = f"{CHANGE_DATA}{folder}cdc-{builder.next_number():05d}.parquet"
    builder.files.data[path] = data
    body: Body = {
        "path": path,
        "partitionValues": serialize_partition(builder, partition),
        "size": len(data),
        "dataChange": False,
    }
    builder.actions.append({"cdc": body})


def write_changes(builder: DataTableBuilder, changes: Sequence[tuple[str, Row]], partition: dict[str, Any]) -> None:
    """Write change data of the current commit if the change data feed is enabled."""
    if builder.is_enabled(CHANGE_FEED) and changes:
        write_change_file(builder, changes, partition)
        builder.changes += [(kind, {**row, **partition}) for kind, row in changes]


def draw_indexes(builder: TableBuilder, indexes: Sequence[int], *, all_but: int = 0) -> list[int]:
    """Draw at least one of these row indexes, and leave out at least `all_but`."""
    most = len(indexes) - all_but
    return sorted(builder.choices.sample(indexes, 1, most))


class DataFiles:
    """Writer of data files with their rows."""

    def __init__(self, builder: DataTableBuilder) -> None:
        self._builder = builder

    def draw_new_file(self) -> None:
        """Write a file of new rows."""
        builder = self._builder
        count = builder.choices.integer(0, builder.options.max_rows)
        rows = draw_rows(builder, count) * builder.choices.pick((1, 1, 1, 20))
        write_data_file(builder, rows, draw_partition(builder))

    def draw_deleted_rows(self, stored: StoredFile) -> list[int]:
        """Draw live rows of a file, at least one and not all."""
        return draw_indexes(self._builder, stored.live_indexes, all_but=1)

    def delete_rows(self, deleted: Mapping[str, Sequence[int]]) -> None:
        """Delete rows with deletion vectors, and write the changes."""
        builder = self._builder
        files = [builder.live[path] for path in deleted]
        write_deletion_vectors(builder, deleted)
        for stored in files:
            rows = convert_rows(stored, builder.data_schema)
            write_changes(builder, [("delete", rows[index]) for index in deleted[stored.add["path"]]], stored.partition)

    def merge_files(self, files: Sequence[StoredFile]) -> None:
        """Write the live rows of several files to one file; they keep their ids and versions."""
        builder = self._builder
        rows: list[Row] = []
        ids, versions = list_row_ids(files)
        for stored in files:
            converted = convert_rows(stored, builder.data_schema)
            rows += [converted[index] for index in stored.live_indexes]
            remove_file(builder, stored, data_change=False)
        write_data_file(builder, rows, files[0].partition, data_change=False, row_ids=ids, row_commit_versions=versions)

    def can_widen_partition(self, kind: DataType) -> bool:
        """Return False: rows have the partition values of the type that their file was written with."""
        return False
