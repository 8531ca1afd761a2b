"""What executors do so that rows are held to expressions of SQL: they read data files with the kit's own readers.

A task is handed files in portions, pickled by our own driver, and yields small Arrow batches.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaspec.sql.logical_row_reader import iter_logical_rows
from deltaspec.sql.resource_bounds import ResourceBounds
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Expression
from deltaspec.sql.value_sizes import compute_value_sizes
from deltaspec.validation.data.data_run import describe_read_error
from deltaspec.validation.data.row_constraint_checks import READ_ERRORS, ConstraintReader
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.table.row_constraints import RowConstraint
from deltaspec.views.table.state import TableSchema
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.storage.data_access import DataAccess

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
FileBatch = list[tuple[int, DataFile, Any]]
"""Files with their numbers, and with what is asked of each."""
Name = tuple[str, ...]
WHOLE_FILE = -1
"""In the place of a column's number: the fault is of the file."""
_UNREAD = (*READ_ERRORS, Undecided, pa.ArrowException, OverflowError, MemoryError)
_MOST_STEPS = 3e10
"""Of patterns on the rows of one file, at the most: minutes, in an engine that does a hundred million a second."""
FIRST_VALUE_COLUMN = 4
"""Place of column 0 in the rows that Spark is handed."""
ANSWERS = pa.schema([("file", pa.int32()), ("answer", pa.binary())])


@dataclass(frozen=True)
class ColumnUse:
    """What an expression asks for."""

    columns: frozenset[int]
    bounds: ResourceBounds


class CostGuard:
    """Keeps from expressions those columns of one file whose values cost more than they may."""

    def __init__(self, uses: Sequence[ColumnUse]) -> None:
        self._uses = uses
        self._steps = [0.0] * len(uses)
        self._kept: set[int] = set()

    def mask_costly_columns(self, values: dict[int, pa.Array]) -> dict[int, str]:
        """Replace columns of a batch by nulls, from here on, and say why: of each column once.

        Args:
            values: the columns by their numbers; they are changed.
        """
        found: dict[int, str] = {}
        lengths = {column: compute_value_sizes(array) for column, array in values.items()}
        for place, use in enumerate(self._uses):
            mine = [lengths[column] for column in use.columns]
            for column in use.columns:
                if (pc.max(lengths[column]).as_py() or 0) > use.bounds.longest:
                    found[column] = f"values are longer than the {use.bounds.longest} bytes that it is evaluated on"
            self._steps[place] += use.bounds.steps(pc.max_element_wise(*mine)) if mine else 0
            if self._steps[place] > _MOST_STEPS:
                found |= dict.fromkeys(use.columns, "its patterns may take long on values so long and many")
        self._kept, before = self._kept | found.keys(), self._kept
        for column in self._kept & values.keys():
            values[column] = pa.nulls(len(values[column]), values[column].type)
        return {column: why for column, why in found.items() if column not in before}


@dataclass(frozen=True)
class ConstraintContext:
    """What a task knows of the table."""

    access: DataAccess
    table: TableSchema
    constraints: tuple[tuple[RowConstraint, Expression], ...]

    def reader(self) -> ConstraintReader:
        """To be made where it is used."""
        return ConstraintReader(self.access, self.table, self.constraints, DeletionVectorReader(self.access))


def build_evaluate_task(knowledge: ConstraintContext) -> Task:
    """How the rows of each file stand to the conditions, as far as that is beyond doubt without Spark.

    Gives batches of `ANSWERS`; an answer is the pickle of what `ConstraintReader.read` gives.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = knowledge.reader()
        for number, data_file, _ in _files(batches):
            yield _answer(number, reader.read(data_file))

    return task


def build_read_task(
    knowledge: ConstraintContext, names: list[Name], schema: pa.Schema, uses: Mapping[int, ColumnUse]
) -> Task:
    """The rows of each file; what is asked of a file are the keys of `uses` that it is read for.

    Args:
        knowledge: of the table.
        names: of the columns, as `iter_logical_rows.field_of` takes them.
        schema: of what it gives: `file`, `row`, `of`, `fault`, then the columns. A row with a `fault` is no row of the
            file, but says of which column its rows cannot tell, or that they cannot be read (`WHOLE_FILE`).
        uses: the columns that expressions ask for.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = knowledge.reader()
        for number, data_file, wanted in _files(batches):
            yield from _rows(reader, number, data_file, [uses[each] for each in wanted], names, schema)

    return task


def build_show_task(knowledge: ConstraintContext, names: list[list[Name]]) -> Task:
    """The values of single rows, as a finding shows them.

    Of a file is asked a list of rows, each with the place in `names` of the columns that are shown. Gives batches of
    `ANSWERS`; an answer is the pickle of a list of texts, None where a row cannot be read any more.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = knowledge.reader()
        for number, data_file, rows in _files(batches):
            yield _answer(number, [_shown(reader, data_file, names[place], row) for place, row in rows])

    return task


def serialize_task(task: Task, environment: Mapping[str, str]) -> Task:
    """A task as it is sent to executors, which find some variables of the environment set."""

    def with_environment(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        os.environ.update(environment)
        yield from task(batches)

    return with_environment


def _files(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, DataFile, Any]]:
    for batch in batches:
        for payload in batch.column(0).to_pylist():
            yield from pickle.loads(payload)


def _answer(number: int, answer: Any) -> pa.RecordBatch:
    arrays = [pa.array([number], pa.int32()), pa.array([pickle.dumps(answer)], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=ANSWERS)


def _rows(
    reader: ConstraintReader,
    number: int,
    data_file: DataFile,
    uses: list[ColumnUse],
    names: list[Name],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    wanted = sorted({column for use in uses for column in use.columns})
    guard = CostGuard(uses)
    try:
        deleted = reader.deleted(data_file)
        with reader.open(data_file) as source:
            columns = reader.columns(data_file, source)
            for part in iter_logical_rows(source, columns, [names[each] for each in wanted], deleted):
                values = dict(zip(wanted, part.columns, strict=True))
                faults = guard.mask_costly_columns(values) | {
                    wanted[place]: fault for place, fault in part.faults.items()
                }
                yield _batch(schema, number, part.rows, values)
                for column, fault in faults.items():
                    yield _fault(schema, number, column, fault)
    except _UNREAD as fault:
        yield _fault(schema, number, WHOLE_FILE, describe_read_error(fault))


def _batch(schema: pa.Schema, number: int, rows: pa.Array, columns: dict[int, pa.Array]) -> pa.RecordBatch:
    length = len(rows)
    arrays = [pa.nulls(length, each.type) for each in schema]
    arrays[0], arrays[1] = pa.repeat(pa.scalar(number, pa.int32()), length), rows
    for column, values in columns.items():
        arrays[FIRST_VALUE_COLUMN + column] = values
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fault(schema: pa.Schema, number: int, column: int, fault: str) -> pa.RecordBatch:
    values: list[Any] = [number, None, column, fault, *[None] * (len(schema) - FIRST_VALUE_COLUMN)]
    arrays = [pa.array([value], each.type) for value, each in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _shown(reader: ConstraintReader, data_file: DataFile, names: list[Name], row: int) -> str | None:
    try:
        with reader.open(data_file) as source:
            columns = reader.columns(data_file, source)
            for parts in names:
                columns(parts)
            if not columns.names:
                return None
            for batch in source.read(columns.names, BitMap64([row])):
                if batch.rows:
                    return columns.shown(batch.columns, 0) or None
    except _UNREAD:
        return None
    return None
