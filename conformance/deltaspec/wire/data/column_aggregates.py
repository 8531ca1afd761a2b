"""Check the rows of one top-level column: unexpected nulls, strings that are not UTF-8, values out of range.

Whole batches are checked at once; single rows are searched only in batches with a violation.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive, Struct, get_type_name
from deltaspec.wire.data.column_resolution import FileColumn, is_bytes, is_text, map_entries_as_lists
from deltaspec.wire.data.leaf_aggregates import LeafAggregate, type_limits
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec.wire.data.stored_partition_values import PartitionValueComparison
from deltaspec.wire.data.string_bytes import is_ascii
from deltaspec.wire.parquet.dictionary_columns import select_distinct_values

Check = Literal["not null", "UTF-8", "range", "partition value", "change type"]
ToRows = Callable[[list[int]], list[int]]
_MAX_SHOWN = 100
_STORED_BITS = 32
"""Width in which Parquet stores bytes, shorts and integers."""


class RowCheck(msgspec.Struct):
    """A check of a column of a data file, and the rows that violate it."""

    check: Check
    column: FileColumn
    violating_rows: int = 0
    first_row: int | None = None
    """Index in the file, from 0, including deleted rows."""
    expected: str | None = None
    found: str | None = None
    """First violating value, as text."""

    def record_violations(self, rows: Iterable[int], found: str | None) -> None:
        """Record violating rows of the file; `found` is the value of the first."""
        numbers = set(rows)
        if numbers and self.first_row is None:
            self.first_row, self.found = min(numbers), found if found is None else found[:_MAX_SHOWN]
        self.violating_rows += len(numbers)


class NotNullAggregate:
    """Rows in which a column outside of the schema is not null, collected batch by batch."""

    def __init__(self, column: FileColumn) -> None:
        self.column = column
        self.check = RowCheck("change type", column)

    def take(self, array: pa.Array, offset: int, keep: pa.BooleanArray | None) -> None:
        """Add a batch of rows, with the arguments of `ColumnAggregate.take`."""
        is_set = array.is_valid() if keep is None else pc.and_(array.is_valid(), keep)
        rows = pc.indices_nonzero(is_set).to_pylist()
        self.check.record_violations((offset + row for row in rows), str(array[rows[0]].as_py()) if rows else None)


class ColumnAggregate:
    """Leaf values and checks of one top-level column of a data file, collected batch by batch."""

    def __init__(
        self, column: FileColumn, partition: tuple[DataType, str | None] | None = None, *, is_partition: bool = False
    ) -> None:
        """`partition`: type and text of the partition value, if it is a partition column with a value in the log."""
        self.column = column
        self._is_partition = is_partition
        self._leaves: dict[tuple[str, ...], LeafAggregate] = {}
        self._checks: dict[tuple[str, tuple[str, ...]], RowCheck] = {}
        self._partition = None if partition is None else PartitionValueComparison(*partition)
        self._prepare(column)

    def _prepare(self, column: FileColumn, unread: str | None = None, *, optional: bool = False) -> None:
        """Create a leaf for every column that is not a struct, and a check for every requirement that rows can violate.

        `optional`: a parent struct is nullable.
        """
        is_struct = isinstance(column.kind, Struct)
        if is_struct and column.file_type is not None and not pa.types.is_struct(column.file_type):
            unread = f"the file stores {column.file_type}"
        if not is_struct and not column.inside and not self._is_partition:
            self._leaves[column.path] = LeafAggregate(column, unread)
        if unread is None and column.place is not None:
            self._prepare_checks(column)
            # only the rows show whether such a struct exists: its parents may be null, and containers may be empty
            for member in _find_missing_members(column) if optional or column.nullable or column.inside else ():
                self._check("not null", member)
        for member in column.members:
            self._prepare(member, unread, optional=optional or column.nullable)

    def _prepare_checks(self, column: FileColumn) -> None:
        if not column.nullable and column.kind != Primitive("void") and not self._is_partition:
            self._check("not null", column)
        if _is_stored_text(column):
            self._check("UTF-8", column)
        if _get_limits(column) is not None and not column.inside:
            self._check("range", column).expected = get_type_name(column.kind)
        if self._partition is not None and column is self.column and self._partition.is_comparable:
            self._check("partition value", column).expected = self._partition.text

    def _check(self, check: Check, column: FileColumn) -> RowCheck:
        return self._checks.setdefault((check, column.path), RowCheck(check, column))

    def take(self, array: pa.Array, offset: int, keep: pa.BooleanArray | None) -> None:
        """Add a batch of rows.

        Args:
            array: the column, with every row of the batch; strings also as a dictionary.
            offset: index in the file of the first row of the batch.
            keep: whether each row is not deleted; None if none is.

        Raises:
            ArrowInvalid: a string of a dictionary is not UTF-8.
        """
        batch = _Batch(offset, keep)
        self._visit(self.column, array, None, batch, batch.rows)
        if self._partition is not None and ("partition value", self.column.path) in self._checks:
            check = self._checks["partition value", self.column.path]
            different = self._partition.differences(array)
            rows = [offset + row for row in batch.remaining([row for row, _ in different])]
            texts = {offset + row: text for row, text in different}
            check.record_violations(rows, texts[min(rows)] if rows else None)

    def _visit(
        self, column: FileColumn, array: pa.Array, parent: pa.Array | None, batch: "_Batch", to_rows: ToRows
    ) -> None:
        leaf = self._leaves.get(column.path)
        distinct = select_distinct_values(array)
        found = None if leaf is None else leaf.take(array, batch.keep, distinct)
        if found is not None:
            self._check_range(column, array, found, batch, to_rows)
        if ("not null", column.path) in self._checks:
            self._check_nulls(column, array, parent, batch, to_rows)
        if ("UTF-8", column.path) in self._checks:
            self._check_utf8(column, array, distinct, batch, to_rows)
        if pa.types.is_struct(array.type) and isinstance(column.kind, Struct):
            children = array.flatten()
            for member in column.members:
                if member.place is not None:
                    self._visit(member, children[member.place], array, batch, to_rows)
                elif ("not null", member.path) in self._checks:
                    rows = batch.preserved_rows(to_rows(pc.indices_nonzero(array.is_valid()).to_pylist()))
                    self._checks["not null", member.path].record_violations(
                        rows, "null, because the file does not have the column"
                    )
        elif column.members:
            self._visit_container(column, array, batch, to_rows)

    def _visit_container(self, column: FileColumn, array: pa.Array, batch: "_Batch", to_rows: ToRows) -> None:
        """Visit elements of an array, or keys and values of a map; only nulls and strings are checked there."""
        if not any(_has_nested_check(member, self._checks) for member in column.members):
            return
        parts = [array.keys, array.items] if pa.types.is_map(array.type) else [None]
        for member, part in zip(column.members, parts, strict=True):
            lists = array if part is None else map_entries_as_lists(array, part)

            def to_file_rows(positions: list[int], lists: pa.Array = lists) -> list[int]:
                return to_rows(pc.list_parent_indices(lists).take(pa.array(positions, pa.int64())).to_pylist())

            self._visit(member, lists.flatten(), None, batch, to_file_rows)

    def _check_nulls(
        self, column: FileColumn, array: pa.Array, parent: pa.Array | None, batch: "_Batch", to_rows: ToRows
    ) -> None:
        if array.null_count == (0 if parent is None else parent.null_count):
            return  # members of a null parent are null, which is legal
        broken = array.is_null()
        if parent is not None:
            broken = pc.and_(broken, parent.is_valid())
        rows = batch.preserved_rows(to_rows(pc.indices_nonzero(broken).to_pylist()))
        self._checks["not null", column.path].record_violations(rows, "null")

    def _check_utf8(
        self, column: FileColumn, array: pa.Array, distinct: pa.Array, batch: "_Batch", to_rows: ToRows
    ) -> None:
        if is_ascii(distinct):
            return
        if pa.types.is_dictionary(array.type):
            distinct.validate(full=True)  # if it fails, the strings are read, in batches that limit memory
            return
        try:
            if is_text(array.type):
                array.validate(full=True)
                return
            array.cast(pa.large_string() if pa.types.is_large_binary(array.type) else pa.string())
        except pa.ArrowInvalid:
            values = array.cast(pa.large_binary()).to_pylist()
            bad = [place for place, value in enumerate(values) if value is not None and not _is_utf8(value)]
            rows = to_rows(bad)
            remaining = set(batch.preserved_rows(rows))
            first = next((values[place] for place, row in zip(bad, rows, strict=True) if row in remaining), None)
            self._checks["UTF-8", column.path].record_violations(remaining, repr(first))

    def _check_range(
        self, column: FileColumn, array: pa.Array, ends: tuple[Any, Any], batch: "_Batch", to_rows: ToRows
    ) -> None:
        limit = _get_limits(column)
        if limit is None or (limit[0] <= ends[0] and ends[1] <= limit[1]):
            return
        values = array.to_pylist()
        out_of_range = [
            place for place, value in enumerate(values) if value is not None and not _is_within(value, limit)
        ]
        rows = batch.preserved_rows(to_rows(out_of_range))
        first = min(rows, default=0) - batch.offset
        self._checks["range", column.path].record_violations(rows, str(values[first]) if rows else None)

    # results

    def leaves(self, rows: int, valid_rows: int) -> list[LeafValues]:
        """Return the leaf values; `rows` is the number of rows of the file."""
        return [leaf.values(rows, valid_rows) for leaf in self._leaves.values()]

    def unread_leaves(self, reason: str) -> list[LeafValues]:
        """Return the leaf values if the rows could not be read."""
        return [LeafValues(path, 0, 0, unread=reason) for path in self._leaves]

    def checks(self) -> list[RowCheck]:
        """Return all checks with their violations."""
        return list(self._checks.values())


def _find_missing_members(column: FileColumn) -> list[FileColumn]:
    """Return required members of a struct that the file does not have; empty if the file has unknown members."""
    kind = column.file_type
    if kind is None or not pa.types.is_struct(kind):
        return []
    absent = [member for member in column.members if member.place is None]
    if kind.num_fields > len(column.members) - len(absent):
        return []
    return [member for member in absent if not member.nullable and member.kind != Primitive("void")]


class _Batch:
    """Position of a batch in its file, and its rows that are not deleted."""

    def __init__(self, offset: int, keep: pa.BooleanArray | None) -> None:
        self.offset = offset
        self.keep = keep

    def rows(self, positions: list[int]) -> list[int]:
        """Return the row indexes in the file for positions in the batch."""
        return [self.offset + place for place in positions]

    def remaining(self, positions: list[int]) -> list[int]:
        """Return the positions that are not deleted."""
        return positions if self.keep is None else [place for place in positions if self.keep[place].as_py()]

    def preserved_rows(self, rows: list[int]) -> list[int]:
        """Return the rows of the file that are not deleted."""
        return self.rows(self.remaining([row - self.offset for row in rows]))


def _has_nested_check(column: FileColumn, checks: dict[tuple[str, tuple[str, ...]], RowCheck]) -> bool:
    return any(path[: len(column.path)] == column.path for _, path in checks)


def _is_stored_text(column: FileColumn) -> bool:
    kind = column.file_type
    if kind is None or column.kind != Primitive("string"):
        return False
    return is_text(kind) or (is_bytes(kind) and not pa.types.is_fixed_size_binary(kind))


def _get_limits(column: FileColumn) -> tuple[Any, Any] | None:
    """Return the limits of the table's type; None if there are none, or the type of the file is wrong already."""
    limit, kind = type_limits(column.kind), column.file_type
    if limit is None or kind is None:
        return None
    if isinstance(column.kind, Decimal):
        precision, scale = column.kind.precision, column.kind.scale
        fits = pa.types.is_decimal(kind) and kind.scale <= scale and kind.precision - kind.scale <= precision - scale
    else:
        fits = pa.types.is_signed_integer(kind) and (kind.bit_width <= _STORED_BITS or column.kind == Primitive("long"))
    return limit if fits else None


def _is_within(value: Any, limit: tuple[Any, Any]) -> bool:
    return bool(limit[0] <= value <= limit[1])


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
