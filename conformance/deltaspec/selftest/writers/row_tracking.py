"""Faults in row ids and row commit versions."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.protocol.actions import Action, Add, DomainMetadata, Remove
from deltaspec.protocol.features.row_tracking import DOMAIN
from deltaspec.selftest.mutants import Method, faulty_commit, mutant
from deltaspec.selftest.writers.commits import change


@mutant(Transaction.assign_row_ids, "row-tracking.base-row-id", suites=("write",))
def no_row_ids_assigned(original: Method, transaction: Transaction) -> None:
    """Writes adds without row ids."""


@faulty_commit("row-tracking.above-mark", "row-tracking.unique-default-ids")
def row_ids_start_at_zero(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Gives the first row of every file the row id 0."""
    return change(actions, Add, lambda each: each if each.base_row_id is None
                  else msgspec.structs.replace(each, base_row_id=0))  # fmt: skip


@faulty_commit("row-tracking.mark-raised", "row-tracking.mark-in-domain")
def mark_not_written(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Does not write the high-water mark."""
    return [each for each in actions if not isinstance(each, DomainMetadata) or each.domain != DOMAIN]


@faulty_commit("row-tracking.high-water-mark")
def mark_of_first_file_written(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes the first fresh row id as the high-water mark, not the last one."""
    fresh = [each.base_row_id for each in actions if isinstance(each, Add) and each.base_row_id is not None]
    if not fresh:
        return actions
    text = msgspec.json.encode({"rowIdHighWaterMark": max(fresh)}).decode()
    return change(actions, DomainMetadata, lambda each: msgspec.structs.replace(each, configuration=text)
                  if each.domain == DOMAIN else each)  # fmt: skip


@faulty_commit("row-tracking.commit-version")
def commit_versions_of_previous_version(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes the version before the commit as the row commit version of new files."""

    def edit(add: Add) -> Add:
        is_new = add.default_row_commit_version == transaction.version > 0
        return msgspec.structs.replace(add, default_row_commit_version=transaction.version - 1) if is_new else add

    return change(actions, Add, edit)


@faulty_commit("remove.row-ids", "row-tracking.base-row-id-kept", origin="rt-002")
def row_ids_of_removes_lost(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes removes without the row ids and commit version of the file."""
    return change(actions, Remove, lambda each: msgspec.structs.replace(
        each, base_row_id=None, default_row_commit_version=None))  # fmt: skip


@mutant(Transaction.add_rows, "row-tracking.stable-for-all", "row-tracking.ids-stored", suites=("write",),
        origin="rt-002")  # fmt: skip
def row_ids_not_stored(original: Method, transaction: Transaction, rows: pa.Table, **options: Any) -> None:
    """Gives rows new ids when their file is rewritten."""
    original(transaction, rows, **{**options, "ids": None, "versions": None})


@mutant(Transaction.add_rows, "row-tracking.versions-stored", suites=("write",))
def commit_versions_not_stored(original: Method, transaction: Transaction, rows: pa.Table, **options: Any) -> None:
    """Keeps the ids of rewritten rows, but not their commit versions."""
    original(transaction, rows, **{**options, "versions": None})


@mutant(Transaction.add_rows, "row-tracking.commit-versions-set", suites=("write",))
def updated_rows_keep_versions(original: Method, transaction: Transaction, rows: pa.Table, **options: Any) -> None:
    """Gives updated rows the commit version 0."""
    if options.get("ids") is not None and options.get("versions") is None:
        options = {**options, "versions": [0] * rows.num_rows}
    original(transaction, rows, **options)


@mutant(Transaction.add_rows, "row-tracking.unique-stable-ids", suites=("write",))
def row_ids_exchanged(original: Method, transaction: Transaction, rows: pa.Table, **options: Any) -> None:
    """Stores the ids of rewritten rows in another order than the rows."""
    ids: Sequence[Any] | None = options.get("ids")
    original(transaction, rows, **{**options, "ids": None if ids is None else list(ids)[::-1]})


@mutant(Transaction.add_rows, "row-tracking.inserted-ids", suites=("write",))
def ids_of_inserted_rows_stored(original: Method, transaction: Transaction, rows: pa.Table, **options: Any) -> None:
    """Stores ids of inserted rows that are not the fresh ones."""
    if options.get("ids") is None:
        options = {**options, "ids": range(1000, 1000 + rows.num_rows)}
    original(transaction, rows, **options)


@mutant(Transaction.remove_rows, "row-tracking.base-row-id-kept", suites=("write",))
def row_ids_fresh_with_vector(original: Method, transaction: Transaction, add: Any, rows: Any, gone: Any) -> None:
    """Assigns fresh row ids to a file that only gets a deletion vector."""
    before = len(transaction.actions)
    original(transaction, add, rows, gone)
    transaction.actions[before:] = change(transaction.actions[before:], Add, lambda each: msgspec.structs.replace(
        each, base_row_id=None, default_row_commit_version=None) if each.path == add.path else each)  # fmt: skip
