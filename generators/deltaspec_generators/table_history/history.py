"""The state of a table while operations with explicit arguments lay it down, commit by commit.

Drawn tables (`tables`) choose the arguments of the operations. Written tables (`WrittenTable`), such as golden ones,
state them. Below are `TableFiles` and the encoder of checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from deltaspec.protocol.property_names import (
    COLUMN_MAPPING_MODE,
    IN_COMMIT_TIMESTAMPS_SINCE_TIME,
    IN_COMMIT_TIMESTAMPS_SINCE_VERSION,
    MAX_COLUMN_ID,
)
from deltaspec.protocol.schema import schema_string
from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec_generators.data_files.file_actions import list_implied_changes, list_row_ids
from deltaspec_generators.data_files.parquet_encodings import to_physical_names
from deltaspec_generators.data_files.stored_files import Row, StoredFile, convert_rows
from deltaspec_generators.schemas.changes import ColumnIdSequence, drop_columns, drop_void_columns, replace_struct
from deltaspec_generators.schemas.value_conversion import build_renamer, convert_all
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import Body, WrittenState, apply_actions
from deltaspec_generators.table_uris import TABLE_URI
from deltaspec_generators.tables.features import CHANGE_FEED, ENABLING_PROPERTIES, IN_COMMIT_TIMESTAMPS, build_protocol
from deltaspec_generators.tables.readable import ExpectedVersion


class PhysicalColumns(msgspec.Struct, frozen=True):
    """Physical columns of a logical schema."""

    schema: Struct
    partition_columns: list[str]
    physical: Struct
    """All columns but void ones."""
    data_schema: Struct
    partition_fields: list[Field]
    rows_by_file: dict[int, tuple[list[Row], list[Row]]] = msgspec.field(default_factory=dict)
    """Rows of each file with the logical columns, by the identity of its list of rows, which is kept here."""


def build_physical_columns(schema: Struct, partition_columns: Sequence[str], mapping: str | None) -> PhysicalColumns:
    """Compute the physical columns of a logical schema."""
    stored: Struct = drop_void_columns(schema)
    physical: Struct = to_physical_names(stored, mapping)
    named = dict(zip([each.name for each in stored.fields], physical.fields, strict=True))
    partition = [named[name] for name in partition_columns]
    data_schema = drop_columns(physical, [each.name for each in partition])
    return PhysicalColumns(schema, list(partition_columns), physical, data_schema, partition)


class TableHistory:
    """Mutable state of a table while it is laid down.

    Args:
        schema: logical schema; has column ids if column mapping is enabled.
        partition_columns: logical names of the partition columns.
        features: features that the protocol supports.
        configuration: properties.
        metadata: further fields of `metaData`.
        column_ids: sequence whose last id is the highest of the schema.
        root: URI of the table, with a slash at the end.
    """

    start_ms = 1_700_000_000_000
    """Time of version 0 in milliseconds since the epoch. Versions are one minute apart."""
    clustering_provider: str | None = None
    """`clusteringProvider` of new files, if the table supports clustering."""

    def __init__(
        self,
        schema: Struct,
        partition_columns: Sequence[str],
        *,
        features: Collection[str],
        configuration: Mapping[str, str],
        metadata: Body,
        column_ids: ColumnIdSequence,
        root: str = TABLE_URI,
    ) -> None:
        self.schema = schema
        self.partition_columns = list(partition_columns)
        self.features = frozenset(features)
        self.configuration = dict(configuration)
        self.metadata = metadata
        self.description: str | None = None
        self.column_ids = column_ids
        self.root = root
        self.files = TableFiles()
        self.state = WrittenState()
        """State after the last finished commit."""
        self.states: list[WrittenState] = []
        self.versions: list[ExpectedVersion] = []
        self.actions: list[Body] = []
        """Actions of the current commit."""
        self.commits: list[list[Body]] = []
        """Actions of each version; of tables with data, without `commitInfo`."""
        self.live: dict[str, StoredFile] = {}
        """Live files by path, including files of the current commit."""
        self.live_before: dict[str, StoredFile] = {}
        """Live files before the current commit."""
        self.changes: list[tuple[str, Row]] = []
        """Change type and row, with logical columns, of every row in the change files of the current commit."""
        self.history: list[str] = []
        """Operations so far, one line each."""
        self.high_water_mark = -1
        self.numbers = 0
        self._columns: PhysicalColumns | None = None

    # state

    @property
    def version(self) -> int:
        """Version of the current commit; outside of a commit, of the next."""
        return self.state.version + 1

    @property
    def timestamp_ms(self) -> int:
        """Timestamp of the current commit in milliseconds since the epoch."""
        return self.start_ms + 60_000 * self.version

    @property
    def mapping(self) -> str | None:
        """Column mapping mode, `id` or `name`; None without column mapping."""
        mode = self.configuration.get(COLUMN_MAPPING_MODE)
        return mode if mode in ("id", "name") else None

    @property
    def columns(self) -> PhysicalColumns:
        """Physical columns of the current schema, computed once for each schema."""
        known = self._columns
        if known is None or known.schema is not self.schema or known.partition_columns != self.partition_columns:
            known = build_physical_columns(self.schema, self.partition_columns, self.mapping)
            self._columns = known
        return known

    def is_enabled(self, name: str) -> bool:
        """Return whether a boolean property is true at the current commit."""
        return self.configuration.get(name) == "true"

    def next_number(self) -> int:
        """Return a number that was not used before."""
        self.numbers += 1
        return self.numbers

    def read_file(self, stored: StoredFile) -> list[Row]:
        """Return all rows of a file, deleted ones included, with the current logical columns.

        A file that was removed with other partition columns stores some of today's, and has values for former ones.
        """
        rows_by_file = self.columns.rows_by_file
        if id(stored.rows) not in rows_by_file:
            physical = ({**row, **stored.partition} for row in convert_rows(stored, self.columns.physical))
            rows_by_file[id(stored.rows)] = stored.rows, self.rename_to_logical(physical)
        return rows_by_file[id(stored.rows)][1]

    def rename_to_logical(self, rows: Any) -> list[Row]:
        """Rename the physical columns of rows to the current logical ones, at every depth."""
        return convert_all(build_renamer(self.schema, self.mapping), rows)

    # protocol and metadata

    def metadata_action(self) -> Body:
        """Build the `metaData` action of the current commit."""
        if self.mapping:
            self.configuration[MAX_COLUMN_ID] = str(self.column_ids.last)
        body = {
            **self.metadata,
            "schemaString": schema_string.serialize_schema(self.schema),
            "partitionColumns": list(self.partition_columns),
            "configuration": dict(self.configuration),
        }
        if self.description is not None:
            body["description"] = self.description
        return {"metaData": body}

    def write_properties(self, changes: Mapping[str, str | None]) -> None:
        """Set properties in the current commit; None removes a property."""
        merged = {**self.configuration, **changes}
        self.configuration = {name: value for name, value in merged.items() if value is not None}
        self.actions.append(self.metadata_action())

    def change_struct(self, path: Sequence[str], change: Callable[[tuple[Field, ...]], Any]) -> None:
        """Change the fields of the schema, or of the struct at a path of fields, elements, keys and values."""
        self.schema = replace_struct(self.schema, path, lambda kind: Struct(tuple(change(kind.fields))))
        self.actions.append(self.metadata_action())

    def support_features(self, names: Collection[str]) -> None:
        """Upgrade the protocol to one that also supports these features."""
        reader = self.state.protocol["minReaderVersion"]
        protocol = build_protocol({*self.state.features, *self.features, *names}, reader=reader)
        self.features |= frozenset(names)
        self.actions.append({"protocol": protocol})

    def build_enablement(self, timestamp_ms: int) -> dict[str, str]:
        """Build the properties that enable in-commit timestamps in the current commit, which has this timestamp."""
        return {
            IN_COMMIT_TIMESTAMPS: "true",
            IN_COMMIT_TIMESTAMPS_SINCE_VERSION: str(self.version),
            IN_COMMIT_TIMESTAMPS_SINCE_TIME: str(timestamp_ms),
        }

    # commits

    def finish_commit(self, lines: Sequence[Body], timestamp_ms: int) -> None:
        """Record the state after the current commit, which has these lines."""
        self.files.commits[self.version] = [*lines]
        self.state = apply_actions(self.state, lines, timestamp_ms)
        self.states.append(self.state)
        self.commits.append(self.actions)

    def describe_commit(self) -> None:
        """Record the expected answers for the version of the finished commit, and start the next commit."""
        self.versions.append(self._describe_version())
        self.actions, self.changes, self.live_before = [], [], dict(self.live)

    def _describe_version(self) -> ExpectedVersion:
        rows = []
        for stored in self.live.values():
            found = self.read_file(stored)
            rows += [found[index] for index in stored.live_indexes]
        ids, commit_versions = list_row_ids(self.live.values())
        tracked = self.is_enabled(ENABLING_PROPERTIES["rowTracking"]) and "rowTracking" in self.features
        return ExpectedVersion(
            version=self.state.version,
            timestamp_ms=self.state.timestamp_ms,
            schema=self.schema,
            partition_columns=tuple(self.partition_columns),
            plain_rows=rows,
            row_ids=ids if tracked else None,
            row_commit_versions=commit_versions if tracked else None,
            plain_changes=self._list_changes() if self.is_enabled(CHANGE_FEED) else None,
            state=self.state,
            has_change_files=any("cdc" in action for action in self.actions),
        )

    def _list_changes(self) -> list[tuple[str, Row]]:
        """List the changes of the current commit: from its change files, or else from its adds and removes."""
        if any("cdc" in action for action in self.actions):
            return self.changes
        return list_implied_changes(self.actions, self.live_before, self.live, self.read_file)
