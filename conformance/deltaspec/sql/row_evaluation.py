"""Evaluate the constraints of a table on the rows of a data file and find the rows that violate them.

The columns of all constraints are read together, batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import msgspec
import polars as pl
import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.protocol.schema.data_types import Struct, get_type_name
from deltaspec.sql.evaluation import compile_expression
from deltaspec.sql.expression_columns import ExpressionColumns
from deltaspec.sql.terms import BOOLEAN, VOID, Undecided
from deltaspec.sql.tree import Expression
from deltaspec.wire.data.legacy_calendar import find_first_unambiguous_values
from deltaspec.wire.parquet.row_batches import Batch, RowBatches, compute_remaining_rows, iter_empty_batches

_MAX_NULL_OR_EMPTY = 3
_MAX_FRAME_BYTES = 256 << 20


class ConstraintResult(msgspec.Struct):
    """The result of one constraint on the rows of a file."""

    rows: int = 0
    """Rows without those that the deletion vector removes."""
    violating_rows: int = 0
    """Rows for which it is false or null."""
    first_row: int | None = None
    """Index of the first violating row in the file; deleted rows count."""
    found: str | None = None
    """The values of that row in the constraint's columns."""
    undecided: str | None = None
    """Why it cannot be evaluated without Spark; if set, the fields above mean nothing."""
    is_row_dependent: bool = False
    """Whether it is undecided because of the rows of this file."""


def evaluate_constraints(
    source: RowBatches,
    conditions: Sequence[tuple[Expression, bool]],
    schema: Struct,
    mapping: str | None,
    partition_columns: Sequence[str],
    partition_values: Mapping[str, str | None],
    deleted: BitMap64 | None,
) -> list[ConstraintResult]:
    """Return the result of each constraint on the rows of a file.

    Args:
        source: the file.
        conditions: boolean expressions; with each, whether it applies to rows only as they are written. Then a row
            satisfies it if it is true for null or for an empty string in a partition column whose log value is null.
        schema: of the table.
        mapping: `id`, `name` or None.
        partition_columns: logical names.
        partition_values: from the log, by physical name.
        deleted: rows that a deletion vector removes.

    Raises:
        UnreadableRows, StorageError: the rows cannot be read.
    """
    try:
        columns = ExpressionColumns(
            schema,
            mapping,
            partition_columns,
            partition_values,
            source.schema,
            find_first_unambiguous_values(source.parquet),
        )
    except Undecided as error:
        return [ConstraintResult(undecided=str(error)) for _ in conditions]
    evaluators = [_Evaluator(condition, columns, writes_only=writes_only) for condition, writes_only in conditions]
    results = [each.result for each in evaluators]
    if all(each.undecided is not None for each in results):
        return results
    remaining = None if deleted is None else compute_remaining_rows(source.row_count, deleted)
    names = columns.file_columns
    for batch in source.read(names, remaining) if names else iter_empty_batches(source.row_count, remaining):
        active = [each for each in evaluators if each.result.undecided is None]
        if batch.rows and active:
            _evaluate_batch(active, columns, batch)
    return results


def _evaluate_batch(evaluators: list[_Evaluator], columns: ExpressionColumns, batch: Batch) -> None:
    try:
        frame = columns.build_frame(batch.columns, batch.rows)
    except Undecided as error:
        for each in evaluators:
            each.mark_undecided(str(error))
        return
    for each in evaluators:
        try:
            each.evaluate(frame, columns, batch)
        except Undecided as error:
            each.mark_undecided(str(error))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError) as error:
            each.mark_undecided(f"it cannot be evaluated: {str(error)[:200]}")


class _Evaluator:
    """Evaluates one constraint. A row satisfies it if one reading of its null partition values does."""

    def __init__(self, tree: Expression, columns: ExpressionColumns, *, writes_only: bool) -> None:
        self.result = ConstraintResult()
        self.readings: list[_Reading] = []
        try:
            names = columns.list_null_or_empty(tree) if writes_only else []
            if len(names) > _MAX_NULL_OR_EMPTY:
                raise Undecided(f"{len(names)} partition columns may have been null or empty")
            for size in range(len(names) + 1):
                self.readings += [_Reading(tree, columns, empty) for empty in combinations(names, size)]
        except Undecided as error:
            self.result.undecided = str(error)

    def mark_undecided(self, reason: str) -> None:
        """Record that the rows of the file leave it undecided."""
        self.result.undecided, self.result.is_row_dependent = reason, True

    def evaluate(self, frame: pl.DataFrame, columns: ExpressionColumns, batch: Batch) -> None:
        """Count the violating rows of a batch. Raises `Undecided`."""
        for reading in self.readings:
            if not frame.is_empty():
                frame = reading.filter_violations(frame)
        self.result.rows += batch.rows
        violations = frame["row"]
        if violations.is_empty():
            return
        if self.result.first_row is None:
            first = int(violations[0])
            self.result.first_row = _get_index_in_file(batch, first)
            self.result.found = columns.format_row(batch.columns, first) or None
        self.result.violating_rows += len(violations)


class _Reading:
    """One constraint, compiled with some null partition values read as empty. Raises `Undecided`."""

    def __init__(self, tree: Expression, columns: ExpressionColumns, read_as_empty: Iterable[str]) -> None:
        first_guard = len(columns.guards)
        columns.read_as_empty = frozenset(read_as_empty)
        try:
            compiled = compile_expression(tree, columns)
        finally:
            columns.read_as_empty = frozenset()
        if compiled.term.type not in (BOOLEAN, VOID):
            raise Undecided(f"its type is {get_type_name(compiled.term.type)}; expected boolean")
        self.steps = compiled.steps
        self.guards = (*compiled.guards, *columns.guards[first_guard:])
        self.is_violated = ~compiled.term.values.cast(pl.Boolean).fill_null(False)

    def filter_violations(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows for which it is not true. Raises `Undecided`."""
        for name, values in self.steps:
            frame = frame.with_columns(values.alias(name))
            if frame.estimated_size() > _MAX_FRAME_BYTES:
                raise Undecided("its values take too much memory")
        for guard in self.guards:
            if not frame.select(guard.holds.fill_null(True).all().alias("holds")).item():
                raise Undecided(f"in some rows, {guard.reason}")
        return frame.filter(self.is_violated)


def _get_index_in_file(batch: Batch, position: int) -> int:
    """Return the index in the file of a row of a batch."""
    if batch.kept is None:
        return batch.start + position
    return batch.start + int(pa.compute.indices_nonzero(batch.kept)[position].as_py())
