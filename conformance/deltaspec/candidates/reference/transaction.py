"""A transaction of the reference writer: collects actions, checks rows and the commit, and writes the commit."""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.reference.catalog import create_file, stage_commit
from deltaspec.candidates.reference.checkpoint_writer import encode_lines
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader, build_state
from deltaspec.candidates.reference.row_reader import FileRows, RowReader, arrow_schema, repeat_value
from deltaspec.candidates.reference.sql_values import evaluate_sql, parse_supported
from deltaspec.candidates.reference.table_changes import WRITER_FEATURES, replace_schema
from deltaspec.candidates.reference.written_files import FileWriter, get_clock_ms
from deltaspec.candidates.serve import EngineError
from deltaspec.model.commit.validation import check_commit
from deltaspec.model.decisions import Refused, may_write
from deltaspec.model.features.identity_values import allows_explicit_values, generate_values
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot
from deltaspec.model.rows.predicate_trees import parse_predicate
from deltaspec.model.rows.predicates import evaluate
from deltaspec.protocol.actions import Action, Add, CommitInfo, DomainMetadata, MetaData, Protocol, Remove, Txn
from deltaspec.protocol.features import catalog_managed, row_tracking
from deltaspec.protocol.features.constraints import read_check_constraints, read_defaults
from deltaspec.protocol.features.identity_columns import Identity, read_identity
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import has_in_commit_timestamps, is_property_true
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import (
    CHANGE_DATA_FEED,
    DELETION_VECTORS,
    GENERATION_EXPRESSION,
    IDENTITY_HIGH_WATER_MARK,
    ROWS_PRESERVED_TAG,
)
from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec.wire.storage.interface import LOG_DIRECTORY

Condition: TypeAlias = Mapping[str, Any] | None
_WIDEN = ('"tightBounds":true', '"tightBounds":false')
_VECTORS, _CHANGES = DELETION_VECTORS, CHANGE_DATA_FEED


class Transaction:
    """Builds the next commit of a table.

    The file writer and the public methods can be replaced, to build faulty writers.

    Args:
        table: directory of the table.
        log: its log; None for a new table.
        before: state of the newest version; None for a new table.
        kind: kind of the operation.
    """

    file_writer = FileWriter

    def __init__(self, table: str, log: LogReader | None, before: LoadedTable | None, kind: str) -> None:
        self.root, self.log, self.before, self.kind = Path(table), log, before, kind
        self.actions: list[Action] = []
        self.changes: list[tuple[str, pa.Table]] = []
        """Change type and rows of every change, for change data files."""
        self.staged: str | None = None
        """Name of the staged commit, if a catalog has to ratify it."""
        self.state: LoadedTable
        if before is not None:
            self.use(before.protocol, before.metadata)

    @property
    def base(self) -> Snapshot:
        """Snapshot before the commit."""
        return EMPTY_SNAPSHOT if self.before is None else self.before.snapshot

    @property
    def version(self) -> int:
        return self.base.version + 1

    def use(self, protocol: Protocol, metadata: MetaData) -> None:
        """Write with this protocol and metadata; they are committed if they differ from the table's."""
        self.actions = [each for each in self.actions if not isinstance(each, Protocol | MetaData)]
        if self.before is None or protocol != self.before.protocol:
            self.actions.append(protocol)
        if self.before is None or metadata != self.before.metadata:
            self.actions.append(metadata)
        self.state = build_state(replace(self.base, protocol=protocol, metadata=metadata))
        self.files = self.file_writer(str(self.root), self.state)
        if self.log is not None:
            self.reader = RowReader(self.log.access, self.state)

    def is_enabled(self, name: str) -> bool:
        """Return whether a property is true."""
        return is_property_true(self.state.metadata.configuration, name)

    @property
    def tracks_rows(self) -> bool:
        return row_tracking.is_enabled(self.state.protocol, self.state.metadata)

    # rows

    def load_rows(self, path: str) -> pa.Table:
        """Load the rows of an operation with all columns of the table; generated ones are computed and checked."""
        given = pa.ipc.open_file(path).read_all()
        schema = arrow_schema(self.state.schema)
        if unknown := [name for name in given.column_names if name not in schema.names]:
            raise EngineError("invalid-request", f"unknown column {', '.join(unknown)}", phase="commit")
        columns = [
            given.column(each.name).cast(each.type)
            if each.name in given.column_names
            else pa.nulls(given.num_rows, each.type)
            for each in schema
        ]
        rows = pa.Table.from_arrays(columns, schema=schema)
        rows = self.assign_defaults(rows, given.column_names)
        rows = self.assign_identity_values(rows, given.column_names)
        return self.generate_columns(rows, given.column_names)

    def assign_defaults(self, rows: pa.Table, given: Sequence[str]) -> pa.Table:
        """Return rows with the default of each column that is not given; a null that is given stays."""
        for name, text in read_defaults(self.state.schema).items():
            if name not in given:
                position = rows.schema.get_field_index(name)
                column = rows.schema.field(position)
                value = repeat_value(evaluate_sql(parse_supported(text), {}), column.type, rows.num_rows)
                rows = rows.set_column(position, column, value)
        return rows

    def assign_identity_values(self, rows: pa.Table, given: Sequence[str]) -> pa.Table:
        """Return rows with values of identity columns, whose high-water marks are committed too."""
        fields = {each.name: each for each in self.state.schema.fields}
        marks: dict[str, Field] = {}
        for position, field in enumerate(fields.values()):
            identity = read_identity(field.metadata)
            if identity is None or not rows.num_rows:
                continue
            if field.name in given:
                self.check_explicit_values(identity)
                continue
            values = self.generate_identity_values(identity, rows.num_rows)
            rows = rows.set_column(position, rows.schema.field(position), pa.array(values, pa.int64()))
            marks[field.name] = replace(field, metadata={**field.metadata, IDENTITY_HIGH_WATER_MARK: values[-1]})
        if marks:
            schema = Struct(tuple((fields | marks).values()))
            self.use(self.state.protocol, replace_schema(self.state.metadata, schema))
        return rows

    def check_explicit_values(self, identity: Identity) -> None:
        """Raise `EngineError` if users may not insert values into an identity column."""
        if isinstance(decision := allows_explicit_values(identity), Refused):
            raise EngineError("constraint", decision.reason, phase="commit")

    def generate_identity_values(self, identity: Identity, count: int) -> list[int]:
        """Return the next values of an identity column. Raises `EngineError` if one is not a long."""
        if identity.start is None or not identity.step:
            raise EngineError("unsupported", "an identity column has no start or no step", phase="commit")
        if isinstance(values := generate_values(identity, count), Refused):
            raise EngineError("constraint", values.reason, phase="commit")
        return values

    def generate_columns(self, rows: pa.Table, given: Sequence[str]) -> pa.Table:
        """Return rows with values of generated columns; given values must equal the generated ones."""
        for field in self.state.schema.fields:
            text = field.metadata.get(GENERATION_EXPRESSION)
            if text is None:
                continue
            tree = parse_supported(text)
            values = [evaluate_sql(tree, row) for row in list_model_rows(rows)]
            position = rows.schema.get_field_index(field.name)
            computed = pa.array(values, rows.schema.field(position).type)
            if field.name in given and rows.column(position).to_pylist() != computed.to_pylist():
                raise EngineError("constraint", f"{field.name} differs from {text}", phase="commit")
            rows = rows.set_column(position, rows.schema.field(position), computed)
        return rows

    def check_rows(self, rows: pa.Table) -> None:
        """Raise `EngineError` if rows violate a NOT NULL or CHECK constraint."""
        for field in self.state.schema.fields:
            if not field.nullable and rows.column(field.name).null_count:
                raise EngineError("constraint", f"{field.name} is null", phase="commit")
        for name, text in read_check_constraints(self.state.metadata.configuration).items():
            tree = parse_supported(text)
            if any(evaluate_sql(tree, row) is not True for row in list_model_rows(rows)):
                raise EngineError("constraint", f"a row violates the constraint {name}: {text}", phase="commit")

    def find_matches(self, rows: pa.Table, where: Condition) -> list[bool]:
        """Return for each row whether a condition is true."""
        if where is None:
            return [True] * rows.num_rows
        if where.get("tree") is not None:
            condition = parse_predicate(where["tree"], self.state.schema)
            return [evaluate(condition, row) is True for row in list_model_rows(rows)]
        tree = parse_supported(where["sql"])
        return [evaluate_sql(tree, row) is True for row in list_model_rows(rows)]

    def read_files(self) -> list[tuple[Add, FileRows]]:
        """Read all live files."""
        return [(add, self.reader.read(add)) for add in self.base.files.values()]

    # changes

    def add_rows(
        self,
        rows: pa.Table,
        *,
        data_change: bool = True,
        ids: Sequence[int | None] | None = None,
        versions: Sequence[int | None] | None = None,
    ) -> None:
        """Add rows in new files.

        Args:
            rows: rows with all columns of the table.
            data_change: whether they are new or changed.
            ids: their row ids, if they already have some.
            versions: their row commit versions, if the rows are not changed.
        """
        if not rows.num_rows:
            return
        if data_change:
            self.check_rows(rows)
        hidden = {}
        if self.tracks_rows:
            names = [self.state.metadata.configuration[key] for key in row_tracking.COLUMN_PROPERTIES]
            for name, values in zip(names, (ids, versions), strict=True):
                if values is not None and any(each is not None for each in values):
                    hidden[name] = values
        self.actions += self.files.add(rows, data_change=data_change, hidden=hidden)

    def remove_file(self, add: Add, *, data_change: bool = True) -> None:
        """Remove a live file."""
        self.actions.append(
            Remove(
                path=add.path,
                data_change=data_change,
                deletion_timestamp=get_clock_ms(),
                extended_file_metadata=True,
                partition_values=add.partition_values,
                size=add.size,
                tags=add.tags,
                deletion_vector=add.deletion_vector,
                base_row_id=add.base_row_id,
                default_row_commit_version=add.default_row_commit_version,
            )
        )

    def remove_rows(self, add: Add, rows: FileRows, gone: Sequence[bool]) -> None:
        """Remove rows of a live file: with a deletion vector if the table allows it, or by rewriting the other rows."""
        if not any(gone):
            return
        self.remove_file(add)
        if all(gone):
            return
        if self.is_enabled(_VECTORS):
            deleted = self.reader.read_deleted_rows(add) | {
                index for index, is_gone in zip(rows.indexes, gone, strict=True) if is_gone
            }
            self.actions.append(
                msgspec.structs.replace(
                    add,
                    deletion_vector=self.files.write_vector(deleted),
                    stats=None if add.stats is None else add.stats.replace(*_WIDEN),
                    data_change=True,
                )
            )
            return
        kept = pa.array([not each for each in gone], pa.bool_())
        self.add_rows(
            rows.table.filter(kept),
            ids=_select(rows.row_ids, gone),
            versions=_select(rows.row_commit_versions, gone),
        )

    def record_change(self, kind: str, rows: pa.Table) -> None:
        """Record changed rows for change data files."""
        if rows.num_rows:
            self.changes.append((kind, rows))

    # commit

    def commit(self, options: Mapping[str, Any]) -> int:
        """Write the commit and return its version. Raises `EngineError`; then the log is unchanged."""
        self.add_options(options)
        if self.is_enabled(_CHANGES) and any(isinstance(each, Add | Remove) for each in self.actions):
            for kind, rows in self.changes:
                self.actions += self.files.add_changes(rows, [kind] * rows.num_rows)
        self.assign_row_ids()
        actions = [self.build_commit_info(), *self.actions]
        self.check_actions(actions)
        self.write(actions)
        return self.version

    def check_actions(self, actions: Sequence[Action]) -> None:
        """Raise `EngineError` if the model refuses the commit."""
        decision = check_commit(self.base, self.version, actions)
        if isinstance(decision, Refused):
            raise EngineError("constraint", f"{decision.requirement}: {decision.reason}", phase="commit")

    def add_options(self, options: Mapping[str, Any]) -> None:
        """Add the transaction and the domains of a commit."""
        if txn := options.get("txn"):
            self.actions.append(Txn(app_id=txn["app_id"], version=txn["version"], last_updated=get_clock_ms()))
        domains: Mapping[str, str | None] = options.get("domains") or {}
        if domains and not supports(self.state.protocol, "domainMetadata"):
            raise EngineError("unsupported", "the table does not support domain metadata", phase="commit")
        for name, text in domains.items():
            old = self.base.domains.get(name)
            configuration = (old.configuration if old else "") if text is None else text
            self.actions.append(DomainMetadata(domain=name, configuration=configuration, removed=text is None))

    def assign_row_ids(self) -> None:
        """Give new files row ids after the high-water mark, which is stored in a domain."""
        if not supports(self.state.protocol, row_tracking.FEATURE):
            return
        domain = self.base.domains.get(row_tracking.DOMAIN)
        mark = -1 if domain is None else int(msgspec.json.decode(domain.configuration)["rowIdHighWaterMark"])
        assigned = mark
        for number, action in enumerate(self.actions):
            if isinstance(action, Add) and action.base_row_id is None:
                self.actions[number] = msgspec.structs.replace(
                    action, base_row_id=assigned + 1, default_row_commit_version=self.version
                )
                assigned += int(msgspec.json.decode(action.stats or "{}")["numRecords"])
        if assigned > mark:
            text = msgspec.json.encode({"rowIdHighWaterMark": assigned}).decode()
            self.actions.append(DomainMetadata(domain=row_tracking.DOMAIN, configuration=text, removed=False))

    def build_commit_info(self) -> CommitInfo:
        """Return the first action of the commit."""
        moment = get_clock_ms()
        stamp = None
        if has_in_commit_timestamps(self.state.protocol, self.state.metadata):
            last = self.log.read_in_commit_timestamp(self.base) if self.log is not None else None
            moment = stamp = max(moment, (last or 0) + 1)
        return CommitInfo(
            timestamp=moment,
            in_commit_timestamp=stamp,
            txn_id=str(uuid.uuid4()) if supports(self.state.protocol, catalog_managed.FEATURE) else None,
            operation=self.kind,
            engine_info="deltaspec",
            tags={ROWS_PRESERVED_TAG: "true"} if self.tracks_rows else None,
        )

    def write(self, actions: Sequence[Action]) -> None:
        """Write actions as the next commit. Raises `EngineError` if another writer was faster."""
        self.create_commit(encode_lines(actions))

    def create_commit(self, data: bytes) -> None:
        """Create the commit file with its complete content, or fail if another writer was faster.

        On a catalog-managed table, stage the commit.
        """
        if self.log is not None and self.log.catalog is not None:
            self.staged = self.stage(data)
            return
        try:
            create_file(self.root / LOG_DIRECTORY / commit_name(self.version), data)
        except FileExistsError as error:
            raise EngineError("conflict", f"version {self.version} exists", phase="commit", retryable=True) from error

    def stage(self, data: bytes) -> str:
        """Write a staged commit and return its name."""
        return stage_commit(self.root, self.version, data)


def check_protocol(state: LoadedTable) -> None:
    """Raise `EngineError` if the reference must not write to a table."""
    decision = may_write(state.protocol, (*WRITER_FEATURES, catalog_managed.FEATURE))
    if isinstance(decision, Refused):
        raise EngineError("unsupported", decision.reason, phase="commit")


def _select(values: Sequence[Any] | None, gone: Sequence[bool]) -> list[Any] | None:
    return None if values is None else [each for each, is_gone in zip(values, gone, strict=True) if not is_gone]
