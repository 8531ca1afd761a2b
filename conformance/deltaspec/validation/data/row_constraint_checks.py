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

from deltaspec.model.rows.deletion_vectors import DeletionVectorError
from deltaspec.sql.expression_columns import ExpressionColumns
from deltaspec.sql.row_evaluation import ConstraintResult, evaluate_constraints
from deltaspec.sql.tree import Expression
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.read_ahead import read_ahead
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.data.constraint_checks import build_constraint_check_row, constraint_checks
from deltaspec.views.data.data_files import DataFile, DataFiles
from deltaspec.views.table.row_constraints import Kind, RowConstraint, collect_row_constraints
from deltaspec.views.table.state import TableSchema, TableState
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.data.legacy_calendar import find_first_unambiguous_values
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

READ_ERRORS = (StorageError, UnreadableRows, DeletionVectorError)
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


def has_row_constraints(facts: LogFacts, findings: Findings) -> bool:
    """Return whether the metadata of the table has SQL expressions that its rows must satisfy."""
    table = facts.state.table_schema
    if table is None or not findings.has_rules_for(constraint_checks):
        return False
    return any(collect_row_constraints(table.schema, table.configuration, table.features, facts.state.revision))


def check_row_constraints(data: DataBucket) -> None:
    """Evaluate every expression that can be, on the rows of every live file."""
    table = data.table
    if table is None or not data.findings.has_rules_for(constraint_checks):
        return  # an unknown schema is reported by `check_row_values`
    asked = ConstraintRecorder(table, data.state, data.operations, data.findings)
    if not asked.supported:
        return
    reader = ConstraintReader(data.access, table, tuple(asked.supported), data.vectors)

    def read(data_file: DataFile) -> list[ConstraintResult] | str:
        return (
            str(data.get_missing_file_error(data_file.path_key))
            if data_file.actual_size is None
            else reader.read(data_file)
        )

    rows: list[dict[str, Any]] = []
    for data_file, held in read_ahead(data, data.files, read):
        rows += _rows_of(asked, data_file, held)
        if len(rows) >= _ROWS_AT_ONCE:
            data.findings.evaluate_rows(constraint_checks, rows)
            rows = []
    data.findings.evaluate_rows(constraint_checks, rows)


def mark_missing_files_undecided(data: DataBucket) -> None:
    """Enter that nothing is evaluated on files that were not found, for an engine that is handed the others."""
    absent = DataFiles(data.files.rows.filter(pl.col("actual_size").is_null()))
    if data.table is None or not len(absent):
        return
    asked = ConstraintRecorder(data.table, data.state, data.operations, data.findings, records_unsupported=False)
    for data_file in absent:
        asked.mark_file_undecided(data_file, str(data.get_missing_file_error(data_file.path_key)))


def _rows_of(
    asked: ConstraintRecorder, data_file: DataFile, held: list[ConstraintResult] | str
) -> list[dict[str, Any]]:
    """Rows of the view for one file; what is left open goes into the ledger."""
    if isinstance(held, str):
        asked.mark_file_undecided(data_file, held)
        return []
    rows = []
    for (condition, _), found in zip(asked.supported, held, strict=True):
        if found.undecided is None:
            rows.append(asked.row(data_file, condition, found))
        else:
            asked.mark_undecided(condition, found.undecided, data_file.path if found.is_row_dependent else None)
    return rows


class ConstraintRecorder:
    """What a table holds its rows to, and what is entered of it."""

    def __init__(
        self,
        table: TableSchema,
        state: TableState,
        operations: Mapping[int, str | None],
        findings: Findings,
        *,
        undecided_prefix: str = "needs Spark",
        records_unsupported: bool = True,
    ) -> None:
        """Those that are not admitted go into the ledger at once, if it `enters` them.

        Args:
            table: its schema and configuration at the judged version.
            state: at the judged version.
            operations: what each commit of the judged history says it does.
            findings: of the data.
            unsettled: what the ledger says of a condition that is not evaluated, before the reason.
            enters: whether it says anything of those that are not admitted.
        """
        self._state, self._operations, self._findings, self._unsettled = state, operations, findings, undecided_prefix
        self.supported: list[tuple[RowConstraint, Expression]] = []
        for each in collect_row_constraints(table.schema, table.configuration, table.features, state.revision):
            condition = each.condition
            if not isinstance(condition, str):
                self.supported.append((each, condition))
            elif records_unsupported:
                self.mark_undecided(each, condition, None)

    def row(self, data_file: DataFile, condition: RowConstraint, found: ConstraintResult) -> dict[str, Any]:
        """The row of the view for one file and a condition that was evaluated on its rows."""
        return build_constraint_check_row(
            data_file, condition, found, may_predate_expression=self._may_be_older(condition)
        )

    def mark_undecided(self, condition: RowConstraint, why: str, path: str | None) -> None:
        """Enter that a condition was not evaluated; of a file with that path, or of any."""
        self._findings.mark_rule_undecided(
            self._rule_of(condition), f"{condition.title} {self._unsettled}: {why}", path
        )

    def mark_file_undecided(self, data_file: DataFile, why: str) -> None:
        """Enter that the rows of a file cannot be read."""
        for condition, _ in self.supported:
            self._findings.mark_rule_undecided(self._rule_of(condition), why, data_file.path)

    def _may_be_older(self, condition: RowConstraint) -> bool:
        """Whether rows of the table may have been written before the expression was there."""
        return self._takes_over or condition not in self._state.conditions.always

    @cached_property
    def _takes_over(self) -> bool:
        """A commit takes over files of another table, or of none, as it says."""
        return any(_TAKES_OVER.search(operation or "") for operation in self._operations.values())

    def _rule_of(self, condition: RowConstraint) -> str:
        return _RULES[condition.kind, self._may_be_older(condition)]


@dataclass(frozen=True)
class ConstraintReader:
    """Reads data files of a table and holds their rows to its conditions; may be sent to another process."""

    access: DataAccess
    table: TableSchema
    constraints: tuple[tuple[RowConstraint, Expression], ...]
    vectors: DeletionVectorReader

    def read(self, data_file: DataFile) -> list[ConstraintResult] | str:
        """How the rows of a file stand to each condition, or why it cannot be read."""
        try:
            deleted = self.deleted(data_file)
            with self.open(data_file) as source:
                return evaluate_constraints(
                    source,
                    [(condition, each.applies_to_writes_only) for each, condition in self.constraints],
                    self.table.schema,
                    self.table.mapping,
                    self.table.partition_columns,
                    data_file.partition_values,
                    deleted,
                )
        except READ_ERRORS as fault:
            return describe_read_error(fault)

    def open(self, data_file: DataFile) -> RowBatches:
        """Its rows. Raises some of `READ_ERRORS`."""
        return RowBatches(self.access, data_file.path_key)

    def deleted(self, data_file: DataFile) -> BitMap64 | None:
        """The rows that its deletion vector takes away. Raises some of `READ_ERRORS`."""
        vector = data_file.deletion_vector
        return None if vector is None else self.vectors.rows(vector)

    def columns(self, data_file: DataFile, source: RowBatches) -> ExpressionColumns:
        """Where a file has the columns of the table. Raises `Undecided`."""
        return ExpressionColumns(
            self.table.schema,
            self.table.mapping,
            self.table.partition_columns,
            data_file.partition_values,
            source.schema,
            find_first_unambiguous_values(source.parquet),
        )
