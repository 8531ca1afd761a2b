"""Builder of a table while it is drawn: the state that all operations share, and that of tables with data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from deltaspec.model.property_names import APPEND_ONLY, COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from deltaspec.model.revisions import Revision
from deltaspec.model.schema import schema_string
from deltaspec.model.schema.data_types import DataType, Field, Struct
from deltaspec_generators.choices import Choices
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding, to_physical_names
from deltaspec_generators.data_files.statistics import StatisticsStyle
from deltaspec_generators.data_files.stored_files import Row, StoredFile, convert_rows
from deltaspec_generators.schemas.changes import ColumnIdSequence, drop_columns, drop_void_columns
from deltaspec_generators.schemas.value_conversion import build_renamer, convert_all
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import Body, TableState, apply_actions
from deltaspec_generators.tables import features
from deltaspec_generators.tables.table_specs import TableOptions, TableSpec

START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class TableVersion:
    """Expected result of reading one version."""

    schema: Struct
    rows: list[dict[str, Any]]
    """Plain values by logical column name, in no order."""
    row_ids: list[int]
    """Stable id of each row; empty without row tracking."""
    changes: list[tuple[str, dict[str, Any]]]
    """Change type and row of every row in the change data files of this version."""
    row_commit_versions: list[int] = field(default_factory=list)
    """Row commit version of each row; empty without row tracking."""
    implied_changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Change type and row of every row that the adds and removes with `dataChange` insert or delete.

    Where an add replaces a remove of the same file, only rows that one of their vectors deletes have changed.
    """
    has_change_files: bool = False


@dataclass(frozen=True)
class PhysicalColumns:
    """Physical columns of a logical schema."""

    schema: Struct
    partition_columns: list[str]
    physical: Struct
    """All columns but void ones."""
    data_schema: Struct
    partition_fields: list[Field]
    rows_by_file: dict[int, tuple[list[Row], list[dict[str, Any]]]] = field(default_factory=dict)
    """Rows of each file with the logical columns, by the identity of its list of rows, which is kept here."""


def build_physical_columns(schema: Struct, partition_columns: Sequence[str], mapping: str | None) -> PhysicalColumns:
    """Compute the physical columns of a logical schema."""
    stored: Struct = drop_void_columns(schema)
    physical: Struct = to_physical_names(stored, mapping)
    named = dict(zip([each.name for each in stored.fields], physical.fields, strict=True))
    partition = [named[name] for name in partition_columns]
    data_schema = drop_columns(physical, [each.name for each in partition])
    return PhysicalColumns(schema, list(partition_columns), physical, data_schema, partition)


class FileWriter(Protocol):
    """How the files of a table come to be: written with their rows, or only described in the log."""

    def draw_new_file(self) -> None:
        """Add a file of new rows in the current commit."""

    def draw_deleted_rows(self, stored: StoredFile) -> list[int]:
        """Draw rows of a file that are not deleted, at least one and not all."""

    def delete_rows(self, deleted: Mapping[str, Sequence[int]]) -> None:
        """Delete these rows, by path, with deletion vectors."""

    def merge_files(self, files: Sequence[StoredFile]) -> None:
        """Replace files of one partition by one file with their live rows."""

    def can_widen_partition(self, kind: DataType) -> bool:
        """Return whether a partition column may be widened to this type."""


@dataclass
class TableBuilder:
    """Mutable state of a table while it is drawn."""

    choices: Choices
    options: TableOptions
    spec: TableSpec
    schema: Struct = field(init=False)
    """Logical schema; has column ids if column mapping is enabled."""
    configuration: dict[str, str] = field(init=False)
    column_ids: ColumnIdSequence = field(init=False)
    partition_columns: list[str] = field(init=False)
    """Logical names of the partition columns."""
    features: frozenset[str] = field(init=False)
    """Features that the protocol supports."""
    writer: FileWriter = field(init=False)
    files: TableFiles = field(default_factory=TableFiles)
    state: TableState = field(default_factory=TableState)
    """State after the last finished commit."""
    states: list[TableState] = field(default_factory=list)
    live: dict[str, StoredFile] = field(default_factory=dict)
    """Live files by path, with those of the current commit."""
    commits: list[list[Body]] = field(default_factory=list)
    """Actions of each version; of tables with data, without `commitInfo`."""
    actions: list[Body] = field(default_factory=list)
    """Actions of the current commit."""
    reached: set[str] = field(default_factory=set)
    """What the table exercises, by names of `dimensions`."""
    former_names: set[str] = field(default_factory=set)
    """Logical names of columns that were dropped or renamed."""
    clustering: tuple[str, ...] = ()
    """Names of the columns that are, or contain, clustering columns."""
    description: str | None = None
    columns_of_schema: PhysicalColumns | None = None
    tombstones: dict[int, list[Body]] = field(default_factory=dict)
    left_out: list[Body] = field(default_factory=list)
    high_water_mark: int = -1
    numbers: int = 0

    def __post_init__(self) -> None:
        self.schema, self.configuration = self.spec.schema, dict(self.spec.configuration)
        self.column_ids = ColumnIdSequence(self.spec.last_id)
        self.partition_columns, self.features = list(self.spec.partition_columns), self.spec.features

    @property
    def version(self) -> int:
        """Version of the current commit."""
        return self.state.version + 1

    @property
    def timestamp_ms(self) -> int:
        """Timestamp of the current commit in milliseconds since the epoch."""
        return START_MS + 60_000 * self.version

    @property
    def revision(self) -> Revision:
        """Protocol revision that the table follows."""
        return self.spec.revision

    @property
    def has_rows(self) -> bool:
        """Whether any live file has a live row."""
        return any(stored.live_count for stored in self.live.values())

    def record(self, *names: str) -> None:
        """Record what the table exercises, by names of `dimensions`."""
        self.reached.update(names)

    @property
    def mapping(self) -> str | None:
        """Column mapping mode, `id` or `name`; None without column mapping."""
        mode = self.configuration.get(COLUMN_MAPPING_MODE)
        return mode if mode in ("id", "name") else None

    @property
    def columns(self) -> PhysicalColumns:
        """Physical columns of the current schema, computed once for each schema."""
        known = self.columns_of_schema
        if known is None or known.schema is not self.schema or known.partition_columns != self.partition_columns:
            known = build_physical_columns(self.schema, self.partition_columns, self.mapping)
            self.columns_of_schema = known
        return known

    @property
    def partition_fields(self) -> list[Field]:
        """Physical partition columns, in the order of `partitionColumns`."""
        return self.columns.partition_fields

    @property
    def data_schema(self) -> Struct:
        """Physical columns of data files, without partition and void columns."""
        return self.columns.data_schema

    def is_enabled(self, name: str) -> bool:
        """Return whether a boolean property is true at the current commit."""
        return self.configuration.get(name) == "true"

    def has_feature(self, name: str) -> bool:
        """Return whether a feature is supported, possibly under its preview name."""
        return features.has_feature(self.features, name)

    @property
    def iceberg_version(self) -> int:
        """Enabled version of Iceberg compatibility; 0 for none."""
        return next((each for each in (1, 2, 3) if self.is_enabled(f"delta.enableIcebergCompatV{each}")), 0)

    @property
    def append_only(self) -> bool:
        """Whether the table is append-only before or after the current commit."""
        return "appendOnly" in self.features and (self.is_enabled(APPEND_ONLY) or self.state.is_enabled(APPEND_ONLY))

    @property
    def action_kinds(self) -> set[str]:
        """Wire names of the actions in the current commit so far."""
        return {kind for action in self.actions for kind in action}

    def list_files(self) -> list[StoredFile]:
        """List the live files that the current commit has not touched."""
        touched = {body["path"] for action in self.actions for body in action.values() if "dataChange" in body}
        return [stored for path, stored in self.live.items() if path not in touched]

    def next_number(self) -> int:
        """Return a number that was not used before."""
        self.numbers += 1
        return self.numbers

    def metadata_action(self) -> Body:
        """Build the `metaData` action of the current commit."""
        if self.mapping:
            self.configuration[MAX_COLUMN_ID] = str(self.column_ids.last)
        body = {
            **self.spec.metadata,
            "schemaString": schema_string.serialize_schema(self.schema),
            "partitionColumns": list(self.partition_columns),
            "configuration": dict(self.configuration),
        }
        if self.description is not None:
            body["description"] = self.description
        return {"metaData": body}

    def finish_commit(self, actions: list[Body], timestamp_ms: int) -> None:
        """Record the state after the current commit, whose lines are `actions`."""
        self.files.commits[self.version] = [*actions]
        self.state = apply_actions(self.state, actions, timestamp_ms)
        self.states.append(self.state)
        self.commits.append(self.actions)


@dataclass
class DataTableBuilder(TableBuilder):
    """Mutable state of a table with data."""

    encodings: Sequence[ParquetEncoding] = ()
    styles: Sequence[StatisticsStyle] = ()
    versions: list[TableVersion] = field(default_factory=list)
    live_by_version: list[dict[str, StoredFile]] = field(default_factory=list)
    live_before: dict[str, StoredFile] = field(default_factory=dict)
    """Live files before the current commit."""
    stored: dict[tuple[str, frozenset[int]], StoredFile] = field(default_factory=dict)
    """Every data file ever added by path and deleted rows."""
    changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    """What happened so far, one line per operation."""

    def read_file(self, stored: StoredFile) -> list[dict[str, Any]]:
        """Return all rows of a file, deleted ones included, with the current logical columns.

        A file that was removed with other partition columns stores some of today's, and has values for former ones.
        """
        rows_by_file = self.columns.rows_by_file
        if id(stored.rows) not in rows_by_file:
            physical = ({**row, **stored.partition} for row in convert_rows(stored, self.columns.physical))
            rows = convert_all(build_renamer(self.schema, self.mapping), physical)
            rows_by_file[id(stored.rows)] = stored.rows, rows
        return rows_by_file[id(stored.rows)][1]

    def draw_parquet_encoding(self) -> ParquetEncoding:
        """Draw one of the table's Parquet encodings."""
        return self.choices.pick(self.encodings)

    def draw_style(self) -> StatisticsStyle:
        """Draw one of the table's statistics styles."""
        style = self.choices.pick(self.styles)
        return style.for_deleted() if {"deletionVectors", "rowTracking"} & self.features else style
