"""Builder of a table while it is drawn: it chooses the arguments of the operations that `TableHistory` performs."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from deltaspec.protocol.property_names import APPEND_ONLY
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import DataType, Field, Struct
from deltaspec_generators.choices import Choices
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.data_files.statistics import StatisticsStyle
from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.schemas.changes import ColumnIdSequence
from deltaspec_generators.table_history.files import FileHistory
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables import features
from deltaspec_generators.tables.table_specs import TableOptions, TableSpec


class FileWriter(Protocol):
    """Creates the files of a table: writes them with their rows, or only describes them in the log."""

    def draw_new_file(self) -> None:
        """Add a file of new rows in the current commit."""

    def draw_deleted_rows(self, stored: StoredFile) -> list[int]:
        """Draw rows of a file that are not deleted, at least one and not all."""

    def delete_rows(self, deleted: Mapping[str, Sequence[int]]) -> None:
        """Delete these rows, by path, with deletion vectors."""

    def merge_files(self, files: Sequence[StoredFile]) -> None:
        """Replace files of one partition by one file with their live rows."""

    def can_widen_partition(self, data_type: DataType) -> bool:
        """Return whether a partition column may be widened to this type."""


class TableBuilder(FileHistory):
    """Mutable state of a table while it is drawn.

    Args:
        choices: source of choices.
        options: which table to draw.
        spec: the first version.
    """

    writer: FileWriter

    def __init__(self, choices: Choices, options: TableOptions, spec: TableSpec) -> None:
        super().__init__(
            spec.schema,
            spec.partition_columns,
            features=spec.features,
            configuration=spec.configuration,
            metadata=spec.metadata,
            column_ids=ColumnIdSequence(spec.last_id),
            root=options.root,
        )
        self.choices, self.options, self.spec = choices, options, spec
        self.reached: set[str] = set()
        """Names of `dimensions` that the table exercises."""
        self.former_names: set[str] = set()
        """Logical names of columns that were dropped or renamed."""
        self.clustering: tuple[str, ...] = ()
        """Names of the columns that are, or contain, clustering columns."""
        self.tombstones: dict[int, list[Body]] = {}
        self.left_out: list[Body] = []

    @property
    def revision(self) -> Revision:
        """Protocol revision that the table follows."""
        return self.spec.revision

    @property
    def has_rows(self) -> bool:
        """Whether any live file has a live row."""
        return any(stored.live_count for stored in self.live.values())

    def record(self, *names: str) -> None:
        """Record names of `dimensions` that the table exercises."""
        self.reached.update(names)

    @property
    def partition_fields(self) -> list[Field]:
        """Physical partition columns, in the order of `partitionColumns`."""
        return self.columns.partition_fields

    @property
    def data_schema(self) -> Struct:
        """Physical columns of data files, without partition and void columns."""
        return self.columns.data_schema

    def has_feature(self, name: str) -> bool:
        """Return whether a feature is supported, possibly under its preview name."""
        return features.has_feature(self.features, name)

    def toggle(self, name: str) -> None:
        """Change the value of a boolean property in the current commit."""
        self.write_properties({name: "false" if self.is_enabled(name) else "true"})

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


class DataTableBuilder(TableBuilder):
    """Mutable state of a table with data.

    Args:
        choices: source of choices.
        options: which table to draw.
        spec: the first version.
        encodings: Parquet encodings of the table.
        styles: statistics styles of the table.
    """

    def __init__(
        self,
        choices: Choices,
        options: TableOptions,
        spec: TableSpec,
        *,
        encodings: Sequence[ParquetEncoding],
        styles: Sequence[StatisticsStyle],
    ) -> None:
        super().__init__(choices, options, spec)
        self.encodings, self.styles = encodings, styles
        self.live_by_version: list[dict[str, StoredFile]] = []
        self.stored: dict[tuple[str, frozenset[int]], StoredFile] = {}
        """Every data file ever added by path and deleted rows."""

    def draw_parquet_encoding(self) -> ParquetEncoding:
        """Draw one of the table's Parquet encodings."""
        return self.choices.pick(self.encodings)
