"""Operations that add, delete, change and move the rows of a written table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from deltaspec_generators.data_files.file_actions import VectorOptions, VectorStorage, list_kept_row_ids
from deltaspec_generators.data_files.stored_files import Row, StoredFile
from deltaspec_generators.table_history.columns import rename_to_physical
from deltaspec_generators.table_history.file_options import FileOptions
from deltaspec_generators.table_history.written_history import PlainRow, Where, WrittenHistory
from deltaspec_generators.tables.features import CHANGE_FEED

_Item = TypeVar("_Item")
_Rows = Iterable[Sequence[Any] | PlainRow]


class WrittenRows(WrittenHistory):
    """Written table whose rows can be changed."""

    def append(self, rows: _Rows, **options: Any) -> list[StoredFile]:
        """Append rows, one file per partition.

        Args:
            rows: plain values in the order of the columns, or by name.
            options: fields of `FileOptions`.
        """
        values = self._to_rows(rows)
        with self.commit(f"append {len(values)} rows"):
            return [
                self.write_file(group, FileOptions(**options))
                for group in self._group_by_partition(values, lambda row: row) or [values]
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
            where: condition for the rows to delete.
            by: storage of the deletion vectors; None to rewrite files, which are removed if no row remains.
            change_files: whether to write change data files if the change data feed is enabled.
            vectors: how to write the vectors.
            options: fields of `FileOptions` for rewritten files.
        """
        with self.commit("delete rows" + (f" by {by} vectors" if by else "")):
            found = self._find_rows(where)
            deleted = {path: [row for _, row in rows] for path, rows in found.items()}
            if by:
                self._delete_by_vectors(found, vectors or VectorOptions(by))
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
        """Change rows; takes the arguments of `delete`. With row tracking the rows keep their ids."""
        with self.commit("update rows" + (f" by {by} vectors" if by else "")):
            found = self._find_rows(where)
            before = [(row, change(dict(row))) for rows in found.values() for _, row in rows]
            old_files = {path: self.live[path] for path in found}
            if by:
                self._delete_by_vectors(found, VectorOptions(by))
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
                self.merge_files(files, FileOptions(**options))

    def remove(self, name: str) -> None:
        """Remove the live file whose path in the log ends with a name."""
        with self.commit(f"remove {name}"):
            self.remove_file(self.find_file(name))

    def add_again(self, name: str, **more: Any) -> None:
        """Add a file again that was removed, in the state that it last had; `more` are fields of the add."""
        with self.commit(f"add {name} again"):
            self.add_stored_file(next(each for path, each in self.stored.items() if path.endswith(name)), **more)

    def find_file(self, name: str) -> StoredFile:
        """Return the live file whose path in the log ends with a name."""
        return next(stored for path, stored in self.live.items() if path.endswith(name))

    # files

    def _to_rows(self, rows: _Rows) -> list[PlainRow]:
        names = [each.name for each in self.schema.fields]
        return [dict(row) if isinstance(row, dict) else dict(zip(names, row, strict=True)) for row in rows]

    def _group_by_partition(self, rows: Iterable[_Item], get_row: Callable[[_Item], PlainRow]) -> list[list[_Item]]:
        """Group items by the partition values of their rows."""
        groups: dict[str, list[_Item]] = {}
        for each in rows:
            row = get_row(each)
            groups.setdefault(repr([row[name] for name in self.partition_columns]), []).append(each)
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
        row_ids: Sequence[int | None] = (),
        row_versions: Sequence[int | None] = (),
    ) -> StoredFile:
        """Write a data file and add it; all rows have the same partition values."""
        physical, partition = self._split_partition(rows)
        return self.add_file(physical, partition, options, row_ids=row_ids, row_versions=row_versions)

    def _split_partition(self, rows: Sequence[PlainRow]) -> tuple[list[Row], Row]:
        """Return rows of one partition with physical names and without partition columns, and the partition values."""
        columns = self.columns
        physical = [rename_to_physical(row, self.schema, self.mapping) for row in rows]
        first = physical[0] if physical else {}
        partition = {each.name: first.get(each.name) for each in columns.partition_fields}
        return [{each.name: row[each.name] for each in columns.data_schema.fields} for row in physical], partition

    def rewrite(
        self, stored: StoredFile, indexes: Sequence[int], updates: Mapping[int, PlainRow] | None = None, **options: Any
    ) -> None:
        """Write rows of a file to new files; unchanged rows keep id and commit version, changed ones their id."""
        rows = {index: (updates or {}).get(index, row) for index, row in enumerate(self.read_file(stored))}
        for members in self._group_by_partition(indexes, rows.__getitem__):
            ids, versions = list_kept_row_ids(stored, members, updates or {})
            chosen = [rows[index] for index in members]
            self.write_file(chosen, FileOptions(**options), row_ids=ids, row_versions=versions)

    def _delete_by_vectors(self, found: Mapping[str, Sequence[tuple[int, PlainRow]]], options: VectorOptions) -> None:
        deleted = {path: [index for index, _ in rows] for path, rows in found.items()}
        self.delete_by_vectors(deleted, options, wide=True)

    def write_changes(self, changes: Sequence[tuple[str, PlainRow]], *, folder: str = "") -> None:
        """Write change data files, one per partition, if the change data feed is enabled."""
        if not self.is_enabled(CHANGE_FEED):
            return
        for group in self._group_by_partition(changes, itemgetter(1)):
            rows, partition = self._split_partition([row for _, row in group])
            kinds = [kind for kind, _ in group]
            self.add_change_file(list(zip(kinds, rows, strict=True)), partition, FileOptions(), folder=folder)
        self.changes += changes
