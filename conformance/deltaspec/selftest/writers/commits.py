"""Faults in the adds, removes and other actions of a commit."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.candidates.reference.written_files import get_clock_ms
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Action, Add, CommitInfo, DomainMetadata, Protocol, Remove, Txn
from deltaspec.protocol.features.table_properties import has_in_commit_timestamps
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.time_units import HOUR_MS
from deltaspec.selftest.mutants import Method, faulty_commit, mutant
from deltaspec.wire.storage.interface import LOG_DIRECTORY

T = TypeVar("T")


def change(actions: Sequence[Action], kind: type[T], edit: Callable[[T], Action]) -> list[Action]:
    """Return actions; actions of one kind are changed."""
    return [edit(each) if isinstance(each, kind) else each for each in actions]


def drop(actions: Sequence[Action], kind: type[Any]) -> list[Action]:
    """Return actions except actions of one kind."""
    return [each for each in actions if not isinstance(each, kind)]


@faulty_commit("add.unchanged-rows", "add.live-vector-removed")
def removes_forgotten(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Adds rewritten files without removing the old ones."""
    return drop(actions, Remove)


@faulty_commit("add.live-vector-removed", origin="dv-004")
def removes_without_vector(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Removes a file without the deletion vector that it had, so that the logical file stays live."""
    return change(actions, Remove, lambda each: msgspec.structs.replace(each, deletion_vector=None))


@faulty_commit("remove.fields")
def partition_values_of_removes_lost(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes removes with extended metadata, but without their partition values."""
    return change(actions, Remove, lambda each: msgspec.structs.replace(each, partition_values=None))


@faulty_commit("add.size", origin="log-013")
def sizes_zero(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes 0 as the size of every file."""
    return change(actions, Add, lambda each: msgspec.structs.replace(each, size=0))


@faulty_commit("add.unchanged-rows")
def appends_not_marked_as_changes(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes dataChange false for new rows."""
    if transaction.kind != "append":
        return actions
    return change(actions, Add, lambda each: msgspec.structs.replace(each, data_change=False))


@faulty_commit("cdc.whole-changes")
def rearrangements_marked_as_changes(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes dataChange true for removes of files that are only compacted."""
    if transaction.kind != "optimize":
        return actions
    return change(actions, Remove, lambda each: msgspec.structs.replace(each, data_change=True))


@faulty_commit("reconciliation.no-repeated-actions")
def adds_written_twice(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes the last add of a commit twice."""
    return [*actions, *[each for each in actions if isinstance(each, Add)][-1:]]


@faulty_commit("in-commit-timestamp.commit-info-first")
def commit_info_last(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes commitInfo as the last action."""
    return [*actions[1:], actions[0]]


@faulty_commit("in-commit-timestamp.present")
def in_commit_timestamp_missing(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes commits without an in-commit timestamp."""
    return change(actions, CommitInfo, lambda each: msgspec.structs.replace(each, in_commit_timestamp=None))


@faulty_commit("in-commit-timestamp.increases", origin="ict-001")
def clock_trusted(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Takes the in-commit timestamp from a clock that is slow, even if the previous one is later."""
    if not has_in_commit_timestamps(transaction.state.protocol, transaction.state.metadata):
        return actions
    late = HOUR_MS * transaction.version
    return change(actions, CommitInfo, lambda each: msgspec.structs.replace(
        each, in_commit_timestamp=(each.in_commit_timestamp or 0) - late))  # fmt: skip


@faulty_commit("in-commit-timestamp.clock")
def timestamps_counted(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Takes the previous in-commit timestamp plus one millisecond, whatever the clock says."""
    last = transaction.log.read_in_commit_timestamp(transaction.base) if transaction.log is not None else None
    return actions if last is None else _set_timestamp(transaction, actions, last + 1)


@faulty_commit("in-commit-timestamp.clock")
def timestamps_ahead(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Adds a minute to the previous in-commit timestamp if it is later than the clock."""
    last = transaction.log.read_in_commit_timestamp(transaction.base) if transaction.log is not None else None
    is_slow = last is not None and last > get_clock_ms()
    return _set_timestamp(transaction, actions, (last or 0) + 60_000) if is_slow else actions


def _set_timestamp(transaction: Transaction, actions: list[Action], timestamp: int) -> list[Action]:
    """Return actions with another in-commit timestamp, if the table has them."""
    if not has_in_commit_timestamps(transaction.state.protocol, transaction.state.metadata):
        return actions
    return change(actions, CommitInfo, lambda each: msgspec.structs.replace(each, in_commit_timestamp=timestamp))


@faulty_commit("transaction.latest-holds")
def transactions_dropped(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Does not write the transaction of the application."""
    return drop(actions, Txn)


@faulty_commit("transaction.latest-holds")
def transactions_counted_by_the_writer(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes the version of the table as the version of a transaction."""
    return change(actions, Txn, lambda each: msgspec.structs.replace(each, version=transaction.version))


@mutant(Writer.apply, "transaction.atomic", suites=("write",), origin="txn-001")
def transactions_committed_afterwards(
    original: Method, writer: Writer, table: str, operation: Operation, commit: Any, catalog: Any
) -> Any:
    """Writes the transaction in a commit after the commit of the data."""
    if not commit.get("txn"):
        return original(writer, table, operation, commit, catalog)
    original(writer, table, operation, {**commit, "txn": None})
    nothing = {"kind": "set-properties", "properties": {}}
    return original(writer, table, nothing, {"txn": commit["txn"]})


@faulty_commit("domain.preserved")
def domains_dropped(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Does not write domains of users."""
    return [each for each in actions if not isinstance(each, DomainMetadata) or each.domain.startswith("delta.")]


@faulty_commit("domain.fields")
def domain_removals_dropped(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Does not write that a domain is removed."""
    return [each for each in actions if not isinstance(each, DomainMetadata) or not each.removed]


@faulty_commit("domain.fields")
def removed_domains_emptied(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes an empty configuration instead of removing a domain."""
    return change(actions, DomainMetadata, lambda each: msgspec.structs.replace(
        each, removed=False, configuration="" if each.removed else each.configuration))  # fmt: skip


@mutant(Writer.apply, "transaction.atomic", suites=("write",), origin="log-016")
def success_reported_as_conflict(
    original: Method, writer: Writer, table: str, operation: Operation, commit: Any, catalog: Any
) -> Any:
    """Reports a conflict for a delete that was committed."""
    answer = original(writer, table, operation, commit, catalog)
    if operation["kind"] == "delete" and answer["committed"]:
        raise EngineError("conflict", "the lock was lost", phase="commit", retryable=True)
    return answer


@mutant(Writer.apply, "log.versions-atomic", suites=("write",))
def old_version_answered(
    original: Method, writer: Writer, table: str, operation: Operation, commit: Any, catalog: Any
) -> Any:
    """Answers with the version before the commit."""
    answer = original(writer, table, operation, commit, catalog)
    return {**answer, "version": answer["version"] - 1} if answer.get("version") else answer


@mutant(Writer.apply, "transaction.atomic", suites=("write",))
def refusals_committed(
    original: Method, writer: Writer, table: str, operation: Operation, commit: Any, catalog: Any
) -> Any:
    """Leaves an empty commit after it has refused an operation."""
    try:
        return original(writer, table, operation, commit, catalog)
    except EngineError:
        log = Path(table) / LOG_DIRECTORY
        if log.is_dir():
            (log / commit_name(len(list(log.glob("*.json"))))).write_text('{"commitInfo":{}}\n')
        raise


@mutant(Transaction.create_commit, "log.versions-atomic", suites=("write",))
def previous_commit_rewritten(original: Method, transaction: Transaction, data: bytes) -> None:
    """Changes the previous commit file after a commit."""
    original(transaction, data)
    if transaction.version > 0:
        with open(transaction.root / LOG_DIRECTORY / commit_name(transaction.version - 1), "ab") as sink:
            sink.write(b"\n")


@mutant(Writer.append, "log.versions-atomic", suites=("write",))
def neighbours_changed(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Writes a file next to the table."""
    original(writer, transaction, operation)
    (transaction.root.parent / f"{transaction.root.name}.tmp").write_text("left over")


@mutant(Writer.append, "log.versions-atomic", suites=("write",))
def last_rows_lost(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Does not write the last row of an append."""
    rows = transaction.load_rows(operation["rows"])
    transaction.add_rows(rows.slice(0, max(1, rows.num_rows - 1)))


@faulty_commit("protocol.features-stay", origin="proto-008")
def protocol_lowered(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Replaces the protocol by the lowest one when it overwrites a table."""
    if transaction.kind != "overwrite" or transaction.before is None:
        return actions
    return [*actions, Protocol(min_reader_version=1, min_writer_version=2)]
