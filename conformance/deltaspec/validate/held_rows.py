"""Holds the rows of live data files to what the table's metadata says of them in SQL, where no Spark is needed for it.

Only the columns that expressions speak of are read. What is left to Spark stands in the ledger, of each expression why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from pyroaring import BitMap64

from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.validate.data import why_unread
from deltaspec.validate.findings import Findings
from deltaspec.validate.read_ahead import read_ahead
from deltaspec.views.data_files import DataFile, DataFiles
from deltaspec.views.expression_facts import Condition, Kind, conditions_in_force
from deltaspec.views.held_rows import held_row, held_rows
from deltaspec.views.state import TableSchema, TableState
from deltaspec.wire.data_access import DataAccess
from deltaspec.wire.expression_rows import Held, hold_rows
from deltaspec.wire.legacy_calendar import first_certain_values
from deltaspec.wire.row_batches import RowBatches
from deltaspec.wire.row_files import UnreadableRows
from deltaspec.wire.sql_columns import RowColumns
from deltaspec.wire.sql_tree import Expression
from deltaspec.wire.storage import StorageError
from deltaspec.wire.vector_files import VectorFiles

if TYPE_CHECKING:
    from deltaspec.validate.base_run import Run
    from deltaspec.validate.data import DataRun

UNREAD = (StorageError, UnreadableRows, DeletionVectorError)
"""What says that the rows of a file cannot be read."""
_ROWS_AT_ONCE = 10_000
_TAKES_OVER = re.compile("CLONE|CONVERT")
_RULES: dict[tuple[Kind, bool], str] = {
    ("CHECK", False): "ROW040",
    ("CHECK", True): "ROW040",
    ("generated", False): "ROW041",
    ("generated", True): "ROW042",
    ("invariant", False): "ROW043",
    ("invariant", True): "ROW044",
}
"""The rule that judges an expression of a kind, by whether rows may be older than it."""


def has_conditions(run: Run) -> bool:
    """Whether the table's metadata holds its rows to anything that is written in SQL."""
    table = run.state.table_schema
    if table is None or not run.findings.wants(held_rows):
        return False
    return any(conditions_in_force(table.schema, table.configuration, table.features, run.state.revision))


def look_at_held_rows(run: DataRun) -> None:
    """Evaluate every expression that can be, on the rows of every live file."""
    table = run.table
    if table is None or not run.findings.wants(held_rows):
        return  # rows without a schema are told where rows are looked at
    asked = Conditions(table, run.state, run.operations, run.findings)
    if not asked.admitted:
        return
    reader = HeldReader(run.access, table, tuple(asked.admitted), run.vectors)

    def read(data_file: DataFile) -> list[Held] | str:
        return str(run.fault_of(data_file.path_key)) if data_file.actual_size is None else reader.read(data_file)

    rows: list[dict[str, Any]] = []
    for data_file, held in read_ahead(run, run.files, read):
        rows += _rows_of(asked, data_file, held)
        if len(rows) >= _ROWS_AT_ONCE:
            run.findings.look_at_rows(held_rows, rows)
            rows = []
    run.findings.look_at_rows(held_rows, rows)


def doubt_absent(run: DataRun) -> None:
    """Enter that nothing is evaluated on files that were not found, for an engine that is handed the others."""
    absent = DataFiles(run.files.rows.filter(pl.col("actual_size").is_null()))
    if run.table is None or not len(absent):
        return
    asked = Conditions(run.table, run.state, run.operations, run.findings, enters=False)
    for data_file in absent:
        asked.doubt_file(data_file, str(run.fault_of(data_file.path_key)))


def _rows_of(asked: Conditions, data_file: DataFile, held: list[Held] | str) -> list[dict[str, Any]]:
    """Rows of the view for one file; what is left open goes into the ledger."""
    if isinstance(held, str):
        asked.doubt_file(data_file, held)
        return []
    rows = []
    for (condition, _), found in zip(asked.admitted, held, strict=True):
        if found.undecided is None:
            rows.append(asked.row(data_file, condition, found))
        else:
            asked.doubt(condition, found.undecided, data_file.path if found.of_rows else None)
    return rows


class Conditions:
    """What a table holds its rows to, and what is entered of it."""

    def __init__(
        self,
        table: TableSchema,
        state: TableState,
        operations: Mapping[int, str | None],
        findings: Findings,
        *,
        unsettled: str = "needs Spark",
        enters: bool = True,
    ) -> None:
        """Those that are not admitted go into the ledger at once, if it `enters` them.

        Args:
            table: its schema and configuration at the judged version.
            state: at the judged version.
            operations: what each commit of the judged history says it does.
            findings: of the run.
            unsettled: what the ledger says of a condition that is not evaluated, before the reason.
            enters: whether it says anything of those that are not admitted.
        """
        self._state, self._operations, self._findings, self._unsettled = state, operations, findings, unsettled
        self.admitted: list[tuple[Condition, Expression]] = []
        for each in conditions_in_force(table.schema, table.configuration, table.features, state.revision):
            condition = each.condition
            if not isinstance(condition, str):
                self.admitted.append((each, condition))
            elif enters:
                self.doubt(each, condition, None)

    def row(self, data_file: DataFile, condition: Condition, found: Held) -> dict[str, Any]:
        """The row of the view for one file and a condition that was evaluated on its rows."""
        return held_row(data_file, condition, found, may_be_older=self._may_be_older(condition))

    def doubt(self, condition: Condition, why: str, path: str | None) -> None:
        """Enter that a condition was not evaluated; of a file with that path, or of any."""
        self._findings.doubt_rule(self._rule_of(condition), f"{condition.title} {self._unsettled}: {why}", path)

    def doubt_file(self, data_file: DataFile, why: str) -> None:
        """Enter that the rows of a file cannot be read."""
        for condition, _ in self.admitted:
            self._findings.doubt_rule(self._rule_of(condition), why, data_file.path)

    def _may_be_older(self, condition: Condition) -> bool:
        """Whether rows of the table may have been written before the expression was there."""
        return self._takes_over or condition not in self._state.conditions.always

    @cached_property
    def _takes_over(self) -> bool:
        """A commit takes over files of another table, or of none, as it says."""
        return any(_TAKES_OVER.search(operation or "") for operation in self._operations.values())

    def _rule_of(self, condition: Condition) -> str:
        return _RULES[condition.kind, self._may_be_older(condition)]


@dataclass(frozen=True)
class HeldReader:
    """Reads data files of a table and holds their rows to its conditions; may be sent to another process."""

    access: DataAccess
    table: TableSchema
    conditions: tuple[tuple[Condition, Expression], ...]
    vectors: VectorFiles

    def read(self, data_file: DataFile) -> list[Held] | str:
        """How the rows of a file stand to each condition, or why it cannot be read."""
        try:
            deleted = self.deleted(data_file)
            with self.open(data_file) as source:
                return hold_rows(
                    source,
                    [(condition, each.binds_writes) for each, condition in self.conditions],
                    self.table.schema,
                    self.table.mapping,
                    self.table.partition_columns,
                    data_file.partition_values,
                    deleted,
                )
        except UNREAD as fault:
            return why_unread(fault)

    def open(self, data_file: DataFile) -> RowBatches:
        """Its rows. Raises some of `UNREAD`."""
        return RowBatches(self.access, data_file.path_key)

    def deleted(self, data_file: DataFile) -> BitMap64 | None:
        """The rows that its deletion vector takes away. Raises some of `UNREAD`."""
        vector = data_file.deletion_vector
        return None if vector is None else self.vectors.rows(vector)

    def columns(self, data_file: DataFile, source: RowBatches) -> RowColumns:
        """Where a file has the columns of the table. Raises `Undecided`."""
        return RowColumns(
            self.table.schema,
            self.table.mapping,
            self.table.partition_columns,
            data_file.partition_values,
            source.schema,
            first_certain_values(source.parquet),
        )
