"""Operations of `apply` on delta-rs."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import deltalake
import pyarrow as pa
from deltalake import (
    CommitProperties,
    DeltaTable,
    Field,
    PostCommitHookProperties,
    Schema,
    TableFeatures,
    Transaction,
    convert_to_deltalake,
    write_deltalake,
)

from deltaspec.candidates.adapters.answers import refuse_operation
from deltaspec.candidates.adapters.sql_text import Dialect

Operation: TypeAlias = Mapping[str, Any]
Options: TypeAlias = dict[str, Any]
_RELEASES = {"VariantType": "1.6", "VariantTypePreview": "1.6", "compact_logs": "1.5"}
"""First release with a feature or method that not every release has."""
_FEATURES = {
    "appendOnly": "AppendOnly",
    "changeDataFeed": "ChangeDataFeed",
    "checkConstraints": "CheckConstraints",
    "columnMapping": "ColumnMapping",
    "deletionVectors": "DeletionVectors",
    "domainMetadata": "DomainMetadata",
    "generatedColumns": "GeneratedColumns",
    "icebergCompatV1": "IcebergCompatV1",
    "identityColumns": "IdentityColumns",
    "invariants": "Invariants",
    "rowTracking": "RowTracking",
    "timestampNtz": "TimestampWithoutTimezone",
    "v2Checkpoint": "V2Checkpoint",
    "variantType": "VariantType",
    "variantType-preview": "VariantTypePreview",
}
"""Name of each feature in `TableFeatures`."""


class DeltalakeWriter:
    """Performs operations; every method returns the metrics of the engine, if it has any."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.operations: dict[str, Callable[[DeltaTable, Operation, Options], Any]] = {
            "append": self._append,
            "append-with-evolution": lambda table, each, options: write_deltalake(
                table, _load_rows(each), mode="append", schema_mode="merge", **options
            ),
            "overwrite": self._overwrite,
            "delete": lambda table, each, options: table.delete(self._render_where(each), **options),
            "update": self._update,
            "merge": self._merge,
            "merge-with-evolution": lambda table, each, options: self._merge(table, each, options, merge_schema=True),
            "optimize": lambda table, _, options: table.optimize.compact(**options),
            "restore": lambda table, each, options: table.restore(
                each["version"], commit_properties=options["commit_properties"]
            ),
            "vacuum": _vacuum,
            "checkpoint": _checkpoint,
            "compact-log": lambda table, each, _: _require(table, "compact_logs", "log compaction")(
                each["start"], each["end"]
            ),
            "cleanup-log": lambda table, _, __: table.cleanup_metadata(),
            "set-properties": _set_properties,
            "add-column": _add_column,
            "add-feature": _add_feature,
            "add-constraint": lambda table, each, options: table.alter.add_constraint(
                {each["name"]: each["sql"]}, **options
            ),
            "drop-constraint": lambda table, each, options: table.alter.drop_constraint(each["name"], **options),
        }
        self.kinds = ("create", "replace", "convert", *self.operations)

    def apply(self, location: str, operation: Operation, commit: Mapping[str, Any]) -> dict[str, Any]:
        """Perform an operation and return the fields of the answer."""
        options = _build_options(commit)
        kind = operation["kind"]
        if kind in ("create", "replace"):
            return {"committed": True, "version": self._create(location, operation, options)}
        if kind == "convert":
            return _convert(location, operation, options)
        if kind not in self.operations:
            raise refuse_operation(f"the kind {kind} is not offered", "commit")
        table = DeltaTable(location)
        before = table.version()
        metrics = self.operations[kind](table, operation, options)
        if kind == "optimize" and not metrics["numFilesAdded"]:  # another writer may have committed the version
            return {"committed": False}
        committed = table.version() != before
        return {"committed": committed, "version": table.version() if committed else None}

    def _create(self, location: str, operation: Operation, options: Options) -> int:
        """Create or replace a table; its first rows are a second commit, which keeps columns that are not nullable."""
        table = DeltaTable.create(
            location,
            Schema.from_json(operation["schema"]),
            mode="error" if operation["kind"] == "create" else "overwrite",
            partition_by=operation.get("partition_by") or None,
            configuration=operation.get("properties") or None,
            raise_if_key_not_exists=False,
            **options,
        )
        if operation.get("rows"):
            self._append(table, operation, options)
        return table.version()

    def _append(self, table: DeltaTable, operation: Operation, options: Options) -> None:
        write_deltalake(table, _load_rows(operation), mode="append", **options)

    def _overwrite(self, table: DeltaTable, operation: Operation, options: Options) -> None:
        predicate = self._render_where(operation)
        write_deltalake(table, _load_rows(operation), mode="overwrite", predicate=predicate, **options)

    def _update(self, table: DeltaTable, operation: Operation, options: Options) -> object:
        values = {
            self._dialect.quote_name(name): self._dialect.render_literal(*literal[1:])
            for name, literal in operation["set"].items()
        }
        return table.update(values, predicate=self._render_where(operation), **options)

    def _merge(
        self, table: DeltaTable, operation: Operation, options: Options, *, merge_schema: bool = False
    ) -> object:
        names = [self._dialect.quote_name(name) for name in operation["on"]]
        condition = " AND ".join(f"t.{name} = s.{name}" for name in names)
        names_of_tables: Options = {"source_alias": "s", "target_alias": "t"}
        merger = table.merge(_load_rows(operation), condition, **names_of_tables, merge_schema=merge_schema, **options)
        if operation.get("matched") == "update":
            merger = merger.when_matched_update_all()
        elif operation.get("matched") == "delete":
            merger = merger.when_matched_delete()
        if operation.get("not_matched") == "insert":
            merger = merger.when_not_matched_insert_all()
        return merger.execute()

    def _render_where(self, operation: Operation) -> str | None:
        where = operation.get("where")
        if not where:
            return None
        tree = where.get("tree")
        return str(where["sql"]) if tree is None else self._dialect.render_predicate(tree)


def _build_options(commit: Mapping[str, Any]) -> Options:
    if commit.get("domains"):
        raise refuse_operation("deltalake does not write domain metadata", "commit")
    note, transaction = commit.get("user_metadata"), commit.get("txn")
    properties = CommitProperties(
        custom_metadata=None if note is None else {"userMetadata": note},
        app_transactions=None if transaction is None else [Transaction(transaction["app_id"], transaction["version"])],
    )
    hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
    options: Options = {"commit_properties": properties}
    return {**options, "post_commithook_properties": hooks} if commit.get("hooks") is False else options


def _load_rows(operation: Operation) -> pa.Table:
    return pa.ipc.open_file(operation["rows"]).read_all()


def _convert(location: str, operation: Operation, options: Options) -> dict[str, Any]:
    fields = {each.name: each for each in Schema.from_json(operation["schema"]).fields}
    names = operation.get("partition_by") or ()
    if names:
        options = {**options, "partition_by": Schema([fields[name] for name in names]), "partition_strategy": "hive"}
    convert_to_deltalake(location, **options)
    return {"committed": True, "version": 0}


def _vacuum(table: DeltaTable, operation: Operation, options: Options) -> object:
    return table.vacuum(operation["retention_hours"], dry_run=False, enforce_retention_duration=False, **options)


def _checkpoint(table: DeltaTable, operation: Operation, _: Options) -> None:
    if operation.get("form") not in (None, "v1"):
        raise refuse_operation(f"deltalake does not write checkpoints of the form {operation['form']}", "commit")
    table.create_checkpoint()


def _set_properties(table: DeltaTable, operation: Operation, options: Options) -> None:
    if None in operation["properties"].values():
        raise refuse_operation("deltalake does not remove properties", "commit")
    table.alter.set_table_properties(operation["properties"], commit_properties=options["commit_properties"])


def _add_column(table: DeltaTable, operation: Operation, options: Options) -> None:
    path, kind = operation["name"], operation["type"]
    name = path if isinstance(path, str) else path[-1]
    if not isinstance(path, str) and len(path) > 1:
        raise refuse_operation("deltalake does not add nested fields", "commit")
    if operation.get("after"):
        raise refuse_operation("deltalake adds columns at the end only", "commit")
    table.alter.add_columns([Field(name, kind, nullable=operation.get("nullable", True))], **options)


def _require(owner: Any, name: str, what: str) -> Any:
    """Return an attribute that only later releases have; refuse the operation without it."""
    found = getattr(owner, name, None)
    if found is None:
        needed = _RELEASES.get(name, "a later release")
        raise refuse_operation(f"deltalake {deltalake.__version__} does not have {what}; it needs {needed}", "commit")
    return found


def _add_feature(table: DeltaTable, operation: Operation, options: Options) -> None:
    name = _FEATURES.get(operation["feature"])
    if name is None:
        raise refuse_operation(f"deltalake cannot add the feature {operation['feature']}", "commit")
    feature = _require(TableFeatures, name, f"the feature {operation['feature']}")
    table.alter.add_feature(feature, allow_protocol_versions_increase=True, **options)
