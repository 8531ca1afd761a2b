"""Faults that show only if several writers work at once."""

import os
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import msgspec

from deltaspec.candidates.reference.checkpoint_writer import encode_lines
from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.written_files import write_new_file
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Action, DomainMetadata
from deltaspec.protocol.features.row_tracking import DOMAIN
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.selftest.races import wait_turn
from deltaspec.wire.storage.interface import LOG_DIRECTORY

ATOMIC, MARK = "log.versions-atomic", "row-tracking.high-water-mark"


def _write_over(transaction: Transaction, data: bytes) -> None:
    """Write a commit over one that exists."""
    log = transaction.root / LOG_DIRECTORY
    log.mkdir(parents=True, exist_ok=True)
    temporary = log / f".{uuid4()}.tmp"
    write_new_file(temporary, data)
    os.replace(temporary, log / commit_name(transaction.version))


@mutant(Transaction.create_commit, ATOMIC, suites=("races",))
def commits_overwritten(original: Method, transaction: Transaction, data: bytes) -> None:
    """Replaces a commit that another writer has made."""
    _write_over(transaction, data)


@mutant(Transaction.create_commit, ATOMIC, suites=("races",))
def existence_checked_before(original: Method, transaction: Transaction, data: bytes) -> None:
    """Checks that the commit does not exist, and writes it later."""
    if (transaction.root / LOG_DIRECTORY / commit_name(transaction.version)).exists():
        raise EngineError("conflict", "the version exists", phase="commit", retryable=True)
    wait_turn()
    _write_over(transaction, data)


@mutant(Transaction.create_commit, ATOMIC, suites=("races",), origin="log-014")
def commits_filled_later(original: Method, transaction: Transaction, data: bytes) -> None:
    """Creates an empty commit file and fills it later."""
    original(transaction, b"")
    wait_turn()
    with open(transaction.root / LOG_DIRECTORY / commit_name(transaction.version), "wb") as sink:
        sink.write(data)


@mutant(Transaction.create_commit, ATOMIC, suites=("races",))
def commits_written_in_parts(original: Method, transaction: Transaction, data: bytes) -> None:
    """Writes the first line of a commit, and the others later."""
    first = data.index(b"\n") + 1
    original(transaction, data[:first])
    wait_turn()
    with open(transaction.root / LOG_DIRECTORY / commit_name(transaction.version), "ab") as sink:
        sink.write(data[first:])


def _rebase(
    original: Method,
    transaction: Transaction,
    options: Mapping[str, Any],
    reassign: Callable[[Transaction], object] = lambda _: None,
) -> int:
    """Commit as the next free version; if another writer was faster, without looking at what it did."""
    try:
        return int(original(transaction, options))
    except EngineError as error:
        if error.category != "conflict":
            raise
    actions = transaction.actions
    while True:
        transaction.before = LogReader(str(transaction.root)).read_state()
        transaction.actions = list(actions)
        reassign(transaction)
        try:
            transaction.create_commit(encode_lines([transaction.build_commit_info(), *transaction.actions]))
        except EngineError:
            continue
        return transaction.version


@mutant(Transaction.commit, "log.versions-atomic", suites=("races",), origin="dv-014")
def conflicts_not_checked(original: Method, transaction: Transaction, options: Mapping[str, Any]) -> int:
    """Commits deletes and rewritten files as the next version, although another writer has changed the files."""
    return _rebase(original, transaction, options)


@mutant(Transaction.commit, "row-tracking.above-mark", suites=("races",), origin="rt-001")
def row_ids_not_reassigned(original: Method, transaction: Transaction, options: Mapping[str, Any]) -> int:
    """Commits appends as the next version with the row ids of the version before."""
    if transaction.kind != "append":
        return int(original(transaction, options))
    return _rebase(original, transaction, options)


@mutant(Transaction.commit, MARK, suites=("races",), origin="rt-001")
def mark_not_raised_again(original: Method, transaction: Transaction, options: Mapping[str, Any]) -> int:
    """Commits appends as the next version with fresh row ids, but with the high-water mark of the version before."""
    if transaction.kind != "append":
        return int(original(transaction, options))

    def reassign(again: Transaction) -> None:
        mark = [each for each in again.actions if isinstance(each, DomainMetadata) and each.domain == DOMAIN]
        again.actions = [_without_row_id(each) for each in again.actions if each not in mark]
        again.assign_row_ids()
        again.actions = [*(each for each in again.actions if getattr(each, "domain", "") != DOMAIN), *mark]

    return _rebase(original, transaction, options, reassign)


def _without_row_id(action: Action) -> Action:
    if getattr(action, "base_row_id", None) is None:
        return action
    return msgspec.structs.replace(action, base_row_id=None, default_row_commit_version=None)


@mutant(Transaction.commit, "transaction.atomic", suites=("races",), origin="log-016")
def repeated_commits_reported_as_failed(original: Method, transaction: Transaction, options: Mapping[str, Any]) -> int:
    """Reports a conflict for an append although it has become the next version."""
    if transaction.kind != "append":
        return int(original(transaction, options))
    version = _rebase(original, transaction, options)
    if version != int(transaction.state.snapshot.version) + 1:
        raise EngineError("conflict", "the version exists", phase="commit", retryable=True)
    return version


@mutant(Transaction.commit, "transaction.atomic", suites=("races",), origin="txn-001")
def lost_races_reported_as_success(original: Method, transaction: Transaction, options: Mapping[str, Any]) -> int:
    """Answers that an operation was committed although another writer was faster."""
    try:
        return int(original(transaction, options))
    except EngineError:
        return transaction.version
