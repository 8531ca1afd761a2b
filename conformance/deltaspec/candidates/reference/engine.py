"""The reference engine: answers the candidate protocol with a plain reader."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.reference.catalog import check_catalog
from deltaspec.candidates.reference.log_reader import CorruptLog, LoadedTable, LogReader
from deltaspec.candidates.reference.row_reader import (
    FileRows,
    RowReader,
    UnreadableFile,
    UnsupportedType,
    arrow_schema,
)
from deltaspec.candidates.reference.sql_values import UnsupportedExpression
from deltaspec.candidates.reference.table_changes import WRITER_FEATURES
from deltaspec.candidates.reference.writer import Writer
from deltaspec.candidates.serve import EngineError
from deltaspec.errors import DeltaspecError, TableUnreadable
from deltaspec.model.rows.predicate_trees import InvalidPredicate, parse_predicate
from deltaspec.model.rows.predicates import Predicate, evaluate
from deltaspec.model.rows.skipping import PredicateError, can_skip
from deltaspec.protocol.actions import Add, Cdc, Remove
from deltaspec.protocol.features import catalog_managed, change_data
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError, get_vector_id
from deltaspec.protocol.log.segment import BrokenLog, NoCommits, SegmentError, VersionMissing
from deltaspec.protocol.schema.data_types import get_type_name, is_widening, iter_fields
from deltaspec.protocol.schema.schema_string import read_type_changes
from deltaspec.version import __version__
from deltaspec.wire.data.column_resolution import UnresolvableColumns
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import FileGone

READER_FEATURES = (
    catalog_managed.FEATURE,
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantType",
    "variantType-preview",
)
MAX_READER_VERSION = 3


Catalog: TypeAlias = Mapping[str, Any] | None
"""What the catalog of a table knows, as in a request; None for a table that is named by its path alone."""


class Engine:
    """Reads tables with the model; every answer is meant to be exactly what the protocol says.

    The classes and the public methods below `changes` can be replaced, to build faulty readers.
    """

    log_reader = LogReader
    row_reader = RowReader
    writer = Writer

    def hello(self) -> dict[str, Any]:
        """Return what the reference supports."""
        return {
            "name": "deltaspec reference",
            "version": __version__,
            "language": "Python",
            "want": ["files", "transactions", "domains"],
            "at": ["version", "timestamp_ms"],
            "row_ids": True,
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            "reader_features": list(READER_FEATURES),
            "max_reader_version": MAX_READER_VERSION,
            "kinds": list(self.writer().kinds),
            "writer_features": [*WRITER_FEATURES, catalog_managed.FEATURE],
            "catalog": ["staged", "inline"],
        }

    def snapshot(
        self,
        table: str,
        *,
        at: dict[str, int] | None,
        want: Sequence[str],
        app_ids: Sequence[str],
        catalog: Catalog = None,
    ) -> dict[str, Any]:
        """Return the state of a version."""
        with _translate_errors("snapshot"):
            log = self.log_reader(table, catalog)
            state = self.load(log, at)
            snapshot = state.snapshot
            answer: dict[str, Any] = {
                "version": snapshot.version,
                "timestamp_ms": log.get_timestamp_ms(state),
                "in_commit_timestamp": log.read_in_commit_timestamp(snapshot),
                "protocol": _to_wire(state.protocol),
                "metadata": _to_wire(state.metadata),
            }
            if "files" in want:
                answer["files"] = [
                    {"path": add.path, "size": add.size, "deletion_vector_id": get_vector_id(add)}
                    for add in snapshot.files.values()
                ]
            if "transactions" in want:
                answer["transactions"] = {app: txn.version for app, txn in snapshot.transactions.items()}
            if "domains" in want:
                answer["domains"] = {name: each.configuration for name, each in snapshot.domains.items()}
            return answer

    def scan(
        self,
        table: str,
        *,
        at: dict[str, int] | None,
        columns: Sequence[Sequence[str]] | None,
        predicate: str | None,
        predicate_tree: Any,
        row_ids: bool,
        catalog: Catalog = None,
    ) -> dict[str, Any]:
        """Return the rows of a version."""
        with _translate_errors("snapshot"):
            log = self.log_reader(table, catalog)
            state = self.load(log, at)
            condition = None if predicate_tree is None else parse_predicate(predicate_tree, state.schema)
        with _translate_errors("scan"):
            reader = self.row_reader(log.access, state)
            files = [add for add in state.snapshot.files.values() if not self.skips(condition, add, state)]
            parts = [self.read_file(reader, add, condition, row_ids=row_ids) for add in files]
            counts = {"files_read": len(files), "files_skipped": len(state.snapshot.files) - len(files)}
            if columns is not None and not columns:
                return {"rows": None, "num_rows": sum(part.num_rows for part in parts), **counts}
            rows = pa.concat_tables(parts) if parts else self._build_empty(state, row_ids=row_ids)
            return {"rows": rows if columns is None else self.select_columns(rows, columns), **counts}

    def changes(
        self,
        table: str,
        *,
        start: int,
        end: int | None,
        columns: Sequence[Sequence[str]] | None,
        predicate: str | None,
        predicate_tree: Any,
        catalog: Catalog = None,
    ) -> pa.Table:
        """Return the changed rows of a range of versions."""
        with _translate_errors("changes"):
            log = self.log_reader(table, catalog)
            last = log.find_versions()[1] if end is None else end
            before, parts = None, []
            for state in log.iter_states(start, last):
                self.check_supported(state)
                self.check_catalog(log, state)
                if state.snapshot.version >= start:
                    parts.append(self.read_changes(log, before, state))
                before = state
            return pa.concat_tables(parts, promote_options="default")

    def apply(
        self,
        table: str,
        *,
        operation: dict[str, Any],
        commit: dict[str, Any] | None,
        catalog: Catalog = None,
    ) -> dict[str, Any]:
        """Perform an operation."""
        with _translate_errors("commit"):
            return self.writer().apply(table, operation, commit or {}, catalog)

    def load(self, log: LogReader, at: dict[str, int] | None) -> LoadedTable:
        """Return the state of a version or timestamp; None for the newest."""
        version = None
        if at is not None:
            version = at.get("version")
            if version is None:
                version = log.find_version_at(at["timestamp_ms"])
                if version is None:
                    raise EngineError("not-found", "no version is that old", phase="snapshot")
        state = log.read_state(version)
        self.check_supported(state)
        self.check_catalog(log, state)
        return state

    def check_catalog(self, log: LogReader, state: LoadedTable) -> None:
        """Raise `EngineError` if only a catalog knows the commits of the table, and the request has no catalog."""
        check_catalog(log, state)

    def check_supported(self, state: LoadedTable) -> None:
        """Raise `EngineError` if the table needs something that the reader does not know."""
        check_supported(state)

    def skips(self, condition: Predicate | None, add: Add, state: LoadedTable) -> bool:
        """Return whether no row of a file can match a condition."""
        if condition is None:
            return False
        try:
            return can_skip(condition, add, state.schema, state.partition_columns, state.mapping)
        except PredicateError:
            return False

    def read_file(self, reader: RowReader, add: Add, condition: Predicate | None, *, row_ids: bool) -> pa.Table:
        """Return the rows of a file for which a condition is true."""
        rows = reader.read(add)
        table = rows.table
        if row_ids:
            for name, values in (("__row_id", rows.row_ids), ("__row_commit_version", rows.row_commit_versions)):
                column = pa.nulls(table.num_rows, pa.int64()) if values is None else pa.array(values, pa.int64())
                table = table.append_column(name, column)
        if condition is not None:
            found = [self.matches(condition, row) for row in list_model_rows(rows.table)]
            table = table.filter(pa.array(found, pa.bool_()))
        return table

    def matches(self, condition: Predicate, row: Mapping[str, Any]) -> bool:
        """Return whether a condition is true for a row."""
        return evaluate(condition, row) is True

    def select_columns(self, rows: pa.Table, columns: Sequence[Sequence[str]]) -> pa.Table:
        """Return columns and nested fields by their paths."""
        return select_columns(rows, columns)

    def _build_empty(self, state: LoadedTable, *, row_ids: bool) -> pa.Table:
        schema = arrow_schema(state.schema)
        if row_ids:
            schema = schema.append(pa.field("__row_id", pa.int64()))
            schema = schema.append(pa.field("__row_commit_version", pa.int64()))
        return schema.empty_table()

    def read_changes(self, log: LogReader, before: LoadedTable | None, state: LoadedTable) -> pa.Table:
        """Return the changes of a version: its change data files, or else its adds and removes."""
        version = state.snapshot.version
        actions = log.read_commit(version)
        reader = self.row_reader(log.access, state)
        recorded = [each for each in actions if isinstance(each, Cdc)]
        if recorded:
            parts = []
            for each in recorded:
                rows = reader.read(each, hidden=(change_data.CHANGE_TYPE,))
                parts.append(_append_kinds(rows.table, rows.extra[change_data.CHANGE_TYPE]))
        else:
            parts = self.compare_files(reader, before, state, actions)
        table = pa.concat_tables(parts) if parts else _append_kinds(arrow_schema(state.schema).empty_table(), [])
        count = table.num_rows
        moment = pa.array([log.get_timestamp_ms(state) * 1000] * count, pa.int64())
        table = table.append_column("_commit_version", pa.array([version] * count, pa.int64()))
        return table.append_column("_commit_timestamp", moment.cast(pa.timestamp("us", "UTC")))

    def compare_files(
        self, reader: RowReader, before: LoadedTable | None, state: LoadedTable, actions: Sequence[Any]
    ) -> list[pa.Table]:
        """Return inserted and deleted rows of a commit without change data files.

        A file that gets another deletion vector is removed and added; only rows that the vectors mark differently are
        changed.
        """
        old = {} if before is None else {add.path: add for add in before.snapshot.files.values()}
        # removed files have the partition columns of the version before
        old_reader = reader if before is None else reader.with_partitions_of(before)
        added = {each.path: each for each in actions if isinstance(each, Add) and each.data_change}
        removed = [each for each in actions if isinstance(each, Remove) and each.data_change]
        parts = []
        for path, add in added.items():
            rows = reader.read(add)
            gone = set(old_reader.read(old[path]).indexes) if path in old else set()
            parts.append(_pick(rows, "insert", without=gone))
        for each in removed:
            # without the version before, because cleanup removed it, the remove has to describe the file
            rows = old_reader.read(old.get(each.path, each))
            kept = set(reader.read(added[each.path]).indexes) if each.path in added else set()
            parts.append(_pick(rows, "delete", without=kept))
        return parts


def _pick(rows: FileRows, kind: str, *, without: Collection[int]) -> pa.Table:
    """Return rows with a change type; `without` has indexes of rows to leave out."""
    mask = [index not in without for index in rows.indexes]
    table = rows.table.filter(pa.array(mask, pa.bool_()))
    return _append_kinds(table, [kind] * table.num_rows)


def _append_kinds(table: pa.Table, kinds: Sequence[Any]) -> pa.Table:
    return table.append_column(change_data.CHANGE_TYPE, pa.array(kinds, pa.string()))


def select_columns(table: pa.Table, columns: Sequence[Sequence[str]]) -> pa.Table:
    """Return columns and nested fields by their paths."""
    found, names = [], []
    for path in columns:
        column = table.column(path[0]).combine_chunks()
        for name in path[1:]:
            fields = [column.type.field(position).name for position in range(column.type.num_fields)]
            column = column.flatten()[fields.index(name)]
        found.append(column)
        names.append(".".join(path))
    return pa.table(found, names=names)


def check_supported(state: LoadedTable) -> None:
    """Raise `EngineError` if the table needs something that the reference does not know."""
    protocol = state.protocol
    if protocol.min_reader_version > MAX_READER_VERSION:
        raise EngineError("unsupported", f"minReaderVersion is {protocol.min_reader_version}", phase="snapshot")
    unknown = sorted(set(protocol.reader_features or ()) - set(READER_FEATURES))
    if unknown:
        raise EngineError("unsupported", f"unknown reader features {', '.join(unknown)}", features=unknown)
    changes = list_unsupported_type_changes(state)
    if changes:
        raise EngineError("unsupported", f"unsupported type changes: {'; '.join(changes)}", features=["typeWidening"])


def list_unsupported_type_changes(state: LoadedTable) -> list[str]:
    """Return the recorded type changes that type widening does not allow."""
    if not any(supports(state.protocol, name) for name in ("typeWidening", "typeWidening-preview")):
        return []
    return [
        f"{'.'.join(path)}: {get_type_name(change.before)} to {get_type_name(change.after)}"
        for path, field in iter_fields(state.schema)
        for change in read_type_changes(field)
        if not is_widening(change.before, change.after)
    ]


def _to_wire(action: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(action)
    return found


@contextmanager
def _translate_errors(phase: str) -> Iterator[None]:
    """Turn errors of the reader into errors of the candidate protocol."""
    try:
        yield
    except EngineError:
        raise
    except (UnsupportedType, UnsupportedExpression) as error:
        raise EngineError("unsupported", str(error), phase=phase) from error
    except InvalidPredicate as error:
        raise EngineError("invalid-request", str(error), phase=phase) from error
    except (NoCommits, VersionMissing, TableUnreadable) as error:
        raise EngineError("not-found", str(error), phase=phase) from error
    except (BrokenLog, CorruptLog, DeletionVectorError, UnreadableRows, UnreadableFile, UnresolvableColumns, FileGone,
            SegmentError) as error:  # fmt: skip
        raise EngineError("corrupt", str(error), phase=phase) from error
    except DeltaspecError as error:
        raise EngineError("io", str(error), phase=phase) from error
