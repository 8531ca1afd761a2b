"""The versions of a golden table: commits, state, and what a reader must return for each version."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from deltaspec.golden.builder.columns import parse_columns
from deltaspec.model import property_names
from deltaspec.model.log.file_names import commit_name
from deltaspec.model.property_names import (
    CHANGE_DATA_FEED,
    COLUMN_MAPPING_MODE,
    IN_COMMIT_TIMESTAMPS_SINCE_TIME,
    IN_COMMIT_TIMESTAMPS_SINCE_VERSION,
    MAX_COLUMN_ID,
    ROW_TRACKING,
    ROWS_PRESERVED_TAG,
)
from deltaspec.model.schema import schema_string
from deltaspec.model.schema.data_types import Field, Struct, get_type_name, iter_leaf_types
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.data_files.file_actions import list_implied_changes, list_row_ids
from deltaspec_generators.data_files.stored_files import StoredFile, convert_rows
from deltaspec_generators.schemas.changes import ColumnIdSequence, assign_column_ids
from deltaspec_generators.schemas.value_conversion import build_renamer, convert_all
from deltaspec_generators.table_files import LOG, TABLE_ID, TableFiles, domain_action, txn_action
from deltaspec_generators.table_state import Body, TableState, apply_actions
from deltaspec_generators.tables.builder import PhysicalColumns, build_physical_columns
from deltaspec_generators.tables.features import build_properties, build_protocol
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable

START_MS = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC, the time of version 0. Versions are one minute apart."""
COPIED_MS = START_MS + 10**9
"""Modification times of commits with in-commit timestamps, in the reverse order: the table was copied later."""
CHANGE_FEED, IN_COMMIT_TIMESTAMPS = CHANGE_DATA_FEED, property_names.IN_COMMIT_TIMESTAMPS
ROW_TRACKING_DOMAIN, CLUSTERING_DOMAIN = "delta.rowTracking", "delta.clustering"
_FEATURE_OF_TYPE = {"timestamp_ntz": "timestampNtz", "variant": "variantType"}
_MODE, _LAST_ID = COLUMN_MAPPING_MODE, MAX_COLUMN_ID

PlainRow = dict[str, Any]
"""Plain values by logical name, as `arrow_values` lists them."""
Where = Callable[[PlainRow], bool]
"""Condition on a row."""


class TableHistory:
    """State of a golden table while it is built.

    Every operation is a commit; operations in `with table.commit():` are one. Nothing here draws or depends on drawing
    generators, so that a golden table changes only with its definition.

    Args:
        columns: columns as in `parse_columns`.
        partition_by: names of partition columns.
        features: table features beyond those that types and column mapping need.
        properties: table properties beyond those that enable the features.
        mapping: column mapping mode.
        nested_ids: whether elements, keys and values have column ids too.
        protocol: body of the protocol; built from the features if None.
        cluster_by: names of clustering columns.
        metadata: further fields of metaData, such as `name`.
    """

    def __init__(
        self,
        columns: Sequence[Any],
        *,
        partition_by: Sequence[str] = (),
        features: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        mapping: str | None = None,
        nested_ids: bool = False,
        protocol: Body | None = None,
        cluster_by: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.schema = parse_columns(columns)
        self.partition_columns = list(partition_by)
        self.column_ids = ColumnIdSequence()
        self.nested_ids = nested_ids
        types = {_FEATURE_OF_TYPE.get(get_type_name(each), "") for each in iter_leaf_types(self.schema)} - {""}
        self.features = {*features, *types, *(("columnMapping",) if mapping else ())}
        self.features |= {"clustering", "domainMetadata"} if cluster_by else set()
        self.features |= {"domainMetadata"} if "rowTracking" in self.features else set()
        self.configuration: dict[str, str] = {}
        for name in sorted(self.features):
            self.configuration |= build_properties(name)
        self.configuration |= properties or {}
        if mapping:
            self.schema = assign_column_ids(self.schema, self.column_ids, own_names=True, nested=nested_ids)
            self.configuration[_MODE] = mapping
        self.metadata: Body = {
            "id": TABLE_ID,
            "format": {"provider": "parquet", "options": {}},
            "createdTime": START_MS,
            **(metadata or {}),
        }
        self.files = TableFiles()
        self.state = TableState()
        self.states: list[TableState] = []
        self.versions: list[ExpectedVersion] = []
        self.actions: list[Body] = []
        self.commits: list[list[Body]] = []
        """Actions of each version, without commitInfo."""
        self.live: dict[str, StoredFile] = {}
        self.live_before: dict[str, StoredFile] = {}
        self.stored: dict[str, StoredFile] = {}
        """The newest state of every file ever added, by path."""
        self.changes: list[tuple[str, PlainRow]] = []
        self.history: list[str] = []
        self.high_water_mark = -1
        self.numbers = 0
        self._names: list[str] | None = None
        self._columns: PhysicalColumns | None = None
        with self.commit("create the table"):
            self.actions += [{"protocol": protocol or self._build_protocol()}, self.metadata_action()]
            if cluster_by:
                self.cluster(cluster_by)

    def _build_protocol(self) -> Body:
        if not self.features:
            return {"minReaderVersion": 1, "minWriterVersion": 2}
        strict = any(not each.nullable for each in self.schema.fields)
        return build_protocol({*self.features, *(("invariants",) if strict else ())}, reader=1)

    # state

    @property
    def version(self) -> int:
        """Version of the current commit; outside of a commit, of the next."""
        return self.state.version + 1

    @property
    def timestamp_ms(self) -> int:
        return START_MS + 60_000 * self.version

    @property
    def mapping(self) -> str | None:
        mode = self.configuration.get(_MODE)
        return mode if mode in ("id", "name") and "columnMapping" in self.features else None

    @property
    def columns(self) -> PhysicalColumns:
        """Physical columns of the current schema."""
        known = self._columns
        if known is None or known.schema is not self.schema or known.partition_columns != self.partition_columns:
            known = build_physical_columns(self.schema, self.partition_columns, self.mapping)
            self._columns = known
        return known

    def is_enabled(self, name: str) -> bool:
        return self.configuration.get(name) == "true"

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def read_file(self, stored: StoredFile) -> list[PlainRow]:
        """Return all rows of a file, deleted ones included, with the current logical columns."""
        rows = convert_rows(stored, self.columns.physical)
        return convert_all(build_renamer(self.schema, self.mapping), ({**row, **stored.partition} for row in rows))

    def list_live_rows(self, stored: StoredFile) -> list[tuple[int, PlainRow]]:
        """List position and value of the live rows of a file."""
        rows = self.read_file(stored)
        return [(index, rows[index]) for index in stored.live_indexes]

    def metadata_action(self) -> Body:
        """Build the `metaData` action of the current state."""
        if self.mapping:
            self.configuration[_LAST_ID] = str(self.column_ids.last)
        body = {
            **self.metadata,
            "schemaString": schema_string.serialize_schema(self.schema),
            "partitionColumns": list(self.partition_columns),
            "configuration": dict(self.configuration),
        }
        return {"metaData": body}

    # commits

    @contextmanager
    def commit(self, what: str = "", *, first: Sequence[Body] = (), **info: Any) -> Iterator[None]:
        """Make one commit of the operations inside; inside of another commit, be part of it.

        Args:
            what: line of the history.
            first: further actions at the start.
            info: further fields of commitInfo.
        """
        if self._names is not None:
            self._names.append(what)
            yield
            return
        self._names = []
        self.actions += first
        yield
        names, self._names = self._names, None
        self._finish_commit(what or ", ".join(names), info)

    def _finish_commit(self, what: str, info: Body) -> None:
        version, timestamp = self.version, self.timestamp_ms
        mark = f'{{"rowIdHighWaterMark":{self.high_water_mark}}}'
        before = self.state.domains.get(ROW_TRACKING_DOMAIN)
        if self.high_water_mark >= 0 and (before is None or before["configuration"] != mark):
            self.actions.append(domain_action(ROW_TRACKING_DOMAIN, mark))
        body: Body = {"timestamp": timestamp, "operation": "MANUAL", "engineInfo": "deltaspec golden tables"}
        written = timestamp
        if self.is_enabled(IN_COMMIT_TIMESTAMPS):
            body = {"inCommitTimestamp": timestamp, **body}
            written = COPIED_MS - 60_000 * version
        if "rowTracking" in self.features:
            body["tags"] = {ROWS_PRESERVED_TAG: "true"}
        actions = [{"commitInfo": {**body, **info}}, *self.actions]
        self.files.commits[version] = [*actions]
        self.files.written_ms[LOG + commit_name(version)] = written
        self.state = apply_actions(self.state, actions, timestamp)
        self.states.append(self.state)
        self.commits.append(self.actions)
        self.history.append(f"{version}: {what}")
        self.versions.append(self._describe_version())
        self.stored.update(self.live)
        self.actions, self.changes, self.live_before = [], [], dict(self.live)

    def _describe_version(self) -> ExpectedVersion:
        rows = [row for stored in self.live.values() for _, row in self.list_live_rows(stored)]
        ids, commit_versions = list_row_ids(self.live.values())
        tracked = self.is_enabled(ROW_TRACKING) and "rowTracking" in self.features
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
        )

    def _list_changes(self) -> list[tuple[str, PlainRow]]:
        """List the changes of the current commit: those of its change files, or else of its adds and removes."""
        if any("cdc" in action for action in self.actions):
            return self.changes
        return list_implied_changes(self.actions, self.live_before, self.live, self.read_file)

    # operations without rows

    def set_properties(self, **changes: str | None) -> None:
        """Set properties; `delta_appendOnly="true"` sets `delta.appendOnly`, None removes a property."""
        self.change_properties({name.replace("_", ".", 1): value for name, value in changes.items()})

    def change_properties(self, changes: Mapping[str, str | None]) -> None:
        """Set properties by name; None removes a property."""
        with self.commit("change properties"):
            merged = {**self.configuration, **changes}
            self.configuration = {name: value for name, value in merged.items() if value is not None}
            self.actions.append(self.metadata_action())

    def enable(self, *features: str, properties: Mapping[str, str] | None = None) -> None:
        """Add features to the protocol and enable them."""
        with self.commit(f"enable {', '.join(features)}"):
            self.features |= set(features) | ({"domainMetadata"} if "rowTracking" in features else set())
            self.features |= {name for name in ("columnMapping",) if self.state.protocol["minReaderVersion"] == 2}
            reader = self.state.protocol["minReaderVersion"]
            self.actions.append({"protocol": build_protocol(self.features, reader=reader)})
            for name in features:
                self.configuration |= build_properties(name)
            self.configuration |= properties or {}
            if "inCommitTimestamp" in features:
                self.configuration |= {
                    IN_COMMIT_TIMESTAMPS_SINCE_VERSION: str(self.version),
                    IN_COMMIT_TIMESTAMPS_SINCE_TIME: str(self.timestamp_ms),
                }
            self.actions.append(self.metadata_action())

    def set_transaction(self, app: str, version: int, **more: Any) -> None:
        """Record the version of an application."""
        with self.commit(f"transaction {version} of {app}"):
            self.actions.append(txn_action(app, version, **more))

    def set_domain(self, domain: str, configuration: str) -> None:
        """Set the configuration of a domain."""
        with self.commit(f"set the domain {domain}"):
            self.actions.append(domain_action(domain, configuration))

    def remove_domain(self, domain: str) -> None:
        """Remove a domain."""
        with self.commit(f"remove the domain {domain}"):
            body = self.state.domains[domain]
            self.actions.append(domain_action(domain, body["configuration"], removed=True))

    def cluster(self, names: Sequence[str]) -> None:
        """Set the clustering columns."""
        with self.commit(f"cluster by {', '.join(names)}"):
            columns = [[self.find_physical_name(name)] for name in names]
            text = encode_json({"clusteringColumns": columns, "domainName": CLUSTERING_DOMAIN})
            self.actions.append(domain_action(CLUSTERING_DOMAIN, text))

    def find_field(self, name: str) -> Field:
        """Return a top-level field of the schema."""
        return next(each for each in self.schema.fields if each.name == name)

    def find_physical_name(self, name: str) -> str:
        """Return the physical name of a top-level column."""
        field = self.find_field(name)
        physical: Struct = build_physical_columns(Struct((field,)), (), self.mapping).physical
        return physical.fields[0].name

    def describe(self) -> ReadableTable:
        """Return the table with the expected answers of the versions that its log can still give."""
        oldest = self.find_oldest_readable()
        versions = [each for each in self.versions if each.version >= oldest and each.version in self.files.commits]
        return ReadableTable(self.files, tuple(versions), tuple(self.history))

    def find_oldest_readable(self) -> int:
        """Return the oldest version that can be read: 0, or the oldest checkpoint after a cleanup."""
        if 0 in self.files.commits:
            return 0
        return min(each.version for each in self.files.checkpoints)
