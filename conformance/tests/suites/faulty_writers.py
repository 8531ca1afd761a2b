"""Reference writers with one fault each."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Action, Add, Remove
from deltaspec.protocol.log.file_names import commit_name


class _LosesARow(Writer):
    def append(self, transaction: Transaction, operation: Operation) -> None:
        rows = transaction.load_rows(operation["rows"])
        transaction.add_rows(rows.slice(0, max(1, rows.num_rows - 1)))


class _UncheckedTransaction(Transaction):
    """Does not ask the model."""

    def check_actions(self, actions: Sequence[Action]) -> None:
        """Accept all actions."""


class _ChangesActions(Writer):
    """Changes the actions of commits after the first."""

    transaction = _UncheckedTransaction

    def open(self, table: str, log: LogReader, kind: str) -> Transaction:
        transaction = super().open(table, log, kind)
        commit = transaction.commit

        def commit_changed(options: Mapping[str, Any]) -> int:
            transaction.actions = [new for each in transaction.actions for new in self.change(each)]
            return commit(options)

        transaction.commit = commit_changed  # type: ignore[method-assign]
        return transaction

    def change(self, action: Any) -> list[Any]:
        raise NotImplementedError


class WritesWrongBounds(_ChangesActions):
    def change(self, action: Any) -> list[Any]:
        if not isinstance(action, Add) or action.stats is None:
            return [action]
        stats = json.loads(action.stats)
        stats["minValues"] = {name: 10**6 for name, value in stats["minValues"].items() if isinstance(value, int)}
        return [msgspec.structs.replace(action, stats=json.dumps(stats))]


class _WritesWrongNumRecords(_ChangesActions):
    def change(self, action: Any) -> list[Any]:
        if not isinstance(action, Add) or action.stats is None:
            return [action]
        stats = json.loads(action.stats)
        return [msgspec.structs.replace(action, stats=json.dumps({**stats, "numRecords": stats["numRecords"] + 1}))]


class _ForgetsRemoves(_ChangesActions):
    def change(self, action: Any) -> list[Any]:
        return [] if isinstance(action, Remove) else [action]


class WritesWrongCardinality(_ChangesActions):
    def change(self, action: Any) -> list[Any]:
        vector = getattr(action, "deletion_vector", None)
        if not isinstance(action, Add) or vector is None:
            return [action]
        wrong = msgspec.structs.replace(vector, cardinality=vector.cardinality + 1)
        return [msgspec.structs.replace(action, deletion_vector=wrong)]


class _ChangesAnExistingFile(Writer):
    def append(self, transaction: Transaction, operation: Operation) -> None:
        super().append(transaction, operation)
        with open(transaction.root / "_delta_log" / commit_name(0), "ab") as sink:
            sink.write(b"\n")


class _WritesOutsideTheTable(Writer):
    def append(self, transaction: Transaction, operation: Operation) -> None:
        super().append(transaction, operation)
        (transaction.root.parent / "neighbour" / "file").write_text("changed")


class _LosesDomains(Writer):
    def apply(self, table: str, operation: Operation, commit: Mapping[str, Any], catalog: Any = None) -> dict[str, Any]:
        return super().apply(table, operation, {**commit, "domains": None}, catalog)


class _TransactionWithoutConstraints(_UncheckedTransaction):
    def check_rows(self, rows: pa.Table) -> None:
        """Accept every row."""


class _AcceptsForbiddenRows(Writer):
    transaction = _TransactionWithoutConstraints


class _LeavesACommitAfterRefusing(Writer):
    def apply(self, table: str, operation: Operation, commit: Mapping[str, Any], catalog: Any = None) -> dict[str, Any]:
        try:
            return super().apply(table, operation, commit, catalog)
        except EngineError:
            log = Path(table) / "_delta_log"
            (log / commit_name(len(list(log.glob("*.json"))))).write_text('{"commitInfo":{}}\n')
            raise


FAULTY_WRITERS: dict[type[Writer], str] = {
    _LosesARow: "write.rows",
    WritesWrongBounds: "write.valid",
    _WritesWrongNumRecords: "write.valid",
    _ForgetsRemoves: "write.valid",
    WritesWrongCardinality: "write.valid",
    _ChangesAnExistingFile: "write.files",
    _WritesOutsideTheTable: "write.files",
    _LosesDomains: "write.state",
    _AcceptsForbiddenRows: "write.refusals",
    _LeavesACommitAfterRefusing: "write.refusals",
}
"""Each writer with the check that must fail."""


def build_engine(kind: type[Writer]) -> Engine:
    """Return the reference engine with another writer."""
    engine = Engine()
    engine.writer = kind  # type: ignore[method-assign, assignment]
    return engine
