"""Faults in optimize, restore and vacuum."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Add
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.storage.interface import LOG_DIRECTORY

EXISTS = "add.file-exists"


@mutant(Writer.list_paths, EXISTS, suites=("write",), origin="vac-001")
def vectors_vacuumed(original: Method, writer: Writer, action: Any) -> list[str]:
    """Deletes the files of deletion vectors of live files."""
    return original(writer, action)[:1]  # type: ignore[no-any-return]


@mutant(Writer.vacuum, EXISTS, suites=("write",))
def live_files_vacuumed(original: Method, writer: Writer, table: str, log: LogReader, operation: Operation) -> None:
    """Deletes the oldest live file in addition."""
    original(writer, table, log, operation)
    for add in list(log.read_state().snapshot.files.values())[:1]:
        (Path(table) / add.path).unlink(missing_ok=True)


@mutant(Writer.vacuum, "remove.expires", suites=("write",), origin="vac-002")
def young_tombstones_vacuumed(
    original: Method, writer: Writer, table: str, log: LogReader, operation: Operation
) -> None:
    """Deletes removed files that are younger than the retention."""
    original(writer, table, log, operation)
    for remove in log.read_state().snapshot.tombstones.values():
        if remove.path not in {add.path for add in log.read_state().snapshot.files.values()}:
            (Path(table) / remove.path).unlink(missing_ok=True)


@mutant(Writer.open, "vacuum-protocol-check.checked-before-vacuum", suites=("write",))
def protocol_not_checked_by_vacuum(original: Method, writer: Writer, table: str, log: LogReader, kind: str) -> Any:
    """Vacuums tables with writer features that it does not know."""
    if kind == "vacuum":
        return writer.transaction(table, log, log.read_state(), kind)
    return original(writer, table, log, kind)


@mutant(Writer.open, "vacuum-protocol-check.checked-before-vacuum", suites=("write",))
def protocol_checked_after_vacuum(original: Method, writer: Writer, table: str, log: LogReader, kind: str) -> Any:
    """Checks the protocol only after it has deleted the files."""
    try:
        return original(writer, table, log, kind)
    except EngineError:
        if kind == "vacuum":
            writer.vacuum(table, log, {"retention_hours": 0})
        raise


@mutant(Writer.vacuum, "log.cleanup-keeps-commit-of-checkpoint", suites=("write",), origin="clean-001")
def commits_vacuumed(original: Method, writer: Writer, table: str, log: LogReader, operation: Operation) -> None:
    """Deletes the first commit although no checkpoint replaces it."""
    original(writer, table, log, operation)
    if not (Path(table) / LOG_DIRECTORY / "_last_checkpoint").exists():
        (Path(table) / LOG_DIRECTORY / f"{0:020}.json").unlink(missing_ok=True)


@mutant(Writer.optimize, "add.unchanged-rows", suites=("write",))
def deleted_rows_compacted(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Compacts files without applying their deletion vectors."""
    reader = transaction.reader
    base = [msgspec.structs.replace(add, deletion_vector=None) for add in transaction.base.files.values()]
    files = list(zip(transaction.base.files.values(), map(reader.read, base), strict=True))
    transaction.read_files = lambda: files  # type: ignore[method-assign]
    original(writer, transaction, operation)


@mutant(Writer.optimize, "add.unchanged-rows", suites=("write",))
def last_row_lost_when_compacted(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Loses the last row of compacted files."""
    add_rows = transaction.add_rows

    def add_fewer(rows: pa.Table, **options: Any) -> None:
        fewer: dict[str, Any] = {
            key: value[:-1] if isinstance(value, Sequence) else value for key, value in options.items()
        }
        add_rows(rows.slice(0, rows.num_rows - 1), **fewer)

    transaction.add_rows = add_fewer  # type: ignore[method-assign]
    original(writer, transaction, operation)


@mutant(Writer.restore, "reconciliation.file-under-several-vectors", suites=("write",), origin="dv-013")
def vectors_not_restored(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Compares only the paths of files with the restored version, not their deletion vectors."""
    assert transaction.log is not None
    paths = {add.path for add in transaction.base.files.values()}
    target = {add.path for add in transaction.log.read_state(operation["version"]).snapshot.files.values()}
    original(writer, transaction, operation)
    transaction.actions = [
        each for each in transaction.actions if getattr(each, "path", None) not in paths & target
    ]  # fmt: skip


@mutant(Writer.restore, "reconciliation.file-under-several-vectors", suites=("write",))
def newer_files_kept(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Adds the files of the restored version without removing the newer ones."""
    original(writer, transaction, operation)
    transaction.actions = [each for each in transaction.actions if isinstance(each, Add)]


@mutant(Writer.overwrite, "cdc.whole-changes", suites=("write",))
def replaced_rows_kept(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    """Keeps the rows that an overwrite with a condition replaces."""
    if operation.get("where") is not None:
        writer.append(transaction, operation)
    else:
        original(writer, transaction, operation)


@mutant(Transaction.find_matches, "cdc.whole-changes", suites=("write",))
def unknown_matches(original: Method, transaction: Transaction, rows: pa.Table, where: Any) -> list[bool]:
    """Deletes and updates rows whose values are null if a condition compares them."""
    found: list[bool] = original(transaction, rows, where)
    tree = (where or {}).get("tree")
    if tree is None or tree[0] not in ("=", "<", ">", "<=", ">="):
        return found
    column = rows.column(tree[1][1]).to_pylist()
    return [each or value is None for each, value in zip(found, column, strict=True)]


@mutant(Transaction.remove_rows, "deletion-vectors.rows-exist", suites=("write",), origin="dv-004")
def earlier_deletions_forgotten(original: Method, transaction: Transaction, add: Any, rows: Any, gone: Any) -> None:
    """Writes only the newly deleted rows into the next deletion vector of a file."""
    transaction.reader.read_deleted_rows = lambda action: set()  # type: ignore[method-assign]
    try:
        original(transaction, add, rows, gone)
    finally:
        del transaction.reader.read_deleted_rows


@mutant(Transaction.remove_rows, "column-mapping.read-by-physical-name", suites=("write",), origin="dv-016")
def vectors_refused_with_mapping(original: Method, transaction: Transaction, add: Any, rows: Any, gone: Any) -> None:
    """Fails to delete rows by a vector if columns are mapped."""
    if transaction.state.mapping and transaction.is_enabled(DELETION_VECTORS) and any(gone):
        raise EngineError("corrupt", "no column with the index of the row", phase="commit")
    original(transaction, add, rows, gone)
