"""Faults in change data files."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.written_files import FileWriter
from deltaspec.protocol.actions import Action, Cdc
from deltaspec.selftest.mutants import Method, faulty_commit, mutant
from deltaspec.selftest.writers.commits import drop

ALL, UPDATES = "cdc.whole-changes", "cdc.for-updates"


@faulty_commit(UPDATES, origin="cdf-006")
def change_files_of_updates_missing(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes no change data files for updates and merges."""
    return drop(actions, Cdc) if transaction.kind in ("update", "merge") else actions


@mutant(Transaction.record_change, ALL, suites=("write",), origin="cdf-004")
def deleted_rows_not_recorded(original: Method, transaction: Transaction, kind: str, rows: pa.Table) -> None:
    """Does not record deleted rows."""
    if kind != "delete":
        original(transaction, kind, rows)


@mutant(Transaction.record_change, ALL, suites=("write",))
def rows_before_updates_not_recorded(original: Method, transaction: Transaction, kind: str, rows: pa.Table) -> None:
    """Does not record the rows before an update."""
    if kind != "update_preimage":
        original(transaction, kind, rows)


@mutant(Transaction.record_change, ALL, suites=("write",))
def inserts_of_merges_not_recorded(original: Method, transaction: Transaction, kind: str, rows: pa.Table) -> None:
    """Records the updates of a merge, but not its inserts."""
    if transaction.kind != "merge" or kind != "insert":
        original(transaction, kind, rows)


@mutant(Transaction.record_change, ALL, suites=("write",))
def images_exchanged(original: Method, transaction: Transaction, kind: str, rows: pa.Table) -> None:
    """Records the old values of an update as the new ones, and the new ones as the old."""
    names = {"update_preimage": "update_postimage", "update_postimage": "update_preimage"}
    original(transaction, names.get(kind, kind), rows)


@mutant(FileWriter.add_changes, "cdc.change-type-column", suites=("write",))
def change_types_unknown(original: Method, files: FileWriter, rows: pa.Table, kinds: Sequence[str]) -> Any:
    """Writes `upd` and `del` as change types."""
    return original(files, rows, [each[:3] for each in kinds])


@mutant(Transaction.remove_rows, ALL, suites=("write",))
def rewritten_rows_recorded(original: Method, transaction: Transaction, add: Any, rows: Any, gone: Any) -> None:
    """Records all rows of a rewritten file as deleted, also those that stay."""
    original(transaction, add, rows, gone)
    if transaction.kind == "delete" and any(gone):
        transaction.record_change("delete", rows.table.filter(pa.array([not each for each in gone], pa.bool_())))
