"""Draw the arguments of the operations on files: rows, paths, encodings, styles, and how vectors are written."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from deltaspec.protocol.files import paths
from deltaspec.protocol.property_names import VARIANT_SHREDDING
from deltaspec.protocol.schema.data_types import DataType
from deltaspec_generators.data_files.file_actions import VectorOptions
from deltaspec_generators.data_files.parquet_encodings import build_parquet_fields, build_rows_table
from deltaspec_generators.data_files.stored_files import Row, StoredFile, convert_rows
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_history.file_options import FileOptions
from deltaspec_generators.tables.builder import DataTableBuilder, TableBuilder
from deltaspec_generators.tables.features import CHANGE_FEED
from deltaspec_generators.values.partition_texts import draw_partition_text, draw_partition_value
from deltaspec_generators.values.plain_values import draw_values
from deltaspec_generators.values.variants import draw_shredding, is_shredded

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def draw_rows(builder: TableBuilder, count: int) -> list[Row]:
    """Draw new rows of the current schema."""
    columns = []
    for each in builder.data_schema.fields:
        with builder.choices.span(f"column {each.name}"):
            columns.append((each.name, draw_values(builder.choices, each.type, count, nullable=each.nullable)))
    return [{name: values[index] for name, values in columns} for index in range(count)]


def draw_partition(builder: TableBuilder) -> dict[str, Any]:
    """Draw plain partition values."""
    found = {}
    for each in builder.partition_fields:
        found[each.name] = draw_partition_value(builder.choices, each.type)
    return found


def write_data_file(
    builder: DataTableBuilder, rows: Sequence[Row], partition: Mapping[str, Any], **identity: Any
) -> StoredFile:
    """Write a data file and add it in the current commit; `identity` are the other arguments of `add_file`."""
    return builder.add_file(rows, partition, draw_file_options(builder, rows, partition), **identity)


def draw_file_options(builder: DataTableBuilder, rows: Sequence[Row], partition: Mapping[str, Any]) -> FileOptions:
    """Draw how a data file with these rows is written and described."""
    options = FileOptions(encoding=builder.draw_parquet_encoding(), style=builder.choices.pick(builder.styles))
    options = _draw_shredding(builder, rows, options)
    local, path = draw_path(builder, "part", builder.build_partition_texts(partition))
    texts = draw_partition_texts(builder, partition)
    logical = dict(zip(builder.partition_columns, texts.values(), strict=True))
    return replace(options, name=local, path=path, texts=logical)


def _draw_shredding(builder: DataTableBuilder, rows: Sequence[Row], options: FileOptions) -> FileOptions:
    """Draw how the variants of a file are shredded, if the table enables that."""
    if not builder.is_enabled(VARIANT_SHREDDING):
        return options
    table = build_rows_table(rows, build_parquet_fields(builder.data_schema, options.encoding))
    shredded = draw_shredding(builder.choices, table, rows)
    builder.record(*(("variant:shredded",) if is_shredded(shredded) else ()))
    return replace(options, store=lambda _: shredded)


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
        return builder.build_partition_texts(partition)
    return {
        each.name: draw_partition_text(
            builder.choices, partition[each.name], each.type, builder.options.timestamp_texts
        )
        for each in builder.partition_fields
    }


def write_deletion_vectors(builder: DataTableBuilder, deleted: Mapping[str, Collection[int]]) -> None:
    """Delete rows by deletion vectors; `deleted` are additional deleted row indexes by path."""
    builder.delete_by_vectors(deleted, draw_vector_options(builder))


def draw_vector_options(builder: TableBuilder) -> VectorOptions:
    """Draw how deletion vectors are written: inline or all in one file."""
    runs, in_file = builder.choices.chance(1, 2), builder.choices.chance(1, 2)
    absolute = in_file and "absolute" in builder.options.extras and builder.choices.chance(1, 2)
    if not in_file:
        return VectorOptions("inline", runs=runs)
    uuid, prefix = build_uuid(builder.next_number()), builder.choices.pick(("", "ab"))
    return VectorOptions("absolute" if absolute else "stored", runs=runs, uuid=uuid, prefix=prefix)


def write_changes(builder: DataTableBuilder, changes: Sequence[tuple[str, Row]], partition: dict[str, Any]) -> None:
    """Write change data of the current commit if the change data feed is enabled."""
    if not builder.is_enabled(CHANGE_FEED) or not changes:
        return
    rows = [row for _, row in changes]
    options = FileOptions(encoding=replace(builder.draw_parquet_encoding(), extra_column=False))
    options = _draw_shredding(builder, rows, options)
    folder = builder.choices.pick(("p/", "p=x/") if partition else ("", "p/"))
    builder.add_change_file(changes, partition, options, folder=folder)
    logical = builder.rename_to_logical({**row, **partition} for row in rows)
    builder.changes += [(kind, row) for (kind, _), row in zip(changes, logical, strict=True)]


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
        converted = [(stored, convert_rows(stored, builder.data_schema)) for stored in files]
        rows = [rows[index] for stored, rows in converted for index in stored.live_indexes]
        builder.merge_files(files, draw_file_options(builder, rows, files[0].partition))

    def can_widen_partition(self, data_type: DataType) -> bool:
        """Return False: rows have the partition values of the type that their file was written with."""
        return False
