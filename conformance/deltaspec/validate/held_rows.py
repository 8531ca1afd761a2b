"""Holds the rows of live data files to what the table's metadata says of them in SQL, where no Spark is needed for it.

Only the columns that expressions speak of are read. What is left to Spark stands in the ledger, of each expression why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.validate.data import why_unread
from deltaspec.validate.read_ahead import read_ahead
from deltaspec.views.expression_facts import Condition, Kind, conditions_in_force
from deltaspec.views.held_rows import held_row, held_rows
from deltaspec.wire.expression_rows import Held, hold_rows
from deltaspec.wire.row_batches import RowBatches
from deltaspec.wire.row_files import UnreadableRows
from deltaspec.wire.sql_tree import Expression
from deltaspec.wire.storage import StorageError

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun
    from deltaspec.views.data_files import DataFile
    from deltaspec.views.state import TableSchema

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


def look_at_held_rows(run: DataRun) -> None:
    """Evaluate every expression that can be, on the rows of every live file."""
    table = run.table
    if table is None or not run.findings.wants(held_rows):
        return  # rows without a schema are told where rows are looked at
    asked = _Asked(run, table)
    if not asked.conditions:
        return
    rows: list[dict[str, Any]] = []
    for data_file, held in read_ahead(run, run.files, asked.read):
        rows += asked.rows_of(data_file, held)
        if len(rows) >= _ROWS_AT_ONCE:
            run.findings.look_at_rows(held_rows, rows)
            rows = []
    run.findings.look_at_rows(held_rows, rows)


@dataclass
class _Asked:
    """The expressions of a table that are evaluated."""

    run: DataRun
    table: TableSchema

    def __post_init__(self) -> None:
        self.conditions: list[tuple[Condition, Expression]] = []
        state = self.run.state
        for each in conditions_in_force(
            self.table.schema, self.table.configuration, self.table.features, state.revision
        ):
            condition = each.condition
            if isinstance(condition, str):
                self.doubt(each, condition, None)
            else:
                self.conditions.append((each, condition))

    def read(self, data_file: DataFile) -> list[Held] | str:
        """How the rows of a file stand to each expression, or why it cannot be read."""
        run = self.run
        if data_file.actual_size is None:
            return str(run.fault_of(data_file.path_key))
        try:
            deleted = run.vector(data_file)
            with RowBatches(run.access, data_file.path_key) as source:
                return hold_rows(
                    source,
                    [(condition, each.binds_writes) for each, condition in self.conditions],
                    self.table.schema,
                    self.table.mapping,
                    self.table.partition_columns,
                    data_file.partition_values,
                    deleted,
                )
        except (StorageError, UnreadableRows, DeletionVectorError) as fault:
            return why_unread(fault)

    def rows_of(self, data_file: DataFile, held: list[Held] | str) -> list[dict[str, Any]]:
        """Rows of the view for one file; what is left open goes into the ledger."""
        if isinstance(held, str):
            for condition, _ in self.conditions:
                self.run.findings.doubt_rule(self.rule_of(condition), held, data_file.path)
            return []
        rows = []
        for (condition, _), found in zip(self.conditions, held, strict=True):
            if found.undecided is None:
                older = self.may_be_older(condition)
                rows.append(held_row(data_file, condition, found, may_be_older=older))
            else:
                self.doubt(condition, found.undecided, data_file.path if found.of_rows else None)
        return rows

    def may_be_older(self, condition: Condition) -> bool:
        """Whether rows of the table may have been written before the expression was there."""
        return self._takes_over or condition not in self.run.state.conditions.always

    @cached_property
    def _takes_over(self) -> bool:
        """A commit takes over files of another table, or of none, as it says."""
        return any(_TAKES_OVER.search(operation or "") for operation in self.run.operations.values())

    def rule_of(self, condition: Condition) -> str:
        return _RULES[condition.kind, self.may_be_older(condition)]

    def doubt(self, condition: Condition, why: str, path: str | None) -> None:
        reason = f"{condition.title} needs Spark: {why}"
        self.run.findings.doubt_rule(self.rule_of(condition), reason, path)
