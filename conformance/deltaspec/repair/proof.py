"""The proof of a plan: validate the table as the plan would leave it, and compare its rows with the rows before."""

from __future__ import annotations

from collections.abc import Mapping

from pyroaring import BitMap64

from deltaspec.candidates.reference.log_reader import LoadedTable, build_state
from deltaspec.errors import DeltaspecError
from deltaspec.protocol.actions import Add
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.repair.changes import Draft
from deltaspec.repair.overlay_store import OverlayStore
from deltaspec.repair.plan_format import RowComparison
from deltaspec.repair.table_log import LiveFile, TableLog, open_table_log
from deltaspec.wire.data.column_resolution import resolve_columns
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.data.row_hashing import HASH_MODULUS, Incomparable, hash_rows, sum_hashes
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches, compute_remaining_rows
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import Store

MAX_LISTED = 1000
"""Files that a comparison names."""


class RowsDiffer(ValueError):
    """Rows differ that no repair declares."""


def build_overlay(store: Store, draft: Draft, created_ms: int) -> OverlayStore:
    """Return the table as a plan would leave it."""
    return OverlayStore(store, draft.new_files, draft.hidden_files, created_ms)


def open_overlay_log(log: TableLog, overlay: OverlayStore, draft: Draft) -> TableLog:
    """Open the log of an overlay. Raises as `open_table_log`."""
    entries = {entry.name: entry for entry in overlay.list_log()}
    return open_table_log(overlay, entries, log.version + (draft.commit is not None))


def compare_rows(
    before: TableLog, after: TableLog, draft: Draft, declared: Mapping[str, str], *, allow_outside: bool
) -> RowComparison:
    """Compare the rows of live files before and after a plan.

    A file whose path, deletion vector and partition values did not change has the same rows if the columns of the table
    are the same. Every other file is read twice, and so is every file that the plan adds again. All live files are
    compared if the plan writes a checkpoint, and otherwise the files in the commit.

    Args:
        before: the table.
        after: the overlay.
        draft: the files of the plan.
        declared: keys of the files whose rows a repair declares to differ, and their paths.
        allow_outside: whether files outside of the table may be read.

    Raises:
        RowsDiffer: other files differ.
    """
    keys = None if any(".checkpoint." in name for name in draft.writes) else draft.touched
    old, new = dict(before.iter_live(keys)), dict(after.iter_live(keys))
    readers = [_FileHasher(log, allow_outside=allow_outside) for log in (before, after)]
    reads_all = readers[0].columns != readers[1].columns
    equal = 0
    different: list[str] = []
    unread: list[str] = []
    for key in sorted({*old, *new}):
        files = old.get(key), new.get(key)
        is_touched = key in draft.touched or reads_all
        result = _compare_file(key, files, readers, is_touched=is_touched)
        if result is True:
            equal += 1
        elif key not in declared:
            what = "cannot be read" if result is None else "would change"
            raise RowsDiffer(f"the rows of {key} {what}, and no repair declares it")
        else:
            (unread if result is None else different).append(declared[key])
    return RowComparison(equal_files=equal, different_files=different[:MAX_LISTED], not_compared=unread[:MAX_LISTED])


def _compare_file(
    key: str, files: tuple[LiveFile | None, LiveFile | None], readers: list[_FileHasher], *, is_touched: bool
) -> bool | None:
    """Return whether a file has the same rows before and after; None if it cannot be read."""
    first, second = files
    if first is None or second is None:
        return False
    if not is_touched:
        return _get_row_facts(first.add) == _get_row_facts(second.add)
    hashes = [reader.hash(key, file.add) for reader, file in zip(readers, (first, second), strict=True)]
    return None if None in hashes else hashes[0] == hashes[1]


def _get_row_facts(add: Add) -> tuple[object, ...]:
    return add.deletion_vector, {name: value or None for name, value in add.partition_values.items()}


class _FileHasher:
    """Computes a hash of the rows of a file at one version, which does not depend on their order."""

    def __init__(self, log: TableLog, *, allow_outside: bool) -> None:
        self._access = DataAccess(log.store, allow_outside=allow_outside)
        self._state: LoadedTable = build_state(log.snapshot)
        self._vectors = DeletionVectorReader(self._access)
        fields = self._state.schema.fields
        self.columns = (
            [(each.name, each.type, physical_name(each, self._state.mapping)) for each in fields],
            self._state.partition_columns,
            self._state.mapping,
        )
        """What determines how files are read."""

    def hash(self, key: str, add: Add) -> tuple[int, int] | None:
        """Return the number of rows of a file and the sum of their hashes; None if it cannot be read."""
        try:
            deleted = set() if add.deletion_vector is None else set(self._vectors.rows(add.deletion_vector))
            with RowBatches(self._access, key) as source:
                return self._hash(source, add, BitMap64(deleted))
        except (DeltaspecError, UnreadableRows, Incomparable, ValueError, OSError):
            return None

    def _hash(self, source: RowBatches, add: Add, deleted: BitMap64) -> tuple[int, int]:
        constant = repr(sorted((name, value or None) for name, value in add.partition_values.items()))
        partitions = set(add.partition_values)
        fields = self._state.schema.fields
        columns = [
            column
            for field, column in zip(
                fields, resolve_columns(source.schema, self._state.schema, self._state.mapping), strict=True
            )
            if physical_name(field, self._state.mapping) not in partitions
        ]
        names = sorted({source.schema.names[each.place] for each in columns if each.place is not None})
        chosen = compute_remaining_rows(source.row_count, deleted)
        if not names:
            return len(chosen), 0
        rows = total = 0
        for batch in source.read(names, chosen):
            arrays = [
                (each, None if each.place is None else batch.columns[source.schema.names[each.place]])
                for each in columns
            ]
            total = (total + sum_hashes(hash_rows(arrays, batch.rows, constant))) % HASH_MODULUS
            rows += batch.rows
        return rows, total
