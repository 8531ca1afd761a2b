"""Builder of a table with data while it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaspec.model.schema import schema_string
from deltaspec.model.schema.data_types import Field, Struct
from deltaspec_generators.logs.state import Body, TableState
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.tables.choices import Choices
from deltaspec_generators.tables.parquet_encodings import ParquetEncoding, to_physical_names
from deltaspec_generators.tables.schema_changes import ColumnIdSequence, drop_columns, drop_void_columns
from deltaspec_generators.tables.statistics import StatisticsStyle
from deltaspec_generators.tables.stored_files import StoredFile
from deltaspec_generators.tables.table_specs import DataTableSpec

START_MS = 1_700_000_000_000
MODE = "delta.columnMapping.mode"


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


@dataclass
class DataTableBuilder:
    """Mutable state of a table while it is drawn."""

    choices: Choices
    spec: DataTableSpec
    encodings: Sequence[ParquetEncoding]
    styles: Sequence[StatisticsStyle]
    schema: Struct
    """Logical schema; has column ids if column mapping is enabled."""
    configuration: dict[str, str]
    column_ids: ColumnIdSequence
    files: TableFiles = field(default_factory=TableFiles)
    state: TableState = field(default_factory=TableState)
    states: list[TableState] = field(default_factory=list)
    versions: list[TableVersion] = field(default_factory=list)
    live: dict[str, StoredFile] = field(default_factory=dict)
    live_before: dict[str, StoredFile] = field(default_factory=dict)
    """Live files before the current commit."""
    stored: dict[tuple[str, int], StoredFile] = field(default_factory=dict)
    """Every data file ever added by path and number of deleted rows."""
    actions: list[Body] = field(default_factory=list)
    changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    """What happened so far, one line per operation."""
    description: str | None = None
    high_water_mark: int = -1
    numbers: int = 0

    @property
    def version(self) -> int:
        """Version of the current commit."""
        return self.state.version + 1

    @property
    def timestamp_ms(self) -> int:
        """Timestamp of the current commit in milliseconds since the epoch."""
        return START_MS + 60_000 * self.version

    @property
    def features(self) -> frozenset[str]:
        """Features that the protocol supports."""
        return self.spec.features

    @property
    def mapping(self) -> str | None:
        """Column mapping mode, `id` or `name`; None without column mapping."""
        mode = self.configuration.get(MODE)
        return mode if mode in ("id", "name") else None

    @property
    def physical_schema(self) -> Struct:
        """Columns of data files and partition values, with physical names."""
        found: Struct = to_physical_names(drop_void_columns(self.schema), self.mapping)
        return found

    @property
    def partition_fields(self) -> list[Field]:
        """Physical partition columns, in the order of `partitionColumns`."""
        named = dict(
            zip([each.name for each in drop_void_columns(self.schema).fields], self.physical_schema.fields, strict=True)
        )
        return [named[name] for name in self.spec.partition_columns]

    @property
    def data_schema(self) -> Struct:
        """Physical columns without partition columns."""
        return drop_columns(self.physical_schema, [each.name for each in self.partition_fields])

    def is_enabled(self, name: str) -> bool:
        """Return whether a boolean property is true."""
        return self.configuration.get(name) == "true"

    def next_number(self) -> int:
        """Return a number that was not used before."""
        self.numbers += 1
        return self.numbers

    def draw_parquet_encoding(self) -> ParquetEncoding:
        """Draw one of the table's Parquet encodings."""
        return self.choices.pick(self.encodings)

    def draw_style(self) -> StatisticsStyle:
        """Draw one of the table's statistics styles."""
        return self.choices.pick(self.styles)

    def metadata_action(self) -> Body:
        """Build the `metaData` action of the current commit."""
        if self.mapping:
            self.configuration["delta.columnMapping.maxColumnId"] = str(self.column_ids.last)
        body = {
            **self.spec.metadata,
            "schemaString": schema_string.serialize_schema(self.schema),
            "partitionColumns": list(self.spec.partition_columns),
            "configuration": dict(self.configuration),
        }
        if self.description is not None:
            body["description"] = self.description
        return {"metaData": body}
