"""Tasks of executors that evaluate SQL constraints. They read data files with the kit's own readers.

A task receives batches of files, pickled by the driver, and yields small Arrow batches.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaspec.sql.logical_row_reader import iter_logical_rows
from deltaspec.sql.resource_bounds import ResourceBounds
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Expression
from deltaspec.sql.value_sizes import compute_value_sizes
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.row_constraint_checks import READ_ERRORS, ConstraintReader
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.table.row_constraints import RowConstraint
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.storage.data_access import DataAccess

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
FileBatch = list[tuple[int, DataFile, Any]]
"""Files with their numbers and a task-specific request for each."""
Name = tuple[str, ...]
WHOLE_FILE = -1
"""Column number of a fault that concerns the complete file."""
_READ_ERRORS = (*READ_ERRORS, Undecided, pa.ArrowException, OverflowError, MemoryError)
_MAX_STEPS = 3e10
"""Maximum pattern-matching steps per file: minutes at 100 million steps per second."""
FIRST_VALUE_COLUMN = 4
"""Index of column 0 in the rows that Spark receives."""
ANSWERS = pa.schema([("file", pa.int32()), ("answer", pa.binary())])


class ColumnUse(msgspec.Struct, frozen=True):
    """The columns that an expression uses, and the bounds of its evaluation."""

    columns: frozenset[int]
    bounds: ResourceBounds


class CostGuard:
    """Masks columns of one file whose values would make an expression too expensive."""

    def __init__(self, uses: Sequence[ColumnUse]) -> None:
        self._uses = uses
        self._steps = [0.0] * len(uses)
        self._masked: set[int] = set()

    def mask_costly_columns(self, values: dict[int, pa.Array]) -> dict[int, str]:
        """Replace costly columns by nulls in this and all later batches.

        Args:
            values: columns by number; modified in place.

        Returns:
            The reason for each column that is masked for the first time.
        """
        found: dict[int, str] = {}
        lengths = {column: compute_value_sizes(array) for column, array in values.items()}
        for index, use in enumerate(self._uses):
            used_lengths = [lengths[column] for column in use.columns]
            for column in use.columns:
                if (pc.max(lengths[column]).as_py() or 0) > use.bounds.longest:
                    found[column] = f"a value is longer than {use.bounds.longest} bytes, the limit of this expression"
            self._steps[index] += use.bounds.steps(pc.max_element_wise(*used_lengths)) if used_lengths else 0
            if self._steps[index] > _MAX_STEPS:
                found |= dict.fromkeys(use.columns, "matching its patterns on values as long as these may take minutes")
        self._masked, before = self._masked | found.keys(), self._masked
        for column in self._masked & values.keys():
            values[column] = pa.nulls(len(values[column]), values[column].type)
        return {column: reason for column, reason in found.items() if column not in before}


class ConstraintContext(msgspec.Struct, frozen=True):
    """What a task needs to know about the table."""

    access: DataAccess
    table: TableSchema
    constraints: tuple[tuple[RowConstraint, Expression], ...]
    writer_time_zone: str | None = None
    """Time zone of the sessions that wrote the rows; None if unknown."""

    def build_reader(self) -> ConstraintReader:
        """Build a reader; call this in the task, because a reader cannot be pickled."""
        return ConstraintReader(self.access, self.table, self.constraints, DeletionVectorReader(self.access))


def build_evaluate_task(context: ConstraintContext) -> Task:
    """Build a task that evaluates constraints on the rows of each file, as far as the kit can without Spark.

    It yields batches of `ANSWERS`; an answer is the pickled result of `ConstraintReader.read`.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = context.build_reader()
        for number, data_file, _ in _iter_files(batches):
            yield _build_answer(number, reader.read(data_file))

    return task


def build_read_task(
    context: ConstraintContext, names: list[Name], schema: pa.Schema, uses: Mapping[int, ColumnUse]
) -> Task:
    """Build a task that reads the rows of each file. The request of a file is a list of keys of `uses`.

    Args:
        context: facts about the table.
        names: column names, as `iter_logical_rows` takes them.
        schema: schema of the result: `file`, `row`, `of`, `fault`, then the columns. A row with a `fault` is not a row
            of the file: it says that column `of` is undecided, or the complete file (`WHOLE_FILE`).
        uses: the columns that each expression uses, by its index.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = context.build_reader()
        for number, data_file, indexes in _iter_files(batches):
            yield from _read_rows(reader, number, data_file, [uses[each] for each in indexes], names, schema)

    return task


def build_show_task(context: ConstraintContext, names: list[list[Name]]) -> Task:
    """Build a task that formats the values of single rows as evidence of findings.

    The request of a file is a list of pairs: an index into `names`, which gives the columns to show, and a row number.
    It yields batches of `ANSWERS`; an answer is a pickled list of strings, None for rows that can no longer be read.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = context.build_reader()
        for number, data_file, rows in _iter_files(batches):
            yield _build_answer(number, [_format_row(reader, data_file, names[index], row) for index, row in rows])

    return task


def _iter_files(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, DataFile, Any]]:
    for batch in batches:
        for payload in batch.column(0).to_pylist():
            yield from pickle.loads(payload)


def _build_answer(number: int, answer: Any) -> pa.RecordBatch:
    arrays = [pa.array([number], pa.int32()), pa.array([pickle.dumps(answer)], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=ANSWERS)


def _read_rows(
    reader: ConstraintReader,
    number: int,
    data_file: DataFile,
    uses: list[ColumnUse],
    names: list[Name],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    numbers = sorted({column for use in uses for column in use.columns})
    guard = CostGuard(uses)
    try:
        deleted = reader.deleted(data_file)
        with reader.open(data_file) as source:
            columns = reader.columns(data_file, source)
            for part in iter_logical_rows(source, columns, [names[each] for each in numbers], deleted):
                values = dict(zip(numbers, part.columns, strict=True))
                faults = guard.mask_costly_columns(values) | {
                    numbers[index]: fault for index, fault in part.faults.items()
                }
                yield _build_batch(schema, number, part.rows, values)
                for column, fault in faults.items():
                    yield _build_fault(schema, number, column, fault)
    except _READ_ERRORS as fault:
        yield _build_fault(schema, number, WHOLE_FILE, describe_read_error(fault))


def _build_batch(schema: pa.Schema, number: int, rows: pa.Array, columns: dict[int, pa.Array]) -> pa.RecordBatch:
    length = len(rows)
    arrays = [pa.nulls(length, each.type) for each in schema]
    arrays[0], arrays[1] = pa.repeat(pa.scalar(number, pa.int32()), length), rows
    for column, values in columns.items():
        arrays[FIRST_VALUE_COLUMN + column] = values
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _build_fault(schema: pa.Schema, number: int, column: int, fault: str) -> pa.RecordBatch:
    values: list[Any] = [number, None, column, fault, *[None] * (len(schema) - FIRST_VALUE_COLUMN)]
    arrays = [pa.array([value], each.type) for value, each in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _format_row(reader: ConstraintReader, data_file: DataFile, names: list[Name], row: int) -> str | None:
    try:
        with reader.open(data_file) as source:
            columns = reader.columns(data_file, source)
            for parts in names:
                columns(parts)
            if not columns.file_columns:
                return None
            for batch in source.read(columns.file_columns, BitMap64([row])):
                if batch.rows:
                    return columns.format_row(batch.columns, 0) or None
    except _READ_ERRORS:
        return None
    return None
