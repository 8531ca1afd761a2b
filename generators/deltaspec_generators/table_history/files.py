"""Operations on the files of a table, with explicit arguments. Rows have physical column names."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from deltaspec.protocol.files import paths
from deltaspec.protocol.files.partition_values import serialize_partition_value
from deltaspec.protocol.schema.data_types import Struct
from deltaspec_generators.data_files.file_actions import (
    VectorOptions,
    build_remove,
    build_vectors,
    list_row_ids,
    track_rows,
)
from deltaspec_generators.data_files.parquet_encodings import build_parquet_fields, build_rows_table, write_parquet
from deltaspec_generators.data_files.statistics import compute_statistics
from deltaspec_generators.data_files.stored_files import ROW_ID, ROW_VERSION, Row, StoredFile, convert_rows
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_history.file_options import FileOptions
from deltaspec_generators.table_history.history import TableHistory
from deltaspec_generators.table_state import Body
from deltaspec_generators.table_uris import TABLE_URI, has_elsewhere_uri
from deltaspec_generators.tables.features import CHANGE_FEED
from deltaspec_generators.tables.readable import CHANGE_TYPE
from deltaspec_generators.values.arrow_values import arrow_type

CHANGE_DATA = "_change_data/"


class FileHistory(TableHistory):
    """Table whose files are written."""

    def add_file(
        self,
        rows: Sequence[Row],
        partition: Mapping[str, Any],
        options: FileOptions,
        *,
        data_change: bool = True,
        row_ids: Sequence[int | None] = (),
        row_versions: Sequence[int | None] = (),
    ) -> StoredFile:
        """Write a data file and add it in the current commit.

        Args:
            rows: rows of the current schema.
            partition: plain partition values of the rows.
            options: how the file is written and described.
            data_change: value of `dataChange`.
            row_ids: with row tracking, the existing stable id of each row; None for new rows.
            row_versions: likewise, row commit versions; None for rows that this commit inserts or changes.
        """
        columns = self.columns
        extra: dict[str, pa.Array] = {}
        if any(each is not None for each in row_ids):
            extra[ROW_ID] = pa.array(row_ids, pa.int64())
        if any(each is not None for each in row_versions):
            extra[ROW_VERSION] = pa.array(row_versions, pa.int64())
        if options.encoding.extra_column:
            # Data files of a table with change data feed may have the change type column if it is all null.
            name = CHANGE_TYPE if self.is_enabled(CHANGE_FEED) else "beyond the schema"
            extra[name] = pa.array([None if name == CHANGE_TYPE else "x"] * len(rows), pa.string())
        table, data = self.encode_rows(rows, partition, options, extra)
        name = options.name or f"part-{self.next_number():05d}.parquet"
        path = paths.encode(name) if options.path is None else options.path
        files: dict[str, Any] = self.files.elsewhere if has_elsewhere_uri(path) else self.files.data
        files[name] = data
        # These features require row counts.
        counted = not {"deletionVectors", "rowTracking"}.isdisjoint(self.features)
        style = options.style.for_deleted() if counted else options.style
        stats = options.stats
        if stats is None:
            stats = compute_statistics(table, columns.data_schema, (), style)
        add: Body = {
            "path": self.root + path if options.absolute else path,
            "partitionValues": self.build_partition_texts(partition, options.texts),
            "size": len(data),
            "modificationTime": self.timestamp_ms,
            "dataChange": data_change,
        }
        if stats is not None:
            add["stats"] = stats
        if self.clustering_provider is not None and "clustering" in self.features:
            add["clusteringProvider"] = self.clustering_provider
        add |= options.add
        stored = StoredFile(add, list(rows), columns.data_schema, style, options.encoding, dict(partition))
        if "rowTracking" in self.features:
            stored = track_rows(stored, self.high_water_mark + 1, self.version, row_ids, row_versions)
            self.high_water_mark += len(rows)
        self.live[add["path"]] = stored
        self.actions.append({"add": add})
        return stored

    def encode_rows(
        self, rows: Sequence[Row], partition: Mapping[str, Any], options: FileOptions, extra: Mapping[str, pa.Array]
    ) -> tuple[pa.Table, bytes]:
        """Return the table with the columns of the schema, and the bytes of the file with further columns."""
        encoding = options.encoding
        fields = build_parquet_fields(self.columns.data_schema, encoding)
        table = build_rows_table(rows, [each for each in fields if each.name not in options.left_out])
        table = options.store(table) if options.store else table
        written = table
        if encoding.partition_columns:
            for each in build_parquet_fields(Struct(tuple(self.columns.partition_fields)), encoding):
                written = written.append_column(each, pa.array([partition[each.name]] * len(rows), each.type))
        for name, values in extra.items():
            written = written.append_column(name, values)
        written = options.change(written) if options.change else written
        return table, write_parquet(written, encoding)

    def build_partition_texts(
        self, partition: Mapping[str, Any], texts: Mapping[str, str | None] | None = None
    ) -> dict[str, str | None]:
        """Return the texts of partition values by physical name; `texts` has other texts by logical name."""
        given = texts or {}
        fields = zip(self.columns.partition_fields, self.partition_columns, strict=True)
        return {
            each.name: given[logical]
            if logical in given
            else serialize_partition_value(partition[each.name], each.type)
            for each, logical in fields
        }

    def remove_file(self, stored: StoredFile, *, data_change: bool = True, **more: Any) -> None:
        """Remove a live file in the current commit; `more` are further fields of the action."""
        self.actions.append({"remove": build_remove(stored, self.timestamp_ms, data_change=data_change, **more)})
        del self.live[stored.add["path"]]

    def add_stored_file(self, stored: StoredFile, **more: Any) -> None:
        """Add a file of an older version again, with its vector and row ids; `more` are fields of the action."""
        add = {**stored.add, "dataChange": True, **more}
        self.live[add["path"]] = replace(stored, add=add)
        self.actions.append({"add": add})

    def merge_files(self, files: Sequence[StoredFile], options: FileOptions) -> None:
        """Write the live rows of files of one partition to one file; they keep their ids and versions."""
        rows: list[Row] = []
        ids, versions = list_row_ids(files)
        for stored in files:
            converted = convert_rows(stored, self.columns.data_schema)
            rows += [converted[index] for index in stored.live_indexes]
            self.remove_file(stored, data_change=False)
        self.add_file(rows, files[0].partition, options, data_change=False, row_ids=ids, row_versions=versions)

    def delete_by_vectors(
        self, deleted: Mapping[str, Collection[int]], options: VectorOptions, *, wide: bool = False
    ) -> None:
        """Delete rows by deletion vectors.

        Args:
            deleted: additional deleted row indexes by path.
            options: how the vectors are written.
            wide: whether bounds are from then on wide, as Delta Spark writes them.
        """
        files = [self.live[path] for path in deleted]
        rows = [stored.deleted | set(deleted[stored.add["path"]]) for stored in files]
        vectors = self.write_vectors(rows, options)
        for stored, all_deleted, vector in zip(files, rows, vectors, strict=True):
            self.remove_file(stored)
            self.add_with_vector(stored, frozenset(all_deleted), vector, wide=wide)

    def add_with_vector(self, stored: StoredFile, deleted: frozenset[int], vector: Body, *, wide: bool = False) -> None:
        """Add a file with a deletion vector; `wide` as in `delete_by_vectors`."""
        style = stored.style.for_deleted()
        style = replace(style, tightness="wide") if wide and style.content != "rows" else style
        fields = [pa.field(each.name, arrow_type(each.type)) for each in stored.schema.fields]
        stats = compute_statistics(build_rows_table(stored.rows, fields), stored.schema, deleted, style)
        add = {**stored.add, "dataChange": True, "stats": stats, "deletionVector": vector}
        self.live[add["path"]] = replace(stored, add=add, deleted=deleted, style=style)
        self.actions.append({"add": add})

    def write_vectors(self, deleted: Sequence[Collection[int]], options: VectorOptions) -> list[Body]:
        """Write deletion vectors and return their descriptors; stored ones share a file."""
        if options.storage != "inline" and not options.uuid:
            options = replace(options, uuid=build_uuid(self.next_number()))
        vectors, files = build_vectors(deleted, options, self.root)
        if options.storage != "absolute" or self.root == TABLE_URI:
            self.files.extra |= files
        return vectors

    def add_change_file(
        self,
        changes: Sequence[tuple[str, Row]],
        partition: Mapping[str, Any],
        options: FileOptions,
        *,
        folder: str = "",
    ) -> None:
        """Write a change data file of rows, each with its change type, in a folder of the change data."""
        kinds = pa.array([kind for kind, _ in changes], pa.string())
        _, data = self.encode_rows([row for _, row in changes], partition, options, {CHANGE_TYPE: kinds})
        name = f"{CHANGE_DATA}{folder}cdc-{self.next_number():05d}.parquet"
        self.files.data[name] = data
        body: Body = {
            "path": paths.encode(name),
            "partitionValues": self.build_partition_texts(partition),
            "size": len(data),
            "dataChange": False,
        }
        self.actions.append({"cdc": body})
