"""Faults in checking rows before they are written."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.reference.log_reader import LoadedTable
from deltaspec.candidates.reference.sql_values import evaluate_sql, parse_supported
from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Action
from deltaspec.protocol.features.constraints import read_check_constraints
from deltaspec.protocol.property_names import APPEND_ONLY, CONSTRAINT_PREFIX
from deltaspec.selftest.mutants import Method, mutant

CHECKED, NOT_NULL = "check-constraints.rows-checked", "column-invariants.rows-refused"


@mutant((Transaction.check_rows, Transaction.check_actions), CHECKED, NOT_NULL, suites=("write",), origin="wr-002")
def rows_not_checked(original: Method, transaction: Transaction, rows: Any) -> None:
    """Writes every row, whatever the constraints."""


@mutant(Transaction.check_rows, CHECKED, suites=("write",))
def check_constraints_ignored(original: Method, transaction: Transaction, rows: pa.Table) -> None:
    """Ignores CHECK constraints."""
    _check_without_constraints(original, transaction, rows)


@mutant(Transaction.check_rows, CHECKED, suites=("write",), origin="wr-003")
def unknown_constraints_satisfied(original: Method, transaction: Transaction, rows: pa.Table) -> None:
    """Accepts rows for which a CHECK constraint is null, as SQL does."""
    _check_without_constraints(original, transaction, rows)
    for name, text in read_check_constraints(transaction.state.metadata.configuration).items():
        tree = parse_supported(text)
        if any(evaluate_sql(tree, row) is False for row in list_model_rows(rows)):
            raise EngineError("constraint", f"a row violates {name}", phase="commit")


def _check_without_constraints(original: Method, transaction: Transaction, rows: pa.Table) -> None:
    state, metadata = transaction.state, transaction.state.metadata
    kept = {key: text for key, text in metadata.configuration.items() if not key.startswith(CONSTRAINT_PREFIX)}
    transaction.state = replace(state, metadata=msgspec.structs.replace(metadata, configuration=kept))
    try:
        original(transaction, rows)
    finally:
        transaction.state = state


@mutant(Transaction.check_rows, NOT_NULL, suites=("write",), origin="wr-002")
def nulls_accepted(original: Method, transaction: Transaction, rows: pa.Table) -> None:
    """Writes nulls into columns that are not nullable."""
    state = transaction.state
    fields = tuple(replace(each, nullable=True) for each in state.schema.fields)
    transaction.state = replace(state, schema=replace(state.schema, fields=fields))
    try:
        original(transaction, rows)
    finally:
        transaction.state = state


@mutant(Writer.add_constraint, CHECKED, suites=("write",))
def existing_rows_not_checked(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Adds a constraint without checking the rows of the table."""
    transaction.read_files = list  # type: ignore[method-assign]
    original(writer, transaction, operation)


@mutant(Transaction.check_actions, "append-only.no-removal", suites=("write",), origin="wr-001")
def append_only_ignored(original: Method, transaction: Transaction, actions: Sequence[Action]) -> None:
    """Deletes rows although the table accepts only appends."""


@mutant(Writer.optimize, "append-only.no-removal", suites=("write",), origin="wr-001")
def append_only_prevents_compaction(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Refuses to compact a table that accepts only appends, although no data change."""
    if transaction.is_enabled(APPEND_ONLY):
        raise EngineError("constraint", "the table accepts only appends", phase="commit")
    original(writer, transaction, operation)


@mutant(Writer.delete, "append-only.lifted", suites=("write",))
def append_only_never_lifted(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Refuses deletes if the table has the property, even if it is false."""
    if APPEND_ONLY in transaction.state.metadata.configuration:
        raise EngineError("constraint", "the table accepts only appends", phase="commit")
    original(writer, transaction, operation)


@mutant(Transaction.is_enabled, "deletion-vectors.made-while-enabled", "table-features.used-ones-respected",
        suites=("write",))  # fmt: skip
def vectors_written_while_disabled(original: Method, transaction: Transaction, name: str) -> bool:
    """Writes deletion vectors whenever the table supports them, even if the property is false."""
    features = transaction.state.protocol.writer_features or ()
    return bool(original(transaction, name)) or ("DeletionVectors" in name and "deletionVectors" in features)


@mutant(Transaction.generate_columns, "generated-columns.values", suites=("write",), origin="wr-004")
def generated_values_not_checked(
    original: Method, transaction: Transaction, rows: pa.Table, given: Sequence[str]
) -> pa.Table:
    """Writes any value that is given for a generated column."""
    computed = original(transaction, rows, ())
    for name in given:
        position = rows.schema.get_field_index(name)
        computed = computed.set_column(position, rows.schema.field(position), rows.column(position))
    return computed


@mutant(Transaction.generate_columns, "generated-columns.values", suites=("write",), origin="wr-004")
def generated_values_not_computed(
    original: Method, transaction: Transaction, rows: pa.Table, given: Sequence[str]
) -> pa.Table:
    """Writes null if no value is given for a generated column."""
    return rows


@mutant(Writer.check_protocol, "table-features.writer-supports-all", suites=("write",))
def unknown_features_ignored(original: Method, writer: Writer, state: LoadedTable) -> None:
    """Writes to tables with features that it does not know."""
