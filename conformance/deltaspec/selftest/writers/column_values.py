"""Faults in values that a writer chooses: of identity columns and of columns with a default; codecs and clustering."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Writer
from deltaspec.candidates.reference.written_files import CODECS, FileWriter
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features.constraints import read_defaults
from deltaspec.protocol.features.identity_columns import Identity
from deltaspec.protocol.property_names import PARQUET_CODEC
from deltaspec.selftest.mutants import Method, mutant

EXPLICIT, OVERFLOW = "identity-columns.explicit-values", "identity-columns.overflow"


@mutant(Transaction.check_explicit_values, EXPLICIT, suites=("write",))
def explicit_values_accepted(original: Method, transaction: Transaction, identity: Identity) -> None:
    """Writes any value that is given for an identity column."""


@mutant(Transaction.check_explicit_values, EXPLICIT, suites=("write",))
def explicit_values_refused(original: Method, transaction: Transaction, identity: Identity) -> None:
    """Refuses explicit values even for columns that allow them."""
    raise EngineError("constraint", "identity columns are generated", phase="commit")


@mutant(Transaction.assign_identity_values, EXPLICIT, suites=("write",))
def explicit_values_replaced(
    original: Method, transaction: Transaction, rows: pa.Table, given: Sequence[str]
) -> pa.Table:
    """Generates a value even if one is given."""
    return original(transaction, rows, ())


@mutant(Transaction.generate_identity_values, OVERFLOW, suites=("write",))
def identity_values_wrap(original: Method, transaction: Transaction, identity: Identity, count: int) -> list[int]:
    """Continues with the smallest long after the largest."""
    assert identity.start is not None
    assert identity.step
    last = identity.start - identity.step if identity.high_water_mark is None else identity.high_water_mark
    return [(last + number * identity.step + 2**63) % 2**64 - 2**63 for number in range(1, count + 1)]


@mutant(Transaction.generate_identity_values, "identity-columns.unique", suites=("write",))
def identity_values_repeated(original: Method, transaction: Transaction, identity: Identity, count: int) -> list[int]:
    """Starts the sequence again with every commit."""
    return original(transaction, replace(identity, high_water_mark=None), count)  # type: ignore[no-any-return]


@mutant(Transaction.assign_defaults, "default-columns.assigned", suites=("write",))
def defaults_not_assigned(original: Method, transaction: Transaction, rows: pa.Table, given: Sequence[str]) -> pa.Table:
    """Writes null if no value is given for a column with a default."""
    return rows


@mutant(Transaction.assign_defaults, "default-columns.assigned", suites=("write",))
def explicit_nulls_replaced(
    original: Method, transaction: Transaction, rows: pa.Table, given: Sequence[str]
) -> pa.Table:
    """Writes the default instead of a null that is given."""
    defaults = original(transaction, rows, ())
    for name in read_defaults(transaction.state.schema):
        position = rows.schema.get_field_index(name)
        values = pc.coalesce(rows.column(name), defaults.column(name))
        rows = rows.set_column(position, rows.schema.field(position), values)
    return rows


@mutant(FileWriter.encode, "configuration.codec-unsupported", suites=("write",))
def rows_lost_with_unknown_codec(original: Method, files: FileWriter, rows: pa.Table) -> bytes:
    """Writes files without rows if it does not support the codec of the table."""
    configuration = files.state.metadata.configuration
    if configuration.get(PARQUET_CODEC, "snappy").lower() in CODECS:
        return original(files, rows)  # type: ignore[no-any-return]
    state = replace(files.state, metadata=msgspec.structs.replace(files.state.metadata, configuration={}))
    return FileWriter(str(files.root), state).encode(rows.slice(0, 0))


@mutant((Writer.list_compacted_files, Transaction.write), "clustering.own-files", suites=("write",))
def files_of_others_clustered(original: Method, owner: Any, *arguments: Any) -> Any:
    """Clusters all files of a table, whichever implementation has clustered them."""
    if original is Writer.list_compacted_files:
        transaction: Transaction = arguments[0]
        return transaction.read_files()
    (actions,) = arguments
    if owner.kind == "optimize":
        actions = [
            msgspec.structs.replace(each, clustering_provider="deltaspec") if isinstance(each, Add) else each
            for each in actions
        ]
    return original(owner, actions)
