"""The reference writer: independent of `TableHistory` on purpose, so that tests can compare two implementations.

It performs the operations of `apply` with the model, and asks the model before each commit.
"""

import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.reference.catalog import (
    check_catalog,
    check_compaction,
    check_maintenance,
    find_newest_published,
    publish_commits,
)
from deltaspec.candidates.reference.checkpoint_writer import CheckpointWriter, encode_lines
from deltaspec.candidates.reference.log_cleaner import LogCleaner
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.row_reader import repeat_value
from deltaspec.candidates.reference.table_changes import (
    add_column,
    build_protocol,
    build_table,
    change_properties,
    check_properties,
    find_needed_features,
    list_new_columns,
    parse_type,
    replace_schema,
    set_default,
    upgrade_protocol,
    widen_field,
)
from deltaspec.candidates.reference.taken_files import list_cloned_domains, list_cloned_files, list_converted_files
from deltaspec.candidates.reference.transaction import Transaction, check_protocol
from deltaspec.candidates.reference.written_files import get_clock_ms, write_new_file
from deltaspec.candidates.serve import EngineError
from deltaspec.model.log.checksums import build_checksum
from deltaspec.model.log.compaction import build_compaction
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.model.rows.predicate_trees import find_type, parse_literal
from deltaspec.protocol.actions import Action, CommitInfo, DomainMetadata, MetaData
from deltaspec.protocol.features.clustering import DOMAIN as CLUSTERING_DOMAIN
from deltaspec.protocol.features.clustering import FEATURE as CLUSTERING
from deltaspec.protocol.features.identity_columns import read_identity
from deltaspec.protocol.features.supported_features import get_reader_features, get_supported_features
from deltaspec.protocol.files.deletion_vectors import build_relative_path
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log import file_names
from deltaspec.protocol.log.version_checksum import VersionChecksum
from deltaspec.protocol.property_names import CONSTRAINT_PREFIX, TYPE_WIDENING
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.protocol.time_units import HOUR_MS
from deltaspec.wire.storage.interface import LOG_DIRECTORY

Operation: TypeAlias = Mapping[str, Any]
_CHANGE_DATA, _LOG = "_change_data", LOG_DIRECTORY


class Writer:
    """Performs operations on tables in local directories.

    The transactions and the public methods can be replaced, to build faulty writers.
    """

    transaction = Transaction
    derived_files = CheckpointWriter
    log_cleaner = LogCleaner

    def __init__(self) -> None:
        self.commits: dict[str, Callable[[Transaction, Operation], None]] = {
            "replace": self.replace,
            "append": self.append,
            "append-with-evolution": self.append_with_evolution,
            "overwrite": self.overwrite,
            "overwrite-partitions": self.overwrite_partitions,
            "delete": self.delete,
            "update": self.update,
            "merge": self.merge,
            "merge-with-evolution": self.merge_with_evolution,
            "optimize": self.optimize,
            "purge": self.purge,
            "restore": self.restore,
            "set-properties": self.set_properties,
            "add-column": self.add_column,
            "rename-column": self.rename_column,
            "drop-column": self.drop_column,
            "widen-column": self.widen_column,
            "set-default": self.set_default,
            "cluster-by": self.cluster_by,
            "add-feature": self.add_feature,
            "drop-feature": self.drop_feature,
            "add-constraint": self.add_constraint,
            "drop-constraint": self.drop_constraint,
        }
        self.maintenance: dict[str, Callable[[str, LogReader, Operation], None]] = {
            "checkpoint": self.write_checkpoint,
            "checksum": self.write_checksum,
            "compact-log": self.compact_log,
            "vacuum": self.vacuum,
            "cleanup-log": self.clean_up_log,
            "publish": self.publish,
        }
        self.creations: dict[str, Callable[[Transaction, Operation], None]] = {
            "create": self.create,
            "convert": self.convert,
            "clone": self.clone,
        }
        self.kinds = (*self.creations, *self.commits, *self.maintenance)

    def apply(
        self, table: str, operation: Operation, commit: Mapping[str, Any], catalog: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Perform an operation and return the fields of the answer. Raises `EngineError`."""
        kind = operation["kind"]
        if kind in self.creations:
            if (Path(table) / _LOG / file_names.commit_name(0)).exists():
                raise EngineError("invalid-request", "the table exists", phase="commit")
            transaction = self.transaction(table, None, None, kind)
            self.creations[kind](transaction, operation)
            return {"committed": True, "version": transaction.commit(commit)}
        if kind not in self.kinds:
            raise EngineError("unsupported", f"the kind {kind} is not offered", code="operation", phase="commit")
        log = LogReader(table, catalog)
        transaction = self.open(table, log, kind)
        self.check_maintenance(log, kind)
        if kind in self.maintenance:
            self.maintenance[kind](table, log, operation)
            return {"committed": False}
        self.commits[kind](transaction, operation)
        if not transaction.actions and not commit.get("txn") and not commit.get("domains"):
            return {"committed": False}
        version = transaction.commit(commit)
        if transaction.staged is not None:
            return {"committed": False, "version": version, "staged": transaction.staged}
        return {"committed": True, "version": version}

    def open(self, table: str, log: LogReader, kind: str) -> Transaction:
        """Return a transaction on the newest version."""
        state = log.read_state()
        self.check_protocol(state)
        self.check_catalog(log, state)
        return self.transaction(table, log, state, kind)

    def check_protocol(self, state: LoadedTable) -> None:
        """Raise `EngineError` if the table needs something that the writer does not know."""
        check_protocol(state)

    def check_catalog(self, log: LogReader, state: LoadedTable) -> None:
        """Raise `EngineError` if a catalog manages the table, and the request does not say what it knows."""
        check_catalog(log, state, phase="commit")

    def check_maintenance(self, log: LogReader, kind: str) -> None:
        """Raise `EngineError` if the catalog has to permit an operation."""
        check_maintenance(log, kind)

    # rows

    def create(self, transaction: Transaction, operation: Operation) -> None:
        """Create a table with its first rows."""
        transaction.use(*build_table(operation))
        if operation.get("rows"):
            transaction.add_rows(transaction.load_rows(operation["rows"]))

    def convert(self, transaction: Transaction, operation: Operation) -> None:
        """Create a table of the Parquet files in its directory."""
        transaction.use(*build_table(operation))
        transaction.actions += list_converted_files(transaction.root, transaction.state, transaction.files)

    def clone(self, transaction: Transaction, operation: Operation) -> None:
        """Create a table of the files of another table, which stay there."""
        source = LogReader(operation["source"])
        state = source.read_state()
        self.check_protocol(state)
        self.check_catalog(source, state)
        transaction.use(state.protocol, msgspec.structs.replace(state.metadata, id=str(uuid.uuid4())))
        transaction.actions += list_cloned_files(operation["source"], state)
        transaction.actions += list_cloned_domains(state)

    def replace(self, transaction: Transaction, operation: Operation) -> None:
        """Replace schema, partitioning, properties and rows; the table keeps its id and its features."""
        for add in transaction.base.files.values():
            transaction.remove_file(add)
        self.use_replacement(transaction, operation)
        if operation.get("rows"):
            transaction.add_rows(transaction.load_rows(operation["rows"]))

    def use_replacement(self, transaction: Transaction, operation: Operation) -> None:
        """Write with the schema and the properties of a replacement."""
        before = transaction.state
        _, metadata = build_table(operation, replaced=before.metadata)
        features = find_needed_features(parse_schema(metadata.schema_string), operation.get("properties") or {})
        transaction.use(upgrade_protocol(before.protocol, features), metadata)

    def append(self, transaction: Transaction, operation: Operation) -> None:
        """Add rows."""
        transaction.add_rows(transaction.load_rows(operation["rows"]))

    def append_with_evolution(self, transaction: Transaction, operation: Operation) -> None:
        """Add rows and the columns that only they have."""
        self.add_columns_of_rows(transaction, operation)
        self.append(transaction, operation)

    def merge_with_evolution(self, transaction: Transaction, operation: Operation) -> None:
        """Merge rows, and add the columns that only they have."""
        self.add_columns_of_rows(transaction, operation)
        self.merge(transaction, operation)

    def add_columns_of_rows(self, transaction: Transaction, operation: Operation) -> None:
        """Add nullable columns at the end for those of the rows that the table does not have."""
        for field in list_new_columns(operation["rows"], transaction.state.schema):
            state = transaction.state
            metadata = add_column(state.metadata, state.schema, field, mapped=state.mapping is not None)
            transaction.use(state.protocol, metadata)

    def overwrite_partitions(self, transaction: Transaction, operation: Operation) -> None:
        """Replace all rows of the partitions that the new rows have."""
        if not transaction.state.partition_columns:
            raise EngineError("invalid-request", "the table has no partitions", phase="commit")
        rows = transaction.load_rows(operation["rows"])
        replaced = [values for values, _ in transaction.files.split(rows)]
        for add, old in transaction.read_files():
            if add.partition_values in replaced:
                transaction.remove_rows(add, old, [True] * old.table.num_rows)
                transaction.record_change("delete", old.table)
        transaction.add_rows(rows)
        transaction.record_change("insert", rows)

    def overwrite(self, transaction: Transaction, operation: Operation) -> None:
        """Replace all rows, or those that match a condition."""
        rows = transaction.load_rows(operation["rows"])
        if not all(transaction.find_matches(rows, operation.get("where"))):
            raise EngineError("invalid-request", "a new row does not match the condition", phase="commit")
        self.delete(transaction, operation)
        transaction.add_rows(rows)
        transaction.record_change("insert", rows)

    def delete(self, transaction: Transaction, operation: Operation) -> None:
        """Delete rows."""
        for add, rows in transaction.read_files():
            gone = transaction.find_matches(rows.table, operation.get("where"))
            transaction.remove_rows(add, rows, gone)
            transaction.record_change("delete", rows.table.filter(pa.array(gone, pa.bool_())))

    def update(self, transaction: Transaction, operation: Operation) -> None:
        """Set columns to literals."""
        for add, rows in transaction.read_files():
            gone = transaction.find_matches(rows.table, operation.get("where"))
            old = rows.table.filter(pa.array(gone, pa.bool_()))
            new = old
            for name, (_, _, text) in operation["set"].items():
                if any(each.name == name and read_identity(each.metadata) for each in transaction.state.schema.fields):
                    raise EngineError("constraint", f"{name} is an identity column", phase="commit")
                kind = find_type(transaction.state.schema, [name])
                position = new.schema.get_field_index(name)
                column = new.schema.field(position)
                value = repeat_value(parse_literal(text, kind), column.type, new.num_rows)
                new = new.set_column(position, column, value)
            self._replace_rows(transaction, rows.row_ids, gone, old, transaction.generate_columns(new, ()))
            transaction.remove_rows(add, rows, gone)

    def merge(self, transaction: Transaction, operation: Operation) -> None:
        """Merge rows by columns that identify them."""
        names = list(operation["on"])
        if any(read_identity(each.metadata) for each in transaction.state.schema.fields):
            raise EngineError("unsupported", "rows are not merged into tables with identity columns", phase="commit")
        source = transaction.load_rows(operation["rows"])
        keys = [tuple(row[name] for name in names) for row in list_model_rows(source)]
        positions = {key: position for position, key in enumerate(keys) if None not in key}
        if len(positions) < sum(None not in key for key in keys):
            raise EngineError("invalid-request", "two new rows have the same key", phase="commit")
        matched: set[int] = set()
        for add, rows in transaction.read_files():
            found = [positions.get(tuple(row[name] for name in names)) for row in list_model_rows(rows.table)]
            matched.update(each for each in found if each is not None)
            if operation.get("matched") is None:
                continue
            gone = [each is not None for each in found]
            old = rows.table.filter(pa.array(gone, pa.bool_()))
            if operation["matched"] == "update":
                new = source.take(pa.array([each for each in found if each is not None], pa.int64()))
                self._replace_rows(transaction, rows.row_ids, gone, old, new)
            else:
                transaction.record_change("delete", old)
            transaction.remove_rows(add, rows, gone)
        if operation.get("not_matched") == "insert":
            new = source.take(pa.array([each for each in range(len(keys)) if each not in matched], pa.int64()))
            transaction.add_rows(new)
            transaction.record_change("insert", new)

    def _replace_rows(
        self, transaction: Transaction, ids: Sequence[int] | None, gone: Sequence[bool], old: pa.Table, new: pa.Table
    ) -> None:
        """Add the new values of updated rows, which keep their ids."""
        kept = None if ids is None else [each for each, is_gone in zip(ids, gone, strict=True) if is_gone]
        transaction.add_rows(new, ids=kept)
        transaction.record_change("update_preimage", old)
        transaction.record_change("update_postimage", new)

    def optimize(self, transaction: Transaction, operation: Operation) -> None:
        """Write the rows of partitions with several files into one file each, except files that others clustered."""
        partitions: dict[tuple[tuple[str, str | None], ...], list[Any]] = {}
        for add, rows in self.list_compacted_files(transaction):
            partitions.setdefault(tuple(sorted(add.partition_values.items())), []).append((add, rows))
        for files in partitions.values():
            if len(files) > 1:
                self._rewrite(transaction, files)

    def list_compacted_files(self, transaction: Transaction) -> list[Any]:
        """Return the files that a compaction may rewrite: not the files of another clustering implementation."""
        return [(add, rows) for add, rows in transaction.read_files() if add.clustering_provider is None]

    def purge(self, transaction: Transaction, operation: Operation) -> None:
        """Write the rows of files with deletion vectors again."""
        for add, rows in transaction.read_files():
            if add.deletion_vector is not None:
                self._rewrite(transaction, [(add, rows)])

    def _rewrite(self, transaction: Transaction, files: Sequence[Any]) -> None:
        for add, _ in files:
            transaction.remove_file(add, data_change=False)
        has_ids = transaction.tracks_rows
        transaction.add_rows(
            pa.concat_tables([rows.table for _, rows in files]),
            data_change=False,
            ids=[each for _, rows in files for each in rows.row_ids] if has_ids else None,
            versions=[each for _, rows in files for each in rows.row_commit_versions] if has_ids else None,
        )

    def restore(self, transaction: Transaction, operation: Operation) -> None:
        """Restore files and metadata of an older version."""
        assert transaction.log is not None
        target = transaction.log.read_state(operation["version"])
        missing = [
            add.path for add in target.snapshot.files.values() if not transaction.files.locate(add.path).exists()
        ]
        if missing:
            raise EngineError("not-found", f"the file {missing[0]} was deleted", phase="commit")
        transaction.use(transaction.state.protocol, target.metadata)
        current = transaction.base.files
        for key, add in current.items():
            if key not in target.snapshot.files:
                transaction.remove_file(add)
        for key, add in target.snapshot.files.items():
            if key not in current:
                transaction.actions.append(msgspec.structs.replace(add, data_change=True))

    # metadata

    def _use_metadata(self, transaction: Transaction, metadata: Any) -> None:
        """Commit metadata, with the features that it needs."""
        state = transaction.state
        needed = find_needed_features(state.schema, metadata.configuration)
        transaction.use(upgrade_protocol(state.protocol, needed), metadata)

    def set_properties(self, transaction: Transaction, operation: Operation) -> None:
        """Set and remove properties."""
        self.check_properties(operation["properties"], transaction.state.metadata)
        self._use_metadata(transaction, change_properties(transaction.state.metadata, operation["properties"]))

    def check_properties(self, changes: Mapping[str, str | None], metadata: MetaData) -> None:
        """Raise `EngineError` for a property that is not set by users, or only for a new table."""
        check_properties(changes, metadata)

    def add_feature(self, transaction: Transaction, operation: Operation) -> None:
        """Add a feature to the protocol, and the features that it needs."""
        name = operation["feature"]
        needed = find_needed_features(Struct(()), {f"delta.feature.{name}": "supported"})
        transaction.use(upgrade_protocol(transaction.state.protocol, needed), transaction.state.metadata)

    def drop_feature(self, transaction: Transaction, operation: Operation) -> None:
        """Remove the feature of CHECK constraints from the protocol if there are none."""
        state, name = transaction.state, operation["feature"]
        if name != "checkConstraints" or name in find_needed_features(state.schema, state.metadata.configuration):
            raise EngineError("unsupported", f"the feature {name} is used, or is not dropped", phase="commit")
        left = get_supported_features(state.protocol) | get_reader_features(state.protocol)
        transaction.use(build_protocol(left - {name}), state.metadata)

    def add_constraint(self, transaction: Transaction, operation: Operation) -> None:
        """Add a CHECK constraint that all rows satisfy."""
        key = f"{CONSTRAINT_PREFIX}{operation['name']}"
        if key in transaction.state.metadata.configuration:
            raise EngineError("invalid-request", f"the constraint {operation['name']} exists", phase="commit")
        self._use_metadata(transaction, change_properties(transaction.state.metadata, {key: operation["sql"]}))
        for _, rows in transaction.read_files():
            transaction.check_rows(rows.table)

    def drop_constraint(self, transaction: Transaction, operation: Operation) -> None:
        """Remove a CHECK constraint."""
        key = f"{CONSTRAINT_PREFIX}{operation['name']}"
        self._use_metadata(transaction, change_properties(transaction.state.metadata, {key: None}))

    def add_column(self, transaction: Transaction, operation: Operation) -> None:
        """Add a nullable column at the end."""
        state = transaction.state
        if len(operation["name"]) > 1 or operation.get("after") or not operation.get("nullable", True):
            raise EngineError("unsupported", "only nullable columns at the end are added", phase="commit")
        (name,) = operation["name"]
        if any(each.name.lower() == name.lower() for each in state.schema.fields):
            raise EngineError("invalid-request", f"there is a column {name}", phase="commit")
        field = Field(name, parse_type(operation["type"]), True)
        metadata = add_column(state.metadata, state.schema, field, mapped=state.mapping is not None)
        transaction.use(state.protocol, metadata)

    def rename_column(self, transaction: Transaction, operation: Operation) -> None:
        """Rename a column; its physical name stays."""
        (old,), (new,) = operation["from"], operation["to"]
        self._change_columns(transaction, old, lambda field: [Field(new, field.type, field.nullable, field.metadata)])

    def drop_column(self, transaction: Transaction, operation: Operation) -> None:
        """Drop a column; its values stay in the files."""
        (name,) = operation["name"]
        self._change_columns(transaction, name, lambda _: [])

    def _change_columns(self, transaction: Transaction, name: str, change: Callable[[Field], list[Field]]) -> None:
        state = transaction.state
        if state.mapping is None:
            raise EngineError("unsupported", "columns cannot change without column mapping", phase="commit")
        if name in state.partition_columns or all(each.name != name for each in state.schema.fields):
            raise EngineError("invalid-request", f"{name} is a partition column or no column", phase="commit")
        fields = [new for each in state.schema.fields for new in (change(each) if each.name == name else [each])]
        transaction.use(state.protocol, replace_schema(state.metadata, Struct(tuple(fields))))

    def widen_column(self, transaction: Transaction, operation: Operation) -> None:
        """Change the type of a column or of a type below it; files keep the narrower type."""
        state, (name, *path) = transaction.state, operation["name"]
        if not transaction.is_enabled(TYPE_WIDENING):
            raise EngineError("unsupported", "type widening is not enabled", phase="commit")
        self.check_type_change(operation)
        if all(each.name != name for each in state.schema.fields):
            raise EngineError("invalid-request", f"{name} is not a column", phase="commit")
        wider = parse_type(operation["type"])
        fields = (widen_field(each, path, wider) if each.name == name else each for each in state.schema.fields)
        metadata = replace_schema(state.metadata, schema := Struct(tuple(fields)))
        needed = find_needed_features(schema, metadata.configuration)
        transaction.use(upgrade_protocol(state.protocol, needed), metadata)

    def set_default(self, transaction: Transaction, operation: Operation) -> None:
        """Set or remove the default of a column; rows that exist keep their values."""
        state, (name,) = transaction.state, operation["name"]
        if all(each.name != name for each in state.schema.fields):
            raise EngineError("invalid-request", f"{name} is not a column", phase="commit")
        fields = [
            set_default(each, operation.get("sql")) if each.name == name else each for each in state.schema.fields
        ]
        metadata = replace_schema(state.metadata, schema := Struct(tuple(fields)))
        needed = find_needed_features(schema, metadata.configuration)
        transaction.use(upgrade_protocol(state.protocol, needed), metadata)

    def cluster_by(self, transaction: Transaction, operation: Operation) -> None:
        """Change the columns by which new files are clustered."""
        state = transaction.state
        if state.partition_columns:
            raise EngineError("unsupported", "a table with partitions is not clustered", phase="commit")
        fields = {each.name: each for each in state.schema.fields}
        names = [name for (name,) in operation.get("columns") or ()]
        if unknown := [name for name in names if name not in fields]:
            raise EngineError("invalid-request", f"{', '.join(unknown)} is not a column", phase="commit")
        transaction.use(upgrade_protocol(state.protocol, {CLUSTERING, "domainMetadata"}), state.metadata)
        columns = [[physical_name(fields[name], state.mapping)] for name in names]
        text = msgspec.json.encode({"clusteringColumns": columns}).decode()
        transaction.actions.append(DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text, removed=False))

    def check_type_change(self, operation: Operation) -> None:
        """Raise `EngineError` for a change that the writer does not offer; it offers all that the protocol lists."""

    # maintenance

    def write_checkpoint(self, table: str, log: LogReader, operation: Operation) -> None:
        """Write a checkpoint of the newest version."""
        state = log.read_state(self.find_newest_published(table, log))
        form = operation.get("form") or "v1"
        has_v2 = "v2Checkpoint" in (state.protocol.writer_features or ())
        if form == "multipart" if has_v2 else form.startswith("v2"):
            raise EngineError("unsupported", f"no checkpoint of the form {form}", phase="commit")
        self.derived_files(table).write_checkpoint(state.snapshot, form)

    def find_newest_published(self, table: str, log: LogReader) -> int | None:
        """Return the newest version that may have a checkpoint if a catalog manages the table; otherwise None."""
        return find_newest_published(Path(table), log)

    def publish(self, table: str, log: LogReader, operation: Operation) -> None:
        """Publish the ratified commits of a catalog-managed table."""
        publish_commits(Path(table), log)

    def write_checksum(self, table: str, log: LogReader, operation: Operation) -> None:
        """Write the version checksum of the newest version, unless it exists."""
        snapshot = log.read_state().snapshot
        path = Path(table) / _LOG / file_names.checksum_name(snapshot.version)
        if not path.exists():
            (info,) = [each for each in log.read_commit(snapshot.version) if isinstance(each, CommitInfo)]
            write_new_file(path, msgspec.json.encode(self.compute_checksum(replace(snapshot, commit_info=info))))

    def compute_checksum(self, snapshot: Snapshot) -> VersionChecksum:
        """Return the content of a version checksum."""
        return build_checksum(snapshot)

    def compact_log(self, table: str, log: LogReader, operation: Operation) -> None:
        """Write a log compaction."""
        start, end = operation["start"], operation["end"]
        if start >= end:
            raise EngineError("invalid-request", "a compaction needs at least two commits", phase="commit")
        check_compaction(Path(table), log, start, end)
        commits = {version: log.read_commit(version) for version in range(start, end + 1)}
        path = Path(table) / _LOG / file_names.compaction_name(start, end)
        if not path.exists():
            write_new_file(path, encode_lines(self.list_compacted(commits, start, end)))

    def list_compacted(self, commits: Mapping[int, Iterable[Action]], start: int, end: int) -> list[Action]:
        """Return the actions of a log compaction."""
        return build_compaction(commits, start, end)

    def vacuum(self, table: str, log: LogReader, operation: Operation) -> None:
        """Delete old files that neither the newest version nor a younger tombstone names."""
        snapshot = log.read_state().snapshot
        cutoff = get_clock_ms() - operation["retention_hours"] * HOUR_MS
        young = [each for each in snapshot.tombstones.values() if (each.deletion_timestamp or 0) >= cutoff]
        needed = {path for each in (*snapshot.files.values(), *young) for path in self.list_paths(each)}
        for path in _iter_data_files(Path(table)):
            if str(path.relative_to(table)) not in needed and path.stat().st_mtime * 1000 < cutoff:
                path.unlink()

    def clean_up_log(self, table: str, log: LogReader, operation: Operation) -> None:
        """Delete expired files of the log."""
        self.log_cleaner(table, log, log.read_state()).clean_up()

    def list_paths(self, action: Any) -> list[str]:
        """Return the relative paths of the files that an action names."""
        vector = action.deletion_vector
        stored = [build_relative_path(vector)] if vector is not None and vector.storage_type == "u" else []
        return [path_key(action.path, ""), *stored]


def _iter_data_files(root: Path) -> Iterable[Path]:
    for folder, folders, names in os.walk(root):
        if Path(folder) == root:
            folders[:] = [each for each in folders if each == _CHANGE_DATA or not each.startswith(("_", "."))]
        yield from (Path(folder) / name for name in names if not name.startswith(("_", ".")))
