"""Faults in replacing a table, and in adding and removing features and constraints."""

from typing import Any

import msgspec

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.protocol.actions import Remove
from deltaspec.protocol.property_names import MAX_COLUMN_ID
from deltaspec.selftest.mutants import Method, mutant

REPLACED, SUPPORTED = "metadata.replaces-whole", "table-features.used-ones-respected"


@mutant(Writer.replace, REPLACED, suites=("write",))
def rows_survive_a_replacement(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Keeps the old files when a table is replaced."""
    original(writer, transaction, operation)
    transaction.actions = [each for each in transaction.actions if not isinstance(each, Remove)]


@mutant(Writer.replace, REPLACED, suites=("write",))
def new_rows_not_written(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Replaces a table by an empty one."""
    original(writer, transaction, {**operation, "rows": None})


@mutant(Writer.use_replacement, REPLACED, suites=("write",))
def properties_survive_a_replacement(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Keeps properties that the new table does not have."""
    before = transaction.state.metadata.configuration
    old = {key: text for key, text in before.items() if not key.startswith("delta.")}
    original(writer, transaction, operation)
    metadata = transaction.state.metadata
    merged = msgspec.structs.replace(metadata, configuration={**old, **metadata.configuration})
    transaction.use(transaction.state.protocol, merged)


@mutant(Writer.use_replacement, REPLACED, suites=("write",))
def partitioning_survives_a_replacement(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Keeps the partition columns that the new table still has."""
    old = transaction.state.partition_columns
    original(writer, transaction, operation)
    metadata, names = transaction.state.metadata, {each.name for each in transaction.state.schema.fields}
    kept = [name for name in old if name in names]
    transaction.use(transaction.state.protocol, msgspec.structs.replace(metadata, partition_columns=kept))


@mutant(Writer.use_replacement, "column-mapping.max-id-never-falls", suites=("write",))
def column_ids_start_again(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Numbers the columns of the new table from 1, although the replaced table had these numbers."""
    before = transaction.state
    configuration = {key: text for key, text in before.metadata.configuration.items() if key != MAX_COLUMN_ID}
    transaction.use(before.protocol, msgspec.structs.replace(before.metadata, configuration=configuration))
    original(writer, transaction, operation)


@mutant(Writer.use_replacement, "metadata.id-is-guid", suites=("write",))
def table_id_changed_by_a_replacement(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Gives a replaced table another id."""
    original(writer, transaction, operation)
    changed = msgspec.structs.replace(transaction.state.metadata, id="00000000-0000-4000-8000-000000000000")
    transaction.use(transaction.state.protocol, changed)


@mutant(Writer.add_feature, SUPPORTED, suites=("write",))
def feature_not_added(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Acknowledges that a feature is added, and does not add it."""


@mutant(Writer.drop_feature, SUPPORTED, suites=("write",))
def feature_not_dropped(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Acknowledges that a feature is dropped, and keeps it."""


@mutant(Writer.drop_constraint, "check-constraints.rows-checked", suites=("write",))
def every_constraint_dropped(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Drops all constraints instead of one."""
    names = [key.rpartition(".")[2] for key in transaction.state.metadata.configuration if ".constraints." in key]
    for name in names:
        original(writer, transaction, {**operation, "name": name})


@mutant(Writer.drop_constraint, "check-constraints.rows-checked", suites=("write",))
def constraint_not_dropped(original: Method, writer: Writer, transaction: Transaction, operation: Any) -> None:
    """Acknowledges that a constraint is dropped, and keeps it."""
