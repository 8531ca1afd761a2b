"""What executors do so that rows are held to expressions of SQL: they read data files with the kit's own readers.

A task is handed files in portions, pickled by our own driver, and yields small Arrow batches.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.validate.data import why_unread
from deltaspec.validate.held_rows import UNREAD, HeldReader
from deltaspec.views.data_files import DataFile
from deltaspec.views.expression_facts import Condition
from deltaspec.views.state import TableSchema
from deltaspec.wire.data_access import DataAccess
from deltaspec.wire.logical_rows import logical_rows
from deltaspec.wire.sql_terms import Undecided
from deltaspec.wire.sql_tree import Expression
from deltaspec.wire.vector_files import VectorFiles

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Portion = list[tuple[int, DataFile, Any]]
"""Files with their numbers, and with what is asked of each."""
Name = tuple[str, ...]
WHOLE_FILE = -1
"""In the place of a column's number: the fault is of the file."""
_UNREAD = (*UNREAD, Undecided, pa.ArrowException, OverflowError, MemoryError)
FIRST_COLUMN = 4
"""Place of column 0 in the rows that Spark is handed."""
ANSWERS = pa.schema([("file", pa.int32()), ("answer", pa.binary())])


@dataclass(frozen=True)
class Knowledge:
    """What a task knows of the table."""

    access: DataAccess
    table: TableSchema
    conditions: tuple[tuple[Condition, Expression], ...]

    def reader(self) -> HeldReader:
        """To be made where it is used."""
        return HeldReader(self.access, self.table, self.conditions, VectorFiles(self.access))


def evaluating(knowledge: Knowledge) -> Task:
    """How the rows of each file stand to the conditions, as far as that is beyond doubt without Spark.

    Gives batches of `ANSWERS`; an answer is the pickle of what `HeldReader.read` gives.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = knowledge.reader()
        for number, data_file, _ in _files(batches):
            yield _answer(number, reader.read(data_file))

    return task


def reading(knowledge: Knowledge, names: list[Name], schema: pa.Schema) -> Task:
    """The rows of each file; of the columns, what is asked of a file are the numbers of those that are read.

    Args:
        knowledge: of the table.
        names: of the columns, as `logical_rows.field_of` takes them.
        schema: of what it gives: `file`, `row`, `of`, `fault`, then the columns. A row with a `fault` is no row of the
            file, but says of which column its rows cannot tell, or that they cannot be read (`WHOLE_FILE`).
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = knowledge.reader()
        for number, data_file, wanted in _files(batches):
            yield from _rows(reader, number, data_file, sorted(wanted), names, schema)

    return task


def showing(knowledge: Knowledge, names: list[list[Name]]) -> Task:
    """The values of single rows, as a finding shows them.

    Of a file is asked a list of rows, each with the place in `names` of the columns that are shown. Gives batches of
    `ANSWERS`; an answer is the pickle of a list of texts, None where a row cannot be read any more.
    """

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = knowledge.reader()
        for number, data_file, rows in _files(batches):
            yield _answer(number, [_shown(reader, data_file, names[place], row) for place, row in rows])

    return task


def sent(task: Task, environment: Mapping[str, str]) -> Task:
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
    reader: HeldReader, number: int, data_file: DataFile, wanted: list[int], names: list[Name], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    try:
        deleted = reader.deleted(data_file)
        with reader.open(data_file) as source:
            columns = reader.columns(data_file, source)
            for part in logical_rows(source, columns, [names[each] for each in wanted], deleted):
                yield _batch(schema, number, part.rows, dict(zip(wanted, part.columns, strict=True)))
                for place, fault in part.faults.items():
                    yield _fault(schema, number, wanted[place], fault)
    except _UNREAD as fault:
        yield _fault(schema, number, WHOLE_FILE, why_unread(fault))


def _batch(schema: pa.Schema, number: int, rows: pa.Array, columns: dict[int, pa.Array]) -> pa.RecordBatch:
    length = len(rows)
    arrays = [pa.nulls(length, each.type) for each in schema]
    arrays[0], arrays[1] = pa.repeat(pa.scalar(number, pa.int32()), length), rows
    for column, values in columns.items():
        arrays[FIRST_COLUMN + column] = values
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fault(schema: pa.Schema, number: int, column: int, fault: str) -> pa.RecordBatch:
    values: list[Any] = [number, None, column, fault, *[None] * (len(schema) - FIRST_COLUMN)]
    arrays = [pa.array([value], each.type) for value, each in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _shown(reader: HeldReader, data_file: DataFile, names: list[Name], row: int) -> str | None:
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
