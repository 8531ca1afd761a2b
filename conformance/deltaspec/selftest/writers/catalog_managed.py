"""Faults in writing to tables that a catalog manages."""

import uuid
from pathlib import Path

from deltaspec.candidates.reference.catalog import create_file
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.protocol.log.file_names import STAGED_COMMITS, commit_name, staged_commit_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.storage.interface import LOG_DIRECTORY

COMMITTED, FOUND = "catalog-managed.committed-by-catalog", "catalog-managed.found-by-writers"
NOT_REUSED, SOON = "log.staged-not-reused", "catalog-managed.published-soon"


@mutant(Writer.check_catalog, COMMITTED, FOUND, suites=("catalog",))
def path_alone_written(original: Method, writer: Writer, log: LogReader, state: LoadedTable) -> None:
    """Writes to a catalog-managed table by its path alone."""


@mutant(Transaction.create_commit, COMMITTED, suites=("catalog",))
def commits_written_to_the_log(original: Method, transaction: Transaction, data: bytes) -> None:
    """Asks the catalog for the latest version, but writes the next commit to the log itself."""
    create_file(transaction.root / LOG_DIRECTORY / commit_name(transaction.version), data)


@mutant(Transaction.stage, COMMITTED, suites=("catalog",))
def staged_and_published(original: Method, transaction: Transaction, data: bytes) -> str:
    """Publishes a commit before the catalog has ratified it."""
    staged: str = original(transaction, data)
    create_file(transaction.root / LOG_DIRECTORY / commit_name(transaction.version), data)
    return staged


@mutant(Transaction.stage, NOT_REUSED, suites=("catalog",))
def staged_file_moved(original: Method, transaction: Transaction, data: bytes) -> str:
    """Reuses the file of an earlier attempt: renames it to the new version."""
    staged: str = original(transaction, data)
    folder = transaction.root / LOG_DIRECTORY / STAGED_COMMITS
    for path in sorted(folder.glob("*.json")):
        if int(path.name[:20]) == transaction.version - 1 and len(list(folder.glob(f"{path.name[:20]}.*"))) > 1:
            path.rename(folder / f"{transaction.version:020d}{path.name[20:]}")
    return staged


@mutant(Transaction.stage, NOT_REUSED, suites=("catalog",))
def one_staged_name_for_each_version(original: Method, transaction: Transaction, data: bytes) -> str:
    """Names a staged commit by its version alone, so that an attempt overwrites another."""
    name = staged_commit_name(transaction.version, str(uuid.UUID(int=transaction.version, version=4)))
    path = transaction.root / LOG_DIRECTORY / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return name.removeprefix(STAGED_COMMITS)


@mutant(Writer.publish, SOON, suites=("catalog",))
def ratified_commits_not_published(
    original: Method, writer: Writer, table: str, log: LogReader, operation: Operation
) -> None:
    """Publishes nothing."""


@mutant(Writer.publish, "catalog-managed.published-copies-ratified", suites=("catalog",))
def other_content_published(original: Method, writer: Writer, table: str, log: LogReader, operation: Operation) -> None:
    """Publishes commits without their last line break."""
    assert log.catalog is not None
    for version in log.catalog.sources:
        path = f"{LOG_DIRECTORY}/{commit_name(version)}"
        (Path(table) / path).write_bytes(log.store.read(path, log.store.size(path)).rstrip(b"\n"))


@mutant(Writer.check_maintenance, "catalog-managed.maintenance-permitted", suites=("catalog",))
def maintenance_without_permission(original: Method, writer: Writer, log: LogReader, kind: str) -> None:
    """Vacuums and compacts files although the catalog does not permit it."""


@mutant(Writer.find_newest_published, "catalog-managed.published-before-maintenance", suites=("catalog",))
def unpublished_version_checkpointed(original: Method, writer: Writer, table: str, log: LogReader) -> None:
    """Writes a checkpoint of the latest version although it is not published."""
