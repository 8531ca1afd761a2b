"""Written tables: commits, state, and the expected answers for each version."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, ROWS_PRESERVED_TAG
from deltaspec.protocol.schema.data_types import Field, Struct, get_type_name, iter_leaf_types
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.schemas.changes import ColumnIdSequence, assign_column_ids
from deltaspec_generators.table_files import LOG, TABLE_ID, domain_action, txn_action
from deltaspec_generators.table_history.columns import parse_columns
from deltaspec_generators.table_history.files import FileHistory
from deltaspec_generators.table_history.history import build_physical_columns
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables.features import (
    CLUSTERING,
    FEATURE_OF_TYPE,
    IN_COMMIT_TIMESTAMPS,
    ROW_TRACKING,
    build_properties,
    build_protocol,
)
from deltaspec_generators.tables.readable import ReadableTable

START_MS = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC, the time of version 0."""
COPIED_MS = START_MS + 10**9
"""Modification times of commits with in-commit timestamps, in the reverse order: the table was copied later."""

PlainRow = dict[str, Any]
"""Plain values by logical name, as `arrow_values` lists them."""
Where = Callable[[PlainRow], bool]
"""Condition on a row."""


class WrittenHistory(FileHistory):
    """State of a written table.

    Every operation is a commit; operations in `with table.commit():` are one. Nothing here draws, so a golden table
    changes only with its definition or this package, which `deltaspec golden build --check` shows.

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

    start_ms = START_MS
    clustering_provider = "liquid"

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
        schema = parse_columns(columns)
        types = {FEATURE_OF_TYPE.get(get_type_name(each), "") for each in iter_leaf_types(schema)} - {""}
        supported = {*features, *types, *(("columnMapping",) if mapping else ())}
        supported |= {"clustering", "domainMetadata"} if cluster_by else set()
        supported |= {"domainMetadata"} if "rowTracking" in supported else set()
        configuration: dict[str, str] = {}
        for name in sorted(supported):
            configuration |= build_properties(name)
        configuration |= properties or {}
        column_ids = ColumnIdSequence()
        if mapping:
            schema = assign_column_ids(schema, column_ids, own_names=True, nested=nested_ids)
            configuration[COLUMN_MAPPING_MODE] = mapping
        super().__init__(
            schema,
            partition_by,
            features=supported,
            configuration=configuration,
            metadata={
                "id": TABLE_ID,
                "format": {"provider": "parquet", "options": {}},
                "createdTime": START_MS,
                **(metadata or {}),
            },
            column_ids=column_ids,
        )
        self.nested_ids = nested_ids
        self.stored: dict[str, StoredFile] = {}
        """The newest state of every file ever added, by path."""
        self._names: list[str] | None = None
        with self.commit("create the table"):
            self.actions += [{"protocol": protocol or self._build_protocol()}, self.metadata_action()]
            if cluster_by:
                self.cluster(cluster_by)

    def _build_protocol(self) -> Body:
        if not self.features:
            return {"minReaderVersion": 1, "minWriterVersion": 2}
        strict = any(not each.nullable for each in self.schema.fields)
        return build_protocol({*self.features, *(("invariants",) if strict else ())}, reader=1)

    @property
    def mapping(self) -> str | None:
        """Column mapping mode; None also if the table does not support the feature."""
        return super().mapping if "columnMapping" in self.features else None

    def list_live_rows(self, stored: StoredFile) -> list[tuple[int, PlainRow]]:
        """List position and value of the live rows of a file."""
        rows = self.read_file(stored)
        return [(index, rows[index]) for index in stored.live_indexes]

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
        self._finish(what or ", ".join(names), info)

    def _finish(self, what: str, info: Body) -> None:
        version, timestamp = self.version, self.timestamp_ms
        mark = f'{{"rowIdHighWaterMark":{self.high_water_mark}}}'
        before = self.state.domains.get(ROW_TRACKING)
        if self.high_water_mark >= 0 and (before is None or before["configuration"] != mark):
            self.actions.append(domain_action(ROW_TRACKING, mark))
        body: Body = {"timestamp": timestamp, "operation": "MANUAL", "engineInfo": "deltaspec golden tables"}
        written = timestamp
        if self.is_enabled(IN_COMMIT_TIMESTAMPS):
            body = {"inCommitTimestamp": timestamp, **body}
            written = COPIED_MS - 60_000 * version
        if "rowTracking" in self.features:
            body["tags"] = {ROWS_PRESERVED_TAG: "true"}
        self.files.written_ms[LOG + commit_name(version)] = written
        self.finish_commit([{"commitInfo": {**body, **info}}, *self.actions], timestamp)
        self.history.append(f"{version}: {what}")
        self.stored.update(self.live)
        self.describe_commit()

    # operations without rows

    def set_properties(self, **changes: str | None) -> None:
        """Set properties; `delta_appendOnly="true"` sets `delta.appendOnly`, None removes a property."""
        self.change_properties({name.replace("_", ".", 1): value for name, value in changes.items()})

    def change_properties(self, changes: Mapping[str, str | None]) -> None:
        """Set properties by name; None removes a property."""
        with self.commit("change properties"):
            self.write_properties(changes)

    def enable(self, *features: str, properties: Mapping[str, str] | None = None) -> None:
        """Add features to the protocol and enable them."""
        with self.commit(f"enable {', '.join(features)}"):
            self.features |= set(features) | ({"domainMetadata"} if "rowTracking" in features else set())
            self.features |= {name for name in ("columnMapping",) if self.state.protocol["minReaderVersion"] == 2}
            reader = self.state.protocol["minReaderVersion"]
            self.actions.append({"protocol": build_protocol(self.features, reader=reader)})
            changes = {key: value for name in features for key, value in build_properties(name).items()}
            changes |= properties or {}
            if "inCommitTimestamp" in features:
                changes |= self.build_enablement(self.timestamp_ms)
            self.write_properties(changes)

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
            text = encode_json({"clusteringColumns": columns, "domainName": CLUSTERING})
            self.actions.append(domain_action(CLUSTERING, text))

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
