"""What the rows of one top-level column break: nulls where none may be, texts that are no UTF-8, values beyond a type.

Batches are counted as a whole; single rows are looked at only in batches that hold a fault.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.model.schema.data_types import DataType, Decimal, Primitive, Struct, get_type_name
from deltaspec.wire.data.column_resolution import FileColumn, is_bytes, is_text, map_entries_as_lists
from deltaspec.wire.data.leaf_aggregates import LeafAggregate, type_limits
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec.wire.data.stored_partition_values import PartitionValueComparison

Check = Literal["not null", "UTF-8", "range", "partition value", "change type"]
ToRows = Callable[[list[int]], list[int]]
_SHOWN = 100
_STORED_BITS = 32
"""In which Parquet stores bytes, shorts and integers alike."""


@dataclass
class RowCheck:
    """What a column of a data file is held to, and the rows that break it."""

    check: Check
    column: FileColumn
    violating_rows: int = 0
    first_row: int | None = None
    """Counted from 0 in the file, deleted rows included."""
    expected: str | None = None
    found: str | None = None
    """The first value that breaks it, as text."""

    def breaks(self, rows: Iterable[int], found: str | None) -> None:
        """Enter rows of the file that break it; `found` is the value of the first."""
        numbers = set(rows)
        if numbers and self.first_row is None:
            self.first_row, self.found = min(numbers), found if found is None else found[:_SHOWN]
        self.violating_rows += len(numbers)


class NotNullAggregate:
    """A column that no schema has, batch by batch: the rows in which it is not null."""

    def __init__(self, column: FileColumn) -> None:
        self.column = column
        self.check = RowCheck("change type", column)

    def take(self, array: pa.Array, offset: int, keep: pa.BooleanArray | None) -> None:
        """Add a batch of rows; arguments as of `ColumnAggregate.take`."""
        there = array.is_valid() if keep is None else pc.and_(array.is_valid(), keep)
        rows = pc.indices_nonzero(there).to_pylist()
        self.check.breaks((offset + row for row in rows), str(array[rows[0]].as_py()) if rows else None)


class ColumnAggregate:
    """One top-level column of a data file, batch by batch: its leaves, and its checks."""

    def __init__(
        self, column: FileColumn, partition: tuple[DataType, str | None] | None = None, *, is_partition: bool = False
    ) -> None:
        """`partition`: type and text of the partition value, where it is a partition column and the log has one."""
        self.column = column
        self._is_partition = is_partition
        self._leaves: dict[tuple[str, ...], LeafAggregate] = {}
        self._checks: dict[tuple[str, tuple[str, ...]], RowCheck] = {}
        self._partition = None if partition is None else PartitionValueComparison(*partition)
        self._prepare(column)

    def _prepare(self, column: FileColumn, unread: str | None = None, *, optional: bool = False) -> None:
        """A leaf for every column that is no struct, a check for everything that the rows can break.

        `optional`: a struct above may be null. Only then rows decide whether the file may lack a column that may not.
        """
        is_struct = isinstance(column.kind, Struct)
        if is_struct and column.file_type is not None and not pa.types.is_struct(column.file_type):
            unread = f"the file holds {column.file_type}"
        if not is_struct and not column.inside and not self._is_partition:
            self._leaves[column.path] = LeafAggregate(column, unread)
        if unread is None and column.place is not None:
            self._prepare_checks(column)
        if unread is None and column.place is not None and not column.inside:
            for member in _absent_members(column) if optional or column.nullable else ():
                self._check("not null", member)
        for member in column.members:
            self._prepare(member, unread, optional=optional or column.nullable)

    def _prepare_checks(self, column: FileColumn) -> None:
        if not column.nullable and column.kind != Primitive("void") and not self._is_partition:
            self._check("not null", column)
        if _holds_text(column):
            self._check("UTF-8", column)
        if _range_of(column) is not None and not column.inside:
            self._check("range", column).expected = get_type_name(column.kind)
        if self._partition is not None and column is self.column and self._partition.is_comparable:
            self._check("partition value", column).expected = self._partition.text

    def _check(self, check: Check, column: FileColumn) -> RowCheck:
        return self._checks.setdefault((check, column.path), RowCheck(check, column))

    def take(self, array: pa.Array, offset: int, keep: pa.BooleanArray | None) -> None:
        """Add a batch of rows.

        Args:
            array: the column, every row of the batch.
            offset: row of the file that the batch begins with.
            keep: rows that the deletion vector leaves; None for all.
        """
        batch = _Batch(offset, keep)
        self._visit(self.column, array, None, batch, batch.rows)
        if self._partition is not None and ("partition value", self.column.path) in self._checks:
            check = self._checks["partition value", self.column.path]
            different = self._partition.differences(unwrap_array(array))
            rows = [offset + row for row in batch.kept([row for row, _ in different])]
            texts = {offset + row: text for row, text in different}
            check.breaks(rows, texts[min(rows)] if rows else None)

    def _visit(
        self, column: FileColumn, array: pa.Array, parent: pa.Array | None, batch: "_Batch", to_rows: ToRows
    ) -> None:
        array = unwrap_array(array)
        leaf = self._leaves.get(column.path)
        found = None if leaf is None else leaf.take(array, batch.keep)
        if found is not None:
            self._look_at_range(column, array, found, batch, to_rows)
        if ("not null", column.path) in self._checks:
            self._look_at_nulls(column, array, parent, batch, to_rows)
        if ("UTF-8", column.path) in self._checks:
            self._look_at_text(column, array, batch, to_rows)
        if pa.types.is_struct(array.type) and isinstance(column.kind, Struct):
            children = array.flatten()
            for member in column.members:
                if member.place is not None:
                    self._visit(member, children[member.place], array, batch, to_rows)
                elif ("not null", member.path) in self._checks:
                    rows = batch.preserved_rows(to_rows(pc.indices_nonzero(array.is_valid()).to_pylist()))
                    self._checks["not null", member.path].breaks(rows, "null, for the file lacks the column")
        elif column.members:
            self._visit_container(column, array, batch, to_rows)

    def _visit_container(self, column: FileColumn, array: pa.Array, batch: "_Batch", to_rows: ToRows) -> None:
        """Elements of an array, keys and values of a map; there only nulls and texts are looked at."""
        if not any(_checked_below(member, self._checks) for member in column.members):
            return
        parts = [array.keys, array.items] if pa.types.is_map(array.type) else [None]
        for member, part in zip(column.members, parts, strict=True):
            lists = array if part is None else map_entries_as_lists(array, part)

            def rows_of(places: list[int], lists: pa.Array = lists) -> list[int]:
                return to_rows(pc.list_parent_indices(lists).take(pa.array(places, pa.int64())).to_pylist())

            self._visit(member, lists.flatten(), None, batch, rows_of)

    def _look_at_nulls(
        self, column: FileColumn, array: pa.Array, parent: pa.Array | None, batch: "_Batch", to_rows: ToRows
    ) -> None:
        if array.null_count == (0 if parent is None else parent.null_count):
            return  # a null parent makes its members null, which is no fault of theirs
        broken = array.is_null()
        if parent is not None:
            broken = pc.and_(broken, parent.is_valid())
        rows = batch.preserved_rows(to_rows(pc.indices_nonzero(broken).to_pylist()))
        self._checks["not null", column.path].breaks(rows, "null")

    def _look_at_text(self, column: FileColumn, array: pa.Array, batch: "_Batch", to_rows: ToRows) -> None:
        try:
            if is_text(array.type):
                array.validate(full=True)
                return
            array.cast(pa.large_string() if pa.types.is_large_binary(array.type) else pa.string())
        except pa.ArrowInvalid:
            values = array.cast(pa.large_binary()).to_pylist()
            bad = [place for place, value in enumerate(values) if value is not None and not _is_utf8(value)]
            rows = to_rows(bad)
            kept = set(batch.preserved_rows(rows))
            first = next((values[place] for place, row in zip(bad, rows, strict=True) if row in kept), None)
            self._checks["UTF-8", column.path].breaks(kept, repr(first))

    def _look_at_range(
        self, column: FileColumn, array: pa.Array, ends: tuple[Any, Any], batch: "_Batch", to_rows: ToRows
    ) -> None:
        limit = _range_of(column)
        if limit is None or (limit[0] <= ends[0] and ends[1] <= limit[1]):
            return
        values = array.to_pylist()
        beyond = [place for place, value in enumerate(values) if value is not None and not _within(value, limit)]
        rows = batch.preserved_rows(to_rows(beyond))
        first = min(rows, default=0) - batch.offset
        self._checks["range", column.path].breaks(rows, str(values[first]) if rows else None)

    # what was found

    def leaves(self, rows: int, valid_rows: int) -> list[LeafValues]:
        """Its leaves, of a file with so many rows."""
        return [leaf.values(rows, valid_rows) for leaf in self._leaves.values()]

    def unread_leaves(self, reason: str) -> list[LeafValues]:
        """The same where its rows could not be read."""
        return [LeafValues(path, 0, 0, unread=reason) for path in self._leaves]

    def checks(self) -> list[RowCheck]:
        """Everything that its rows could break, and how many do."""
        return list(self._checks.values())


def _absent_members(column: FileColumn) -> list[FileColumn]:
    """Members of a struct that may not be null and that the file has under no name: it has no member but known ones."""
    kind = column.file_type
    if kind is None or not pa.types.is_struct(kind):
        return []
    absent = [member for member in column.members if member.place is None]
    if kind.num_fields > len(column.members) - len(absent):
        return []
    return [member for member in absent if not member.nullable and member.kind != Primitive("void")]


class _Batch:
    """Where a batch stands in its file, and which of its rows are left."""

    def __init__(self, offset: int, keep: pa.BooleanArray | None) -> None:
        self.offset = offset
        self.keep = keep

    def rows(self, places: list[int]) -> list[int]:
        """Rows of the file, of places in the batch."""
        return [self.offset + place for place in places]

    def kept(self, places: list[int]) -> list[int]:
        """Those places that the deletion vector leaves."""
        return places if self.keep is None else [place for place in places if self.keep[place].as_py()]

    def preserved_rows(self, rows: list[int]) -> list[int]:
        """Those rows of the file that the deletion vector leaves."""
        return self.rows(self.kept([row - self.offset for row in rows]))


def unwrap_array(array: pa.Array) -> pa.Array:
    """The values themselves: the storage of an extension, a dictionary's values in its place."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        else:
            return array


def _checked_below(column: FileColumn, checks: dict[tuple[str, tuple[str, ...]], RowCheck]) -> bool:
    return any(path[: len(column.path)] == column.path for _, path in checks)


def _holds_text(column: FileColumn) -> bool:
    kind = column.file_type
    if kind is None or column.kind != Primitive("string"):
        return False
    return is_text(kind) or (is_bytes(kind) and not pa.types.is_fixed_size_binary(kind))


def _range_of(column: FileColumn) -> tuple[Any, Any] | None:
    """What values of the table's type are between; None where the file has a type that is a fault by itself."""
    limit, kind = type_limits(column.kind), column.file_type
    if limit is None or kind is None:
        return None
    if isinstance(column.kind, Decimal):
        precision, scale = column.kind.precision, column.kind.scale
        fits = pa.types.is_decimal(kind) and kind.scale <= scale and kind.precision - kind.scale <= precision - scale
    else:
        fits = pa.types.is_signed_integer(kind) and (kind.bit_width <= _STORED_BITS or column.kind == Primitive("long"))
    return limit if fits else None


def _within(value: Any, limit: tuple[Any, Any]) -> bool:
    return bool(limit[0] <= value <= limit[1])


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
