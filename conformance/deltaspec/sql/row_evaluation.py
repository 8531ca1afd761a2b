"""Holds the rows of a data file to expressions: which of them break one.

The columns that all of a table's expressions speak of are read together, batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl
import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.model.schema.data_types import Struct
from deltaspec.sql.evaluation import compile_expression
from deltaspec.sql.expression_columns import ExpressionColumns
from deltaspec.sql.terms import BOOLEAN, VOID, Guard, Undecided
from deltaspec.sql.tree import Expression
from deltaspec.wire.data.legacy_calendar import find_first_unambiguous_values
from deltaspec.wire.parquet.row_batches import Batch, RowBatches, compute_remaining_rows, iter_empty_batches

_MOST_NULL_OR_EMPTY = 3
_MOST_BYTES = 256 << 20
"""Of the values of one expression, with what they are made of, on the rows of one batch."""


@dataclass
class ConstraintResult:
    """How the rows of a file stand to one expression."""

    rows: int = 0
    """Rows that the deletion vector leaves."""
    violating_rows: int = 0
    """Rows of which it is false or null."""
    first_row: int | None = None
    """Counted from 0 in the file, deleted rows included."""
    found: str | None = None
    """The values of that row which it speaks of."""
    undecided: str | None = None
    """Why this cannot be told without Spark; what stands above says nothing then."""
    is_row_dependent: bool = False
    """It is the rows of this file that leave it undecided."""


def evaluate_constraints(
    source: RowBatches,
    conditions: Sequence[tuple[Expression, bool]],
    schema: Struct,
    mapping: str | None,
    partition_columns: Sequence[str],
    partition_values: Mapping[str, str | None],
    deleted: BitMap64 | None,
) -> list[ConstraintResult]:
    """How the rows of a file stand to expressions that are to be true of each.

    Args:
        source: the file.
        conditions: of type boolean; with each, whether it binds rows as they are written alone. Such a one is kept
            where it is true of null or of an empty string, in a partition column for which the log has null.
        schema: of the table.
        mapping: `id`, `name` or None.
        partition_columns: logical names.
        partition_values: by physical name, as the log has them.
        deleted: rows that a deletion vector takes away.

    Raises:
        UnreadableRows, StorageError: the rows cannot be read.
    """
    held = [ConstraintResult() for _ in conditions]
    try:
        columns = ExpressionColumns(
            schema,
            mapping,
            partition_columns,
            partition_values,
            source.schema,
            find_first_unambiguous_values(source.parquet),
        )
    except Undecided as fault:
        return [ConstraintResult(undecided=str(fault)) for _ in conditions]
    tests = [
        _Test(condition, columns, result, as_written=as_written)
        for (condition, as_written), result in zip(conditions, held, strict=True)
    ]
    if not any(test.goes_on for test in tests):
        return held
    chosen = None if deleted is None else compute_remaining_rows(source.row_count, deleted)
    for batch in _batches(source, columns.names, chosen):
        if batch.rows and any(test.goes_on for test in tests):
            _test(tests, columns, batch)
    return held


def _batches(source: RowBatches, names: list[str], chosen: BitMap64 | None) -> Iterator[Batch]:
    return source.read(names, chosen) if names else iter_empty_batches(source.row_count, chosen)


class _Reading:
    """One expression, compiled for the columns of one file and values of its partition columns."""

    def __init__(self, tree: Expression, columns: ExpressionColumns, emptied: Iterable[str]) -> None:
        self.undecided: str | None = None
        self.fails = pl.lit(True)
        self.steps: Iterable[tuple[str, pl.Expr]] = ()
        self.guards: Iterable[Guard] = ()
        before = len(columns.guards)
        columns.emptied = frozenset(emptied)
        try:
            compiled = compile_expression(tree, columns)
            if compiled.term.type not in (BOOLEAN, VOID):
                raise Undecided("it is no condition")
        except Undecided as fault:
            self.undecided = str(fault)
            return
        finally:
            columns.emptied = frozenset()
        self.steps = compiled.steps
        self.fails = ~compiled.term.values.cast(pl.Boolean).fill_null(False)
        self.guards = (*compiled.guards, *columns.guards[before:])

    def broken(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows that break it. Raises `Undecided`."""
        if self.undecided is not None:
            raise Undecided(self.undecided)
        for name, values in self.steps:
            frame = frame.with_columns(values.alias(name))
            if frame.estimated_size() > _MOST_BYTES:
                raise Undecided("its values take too much memory")
        for guard in self.guards:
            if not frame.select(guard.holds.fill_null(True).all().alias("holds")).item():
                raise Undecided(f"in some rows, {guard.why}")
        return frame.filter(self.fails)


class _Test:
    """One expression in every reading that its rows may have been written by; each row has to keep one of them."""

    def __init__(
        self, tree: Expression, columns: ExpressionColumns, held: ConstraintResult, *, as_written: bool
    ) -> None:
        self.held = held
        try:
            possibly_empty = columns.null_or_empty(tree) if as_written else []
        except Undecided as fault:
            held.undecided = str(fault)
            return
        if len(possibly_empty) > _MOST_NULL_OR_EMPTY:
            held.undecided = f"{len(possibly_empty)} partition columns may have been null or empty"
            return
        choices = [each for number in range(len(possibly_empty) + 1) for each in combinations(possibly_empty, number)]
        self.readings = [_Reading(tree, columns, emptied) for emptied in choices]
        held.undecided = self.readings[0].undecided

    @property
    def goes_on(self) -> bool:
        return self.held.undecided is None

    def give_up(self, why: str) -> None:
        """Note that the rows at hand leave it undecided."""
        if self.held.undecided is None:
            self.held.undecided, self.held.is_row_dependent = why, True

    def take(self, frame: pl.DataFrame, columns: ExpressionColumns, batch: Batch) -> None:
        """Add the rows of a batch. Raises `Undecided`."""
        for reading in self.readings:
            if not frame.is_empty():
                frame = reading.broken(frame)
        self.held.rows += batch.rows
        broken = frame["row"]
        if broken.is_empty():
            return
        if self.held.first_row is None:
            first = int(broken[0])
            self.held.first_row = _row_of_file(batch, first)
            self.held.found = columns.shown(batch.columns, first) or None
        self.held.violating_rows += len(broken)


def _test(tests: list[_Test], columns: ExpressionColumns, batch: Batch) -> None:
    try:
        frame = columns.frame(batch.columns, batch.rows)
    except Undecided as fault:
        for test in tests:
            test.give_up(str(fault))
        return
    for test in tests:
        if test.goes_on:
            try:
                test.take(frame, columns, batch)
            except Undecided as fault:
                test.give_up(str(fault))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError) as fault:
                test.give_up(f"it cannot be evaluated: {str(fault)[:200]}")


def _row_of_file(batch: Batch, place: int) -> int:
    """The row that a place among those left stands for."""
    if batch.kept is None:
        return batch.start + place
    return batch.start + int(pa.compute.indices_nonzero(batch.kept)[place].as_py())
