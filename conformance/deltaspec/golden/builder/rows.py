"""Operations that add, delete, change and move the rows of a golden table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from deltaspec.golden.builder.columns import rename_to_physical
from deltaspec.golden.builder.file_options import FileOptions
from deltaspec.golden.builder.history import CHANGE_FEED, PlainRow, TableHistory, Where
from deltaspec.protocol.files import paths
from deltaspec.protocol.files.partition_values import serialize_partition_value
from deltaspec.protocol.schema.data_types import Struct
from deltaspec_generators.data_files.file_actions import (
    VectorOptions,
    VectorStorage,
    build_remove,
    build_vectors,
    list_row_ids,
    track_rows,
)
from deltaspec_generators.data_files.parquet_encodings import build_parquet_fields, build_rows_table, write_parquet
from deltaspec_generators.data_files.statistics import StatisticsStyle, compute_statistics
from deltaspec_generators.data_files.stored_files import ROW_ID, ROW_VERSION, StoredFile
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_state import Body
from deltaspec_generators.table_uris import TABLE_URI
from deltaspec_generators.values.arrow_values import arrow_type

CHANGE_TYPE = "_change_type"
_Rows = Iterable[Sequence[Any] | PlainRow]


def everything(_: PlainRow) -> bool:
    """Return true for every row."""
    return True


class TableRows(TableHistory):
    """Golden table whose rows can be changed."""

    def append(self, rows: _Rows, **options: Any) -> list[StoredFile]:
        """Append rows, one file per partition.

        Args:
            rows: plain values in the order of the columns, or by name.
            options: fields of `FileOptions`.
        """
        values = self._to_rows(rows)
        with self.commit(f"append {len(values)} rows"):
            return [
                self.write_file(group, FileOptions(**options)) for group in self._group_by_partition(values) or [values]
            ]

    def overwrite(self, rows: _Rows, **options: Any) -> None:
        """Replace all rows."""
        with self.commit("overwrite all rows"):
            for stored in list(self.live.values()):
                self.remove_file(stored)
            self.append(rows, **options)

    def delete(
        self,
        where: Where,
        *,
        by: VectorStorage | None = None,
        change_files: bool = True,
        vectors: VectorOptions | None = None,
        **options: Any,
    ) -> None:
        """Delete rows by deletion vectors, or by rewriting their files.

        Args:
            where: which rows to delete.
            by: storage of the deletion vectors; None to rewrite files, which are removed if no row remains.
            change_files: whether to write change data files if the change data feed is enabled.
            vectors: how to write the vectors.
            options: fields of `FileOptions` for rewritten files.
        """
        with self.commit("delete rows" + (f" by {by} vectors" if by else "")):
            found = self._find_rows(where)
            deleted = {path: [row for _, row in rows] for path, rows in found.items()}
            if by:
                self._write_vectors(found, vectors or VectorOptions(by))
            else:
                for path, rows in found.items():
                    stored = self.live[path]
                    kept = sorted(set(stored.live_indexes) - {index for index, _ in rows})
                    self.remove_file(stored)
                    if kept:
                        self.rewrite(stored, kept, **options)
            if change_files:
                self.write_changes([("delete", row) for rows in deleted.values() for row in rows])

    def update(
        self,
        where: Where,
        change: Callable[[PlainRow], PlainRow],
        *,
        by: VectorStorage | None = None,
        change_files: bool = True,
        **options: Any,
    ) -> None:
        """Change rows; the arguments are those of `delete`. With row tracking the rows keep their ids."""
        with self.commit("update rows" + (f" by {by} vectors" if by else "")):
            found = self._find_rows(where)
            before = [(row, change(dict(row))) for rows in found.values() for _, row in rows]
            old_files = {path: self.live[path] for path in found}
            if by:
                self._write_vectors(found, VectorOptions(by))
            for path, rows in found.items():
                stored = old_files[path]
                updates = {index: change(dict(row)) for index, row in rows}
                if by:
                    self.rewrite(stored, sorted(updates), updates, **options)
                else:
                    self.remove_file(stored)
                    self.rewrite(stored, stored.live_indexes, updates, **options)
            if change_files:
                images = [(("update_preimage", old), ("update_postimage", new)) for old, new in before]
                self.write_changes([each for pair in images for each in pair])

    def optimize(self, **options: Any) -> None:
        """Compact the files of each partition into one; no row changes."""
        with self.commit("compact the data files"):
            groups: dict[str, list[StoredFile]] = {}
            for stored in self.live.values():
                groups.setdefault(repr(stored.add["partitionValues"]), []).append(stored)
            for files in groups.values():
                rows = [row for stored in files for _, row in self.list_live_rows(stored)]
                ids, versions = list_row_ids(files)
                for stored in files:
                    self.remove_file(stored, data_change=False)
                self.write_file(rows, FileOptions(**options), data_change=False, row_ids=ids, row_versions=versions)

    def remove(self, name: str) -> None:
        """Remove the live file whose path in the log ends with a name."""
        with self.commit(f"remove {name}"):
            self.remove_file(self.find_file(name))

    def add_again(self, name: str, **more: Any) -> None:
        """Add a file again that was removed, in the state that it last had; `more` are fields of the add."""
        with self.commit(f"add {name} again"):
            stored = next(each for path, each in self.stored.items() if path.endswith(name))
            stored = replace(stored, add={**stored.add, "dataChange": True, **more})
            self.live[stored.add["path"]] = stored
            self.actions.append({"add": stored.add})

    def find_file(self, name: str) -> StoredFile:
        """Return the live file whose path in the log ends with a name."""
        return next(stored for path, stored in self.live.items() if path.endswith(name))

    # files

    def _to_rows(self, rows: _Rows) -> list[PlainRow]:
        names = [each.name for each in self.schema.fields]
        return [dict(row) if isinstance(row, dict) else dict(zip(names, row, strict=True)) for row in rows]

    def _group_by_partition(self, rows: Sequence[PlainRow]) -> list[list[PlainRow]]:
        groups: dict[str, list[PlainRow]] = {}
        for row in rows:
            groups.setdefault(repr([row[name] for name in self.partition_columns]), []).append(row)
        return list(groups.values())

    def _find_rows(self, where: Where) -> dict[str, list[tuple[int, PlainRow]]]:
        """Return position and value of the matching live rows by path."""
        matching = {
            path: [each for each in self.list_live_rows(stored) if where(each[1])] for path, stored in self.live.items()
        }
        return {path: rows for path, rows in matching.items() if rows}

    def write_file(
        self,
        rows: Sequence[PlainRow],
        options: FileOptions,
        *,
        data_change: bool = True,
        row_ids: Sequence[int | None] = (),
        row_versions: Sequence[int | None] = (),
    ) -> StoredFile:
        """Write a data file and add it; all rows have the same partition values."""
        columns = self.columns
        physical = [rename_to_physical(row, self.schema, self.mapping) for row in rows]
        partition_names = [each.name for each in columns.partition_fields]
        first = physical[0] if physical else {}
        partition = {name: first.get(name) for name in partition_names}
        stored_rows = [{each.name: row[each.name] for each in columns.data_schema.fields} for row in physical]
        extra = {}
        if any(each is not None for each in row_ids):
            extra[ROW_ID] = pa.array(row_ids, pa.int64())
        if any(each is not None for each in row_versions):
            extra[ROW_VERSION] = pa.array(row_versions, pa.int64())
        table, data = self._encode(stored_rows, partition, options, extra)
        name = options.name or f"part-{self.next_number():05d}.parquet"
        self.files.data[name] = data
        path = options.path if options.path is not None else paths.encode(name)
        style = options.style
        if style.content == "none" and {"deletionVectors", "rowTracking"} & self.features:
            style = StatisticsStyle(content="rows")
        stats = (
            options.stats if options.stats is not None else compute_statistics(table, columns.data_schema, (), style)
        )
        add: Body = {
            "path": TABLE_URI + path if options.absolute else path,
            "partitionValues": self.build_partition_texts(partition, options.texts),
            "size": len(data),
            "modificationTime": self.timestamp_ms,
            "dataChange": data_change,
            **({} if stats is None else {"stats": stats}),
            **({"clusteringProvider": "liquid"} if "clustering" in self.features else {}),
            **options.add,
        }
        stored = StoredFile(add, stored_rows, columns.data_schema, style, options.encoding, partition)
        if "rowTracking" in self.features:
            stored = track_rows(stored, self.high_water_mark + 1, self.version, row_ids, row_versions)
            self.high_water_mark += len(rows)
        self.live[add["path"]] = stored
        self.actions.append({"add": add})
        return stored

    def _encode(
        self, rows: Sequence[Body], partition: Body, options: FileOptions, extra: Mapping[str, pa.Array]
    ) -> tuple[pa.Table, bytes]:
        """Return the table with the columns of the schema, and the bytes of the file."""
        encoding = options.encoding
        fields = build_parquet_fields(self.columns.data_schema, encoding)
        table = build_rows_table(rows, [each for each in fields if each.name not in options.left_out])
        written = table
        if encoding.partition_columns:
            for each in build_parquet_fields(Struct(tuple(self.columns.partition_fields)), encoding):
                written = written.append_column(each, pa.array([partition[each.name]] * len(rows), each.type))
        if encoding.extra_column:
            written = written.append_column("beyond the schema", pa.array(["x"] * len(rows), pa.string()))
        for name, values in extra.items():
            written = written.append_column(name, values)
        written = options.change(written) if options.change else written
        return table, write_parquet(written, encoding)

    def build_partition_texts(self, partition: Body, texts: Mapping[str, str | None] | None = None) -> Body:
        """Return the texts of partition values by physical name."""
        given = texts or {}
        logical = dict(zip([each.name for each in self.columns.partition_fields], self.partition_columns, strict=True))
        return {
            each.name: given[logical[each.name]]
            if logical[each.name] in given
            else serialize_partition_value(partition[each.name], each.type)
            for each in self.columns.partition_fields
        }

    def remove_file(self, stored: StoredFile, *, data_change: bool = True, **more: Any) -> None:
        """Remove a live file in the current commit."""
        self.actions.append({"remove": build_remove(stored, self.timestamp_ms, data_change=data_change, **more)})
        del self.live[stored.add["path"]]

    def rewrite(
        self, stored: StoredFile, indexes: Sequence[int], updates: Mapping[int, PlainRow] | None = None, **options: Any
    ) -> None:
        """Write rows of a file to new files; unchanged rows keep id and commit version, changed ones their id."""
        changed = updates or {}
        old = self.read_file(stored)
        groups: dict[str, list[int]] = {}
        for index in indexes:
            row = changed.get(index, old[index])
            groups.setdefault(repr([row[name] for name in self.partition_columns]), []).append(index)
        for members in groups.values():
            ids: list[int | None] = []
            versions: list[int | None] = []
            if stored.row_ids:
                ids = [stored.row_ids[index] for index in members]
                versions = [None if index in changed else stored.row_commit_versions[index] for index in members]
            rows = [changed.get(index, old[index]) for index in members]
            self.write_file(rows, FileOptions(**options), row_ids=ids, row_versions=versions)

    # deletion vectors

    def _write_vectors(self, found: Mapping[str, Sequence[tuple[int, PlainRow]]], options: VectorOptions) -> None:
        files = [self.live[path] for path in found]
        deleted = [stored.deleted | {index for index, _ in found[stored.add["path"]]} for stored in files]
        vectors = self.build_vectors(deleted, options)
        for stored, indexes, vector in zip(files, deleted, vectors, strict=True):
            self.remove_file(stored)
            self.add_with_vector(stored, frozenset(indexes), vector)

    def add_with_vector(self, stored: StoredFile, deleted: frozenset[int], vector: Body) -> None:
        """Add a file with a deletion vector; its bounds are from then on wide, as Delta Spark writes them."""
        fields = [pa.field(each.name, arrow_type(each.type)) for each in stored.schema.fields]
        wide = stored.style if stored.style.content == "rows" else replace(stored.style, tightness="wide")
        stats = compute_statistics(build_rows_table(stored.rows, fields), stored.schema, deleted, wide)
        add = {**stored.add, "dataChange": True, "stats": stats, "deletionVector": vector}
        self.live[add["path"]] = replace(stored, add=add, deleted=deleted)
        self.actions.append({"add": add})

    def build_vectors(self, deleted: Sequence[Iterable[int]], options: VectorOptions) -> list[Body]:
        """Write deletion vectors and return their descriptors; stored ones share a file."""
        if options.storage != "inline" and not options.uuid:
            options = replace(options, uuid=build_uuid(self.next_number()))
        vectors, files = build_vectors(deleted, options)
        self.files.extra |= files
        return vectors

    # change data

    def write_changes(self, changes: Sequence[tuple[str, PlainRow]], *, folder: str = "") -> None:
        """Write change data files, one per partition, if the change data feed is enabled."""
        if not self.is_enabled(CHANGE_FEED):
            return
        groups: dict[str, list[tuple[str, PlainRow]]] = {}
        for kind, row in changes:
            groups.setdefault(repr([row[name] for name in self.partition_columns]), []).append((kind, row))
        for group in groups.values():
            physical = [rename_to_physical(row, self.schema, self.mapping) for _, row in group]
            partition = {each.name: physical[0][each.name] for each in self.columns.partition_fields}
            kinds = pa.array([kind for kind, _ in group], pa.string())
            _, data = self._encode(physical, partition, FileOptions(), {CHANGE_TYPE: kinds})
            name = f"_change_data/{folder}cdc-{self.next_number():05d}.parquet"
            self.files.data[name] = data
            body = {
                "path": paths.encode(name),
                "partitionValues": self.build_partition_texts(partition),
                "size": len(data),
                "dataChange": False,
            }
            self.actions.append({"cdc": body})
        self.changes += changes
