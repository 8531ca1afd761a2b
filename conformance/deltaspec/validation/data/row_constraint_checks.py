"""Check the rows of live data files against SQL expressions in the metadata, as far as that does not need Spark.

Only the columns of the expressions are read. An expression that needs Spark gets a ledger entry with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec
from pyroaring import BitMap64

from deltaspec.protocol.features.constraints import list_misspelled_constraints
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.sql.expression_columns import ExpressionColumns
from deltaspec.sql.row_evaluation import ConstraintResult, evaluate_constraints
from deltaspec.sql.spark_needs import describe_need
from deltaspec.sql.tree import Expression
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.read_ahead import read_ahead
from deltaspec.validation.data.row_confirmation import FileRows, evaluate_file_rows
from deltaspec.validation.findings import Findings
from deltaspec.validation.ledger import MISSPELLED_CONSTRAINT
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.data.constraint_checks import build_constraint_check_row, constraint_checks
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.table.row_constraints import Kind, RowConstraint, collect_row_constraints
from deltaspec.views.table.row_requirements import RowRequirement, Subject
from deltaspec.views.table.state import TableState
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.data.legacy_calendar import find_first_unambiguous_values
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

READ_ERRORS = (StorageError, UnreadableRows, DeletionVectorError)
"""Errors that mean that the rows of a file cannot be read."""
_ROWS_AT_ONCE = 10_000
_FOREIGN_FILES = re.compile("CLONE|CONVERT")
_RULES: dict[tuple[Kind, bool], str] = {
    ("CHECK", False): "ROW040",
    ("CHECK", True): "ROW040",
    ("generated", False): "ROW041",
    ("generated", True): "ROW042",
    ("invariant", False): "ROW043",
    ("invariant", True): "ROW044",
}
"""The rule for each kind of expression, by whether rows may be older than the expression."""


def has_row_constraints(facts: LogFacts, findings: Findings) -> bool:
    """Return whether the metadata of the table has SQL expressions that its rows must satisfy."""
    table = facts.state.table_schema
    if table is None or not findings.has_rules_for(constraint_checks):
        return False
    return bool(
        collect_row_constraints(table.schema, table.configuration, table.features, facts.state.revision)
        or list_misspelled_constraints(table.configuration)
    )


def check_row_constraints(data: DataBucket) -> None:
    """Evaluate every supported expression on the rows of every live file."""
    table = data.table
    if table is None or not data.findings.has_rules_for(constraint_checks):
        return  # an unknown schema is reported by `check_row_values`
    zone = data.facts.options.writer_time_zone
    asked = ConstraintRecorder(table, data.facts.state, data.facts.operations, data.findings, writer_time_zone=zone)
    if not asked.supported:
        return
    reader = ConstraintReader(data.access, table, tuple(asked.supported), data.vectors)

    asked.mark_files_undecided(*data.missing_files)
    reads: list[FileRows] = []
    read_again = partial(read_rows_again, asked, reader.read)
    for data_file, held in read_ahead(data.access.store, data.present_files, reader.read):
        reads.append(build_rows(asked, data_file, held))
        if len(reads) * len(asked.supported) >= _ROWS_AT_ONCE:
            evaluate_file_rows(data, constraint_checks, reads, read_again)
            reads = []
    evaluate_file_rows(data, constraint_checks, reads, read_again)


def mark_missing_files_undecided(data: DataBucket) -> None:
    """Record that expressions are not evaluated on missing files, if another backend evaluates the others."""
    if data.table is None or not data.files.rows["actual_size"].has_nulls():
        return
    asked = ConstraintRecorder(
        data.table, data.facts.state, data.facts.operations, data.findings, records_unsupported=False
    )
    asked.mark_files_undecided(*data.missing_files)


def read_rows_again(
    asked: ConstraintRecorder, read: Callable[[DataFile], list[ConstraintResult] | str], data_file: DataFile
) -> FileRows | str:
    """Build the rows of the view for one file, or return why it cannot be read. Nothing is recorded."""
    held = read(data_file)
    return held if isinstance(held, str) else _build_rows(asked, data_file, held)


def build_rows(asked: ConstraintRecorder, data_file: DataFile, held: list[ConstraintResult] | str) -> FileRows:
    """Build the rows of the view for one file, and record what is undecided."""
    if isinstance(held, str):
        asked.mark_file_undecided(data_file, held)
        return FileRows(data_file, [])
    for (condition, _), found in zip(asked.supported, held, strict=True):
        if found.undecided is not None:
            asked.mark_undecided(condition, found.undecided, data_file.path if found.is_row_dependent else None)
    return _build_rows(asked, data_file, held)


def _build_rows(asked: ConstraintRecorder, data_file: DataFile, held: list[ConstraintResult]) -> FileRows:
    pairs = list(zip(asked.supported, held, strict=True))
    rows = [asked.row(data_file, condition, found) for (condition, _), found in pairs if found.undecided is None]
    return FileRows(data_file, rows, frozenset(found.undecided for found in held if found.undecided is not None))


class ConstraintRecorder:
    """The expressions that rows of a table must satisfy, and a recorder for their results."""

    def __init__(
        self,
        table: TableSchema,
        state: TableState,
        operations: Mapping[int, str | None],
        findings: Findings,
        *,
        evaluates_on_spark: bool = False,
        writer_time_zone: str | None = None,
        records_unsupported: bool = True,
        requirements: Sequence[RowRequirement] | None = None,
    ) -> None:
        """Collect the expressions, and record those that are not supported.

        Args:
            table: schema and configuration at the version that the rows are validated against.
            state: state of the table at the validated version.
            operations: operation that each commit states.
            findings: receives ledger entries.
            evaluates_on_spark: Spark evaluates the expressions that this process cannot.
            writer_time_zone: time zone of the writers; None if unknown.
            records_unsupported: record expressions that are not supported.
            requirements: expressions of an earlier version; None for all of the validated version.
        """
        self._table, self._state, self._operations, self._findings = table, state, operations, findings
        self._evaluates_on_spark, self._zone_is_known = evaluates_on_spark, writer_time_zone is not None
        self.supported: list[tuple[RowConstraint, Expression]] = []
        if requirements is None:
            constraints = collect_row_constraints(table.schema, table.configuration, table.features, state.revision)
            self._original: Collection[Subject] = state.conditions.always
        else:
            constraints = [each.subject for each in requirements if isinstance(each.subject, RowConstraint)]
            self._original = {each.subject for each in requirements if each.is_original}
        for each in constraints:
            condition = each.condition
            if not isinstance(condition, str):
                self.supported.append((each, condition))
            elif records_unsupported:
                self.mark_undecided(each, condition, None)
        if records_unsupported and requirements is None:
            self._mark_misspelled_undecided()

    def _mark_misspelled_undecided(self) -> None:
        """Record the CHECK constraints whose prefix has another case, which only some engines enforce."""
        if "checkConstraints" not in self._table.features:
            return
        for name in list_misspelled_constraints(self._table.configuration):
            self._findings.mark_rule_undecided("ROW040", MISSPELLED_CONSTRAINT.format(name[:80]), None)

    def row(self, data_file: DataFile, condition: RowConstraint, found: ConstraintResult) -> dict[str, Any]:
        """Build the row of the view for one file and an expression that was evaluated on its rows."""
        cause = self._state.row_requirements.find_cause(condition, data_file.first_version, data_file.until)
        return build_constraint_check_row(
            data_file, condition, found, cause, may_predate_expression=self._may_be_older(condition)
        )

    def mark_undecided(self, condition: RowConstraint, why: str, path: str | None) -> None:
        """Record that an expression was not evaluated on a file; on all files if `path` is None."""
        tree = condition.condition
        if self._evaluates_on_spark or isinstance(tree, str):
            need = "is not evaluated"
        else:
            need = describe_need(tree, self._table.schema, zone_is_known=self._zone_is_known)
        self._findings.mark_rule_undecided(self._get_rule(condition), f"{condition.title} {need}: {why}", path)

    def mark_file_undecided(self, data_file: DataFile, why: str) -> None:
        """Record that the rows of a file cannot be read."""
        self.mark_all_undecided(why, data_file.path)

    def mark_files_undecided(self, reasons: Mapping[str, str], more: int) -> None:
        """Record for files, given as in `Ledger.add_files`, why no expression was evaluated on them."""
        self._findings.mark_files_undecided(
            reasons, more, codes={self._get_rule(condition) for condition, _ in self.supported}
        )

    def mark_all_undecided(self, why: str, path: str | None) -> None:
        """Record that no expression was evaluated on a file; on some files if `path` is None."""
        for condition, _ in self.supported:
            self._findings.mark_rule_undecided(self._get_rule(condition), why, path)

    def _may_be_older(self, condition: RowConstraint) -> bool:
        """Return whether rows may have been written before the expression was added."""
        return self._adds_foreign_files or condition not in self._original

    @cached_property
    def _adds_foreign_files(self) -> bool:
        """Return whether the operation of a commit adds files of another table, or files that belonged to no table."""
        return any(_FOREIGN_FILES.search(operation or "") for operation in self._operations.values())

    def _get_rule(self, condition: RowConstraint) -> str:
        return _RULES[condition.kind, self._may_be_older(condition)]


class ConstraintReader(msgspec.Struct, frozen=True):
    """Evaluates expressions on the rows of data files. It can be pickled."""

    access: DataAccess
    table: TableSchema
    constraints: tuple[tuple[RowConstraint, Expression], ...]
    vectors: DeletionVectorReader

    def read(self, data_file: DataFile) -> list[ConstraintResult] | str:
        """Evaluate each expression on the rows of a file, or return why the file cannot be read."""
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
        """Open the rows of a file. Raise one of `READ_ERRORS`."""
        return RowBatches(self.access, data_file.path_key)

    def deleted(self, data_file: DataFile) -> BitMap64 | None:
        """Read the rows that the deletion vector deletes; None without one. Raise one of `READ_ERRORS`."""
        vector = data_file.deletion_vector
        return None if vector is None else self.vectors.rows(vector)

    def columns(self, data_file: DataFile, source: RowBatches) -> ExpressionColumns:
        """Find the columns of the table in a file. Raise `Undecided`."""
        return ExpressionColumns(
            self.table.schema,
            self.table.mapping,
            self.table.partition_columns,
            data_file.partition_values,
            source.schema,
            find_first_unambiguous_values(source.parquet),
        )
