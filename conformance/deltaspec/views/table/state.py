"""Table state along the validated history, and rows of the views over the actions that change it.

This is the mutable implementation of the model's replay for everything except files: protocol, metadata, domains and
transactions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deltaspec.model.actions import CommitInfo, DomainMetadata, MetaData, Protocol, RowIdHighWaterMark, Txn, WireStruct
from deltaspec.model.commit import iceberg_compat
from deltaspec.model.commit.operations import reuses_existing_files
from deltaspec.model.features import clustering, table_features, table_properties
from deltaspec.model.features.protocol import (
    Refused,
    get_supported_features,
    has_known_features,
    may_read,
    may_write,
)
from deltaspec.model.revisions import Revision
from deltaspec.model.rows import row_tracking
from deltaspec.model.rows.statistics import list_leaf_columns
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import DataType, Struct
from deltaspec.model.schema.schema_string import SchemaError, get_void_blocked_reason, parse_schema
from deltaspec.views.data.variants import build_variant_use_rows
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.views.table.clustering_history import ClusteringHistory, build_clustering_row
from deltaspec.views.table.column_constraints import ColumnHistory
from deltaspec.views.table.domain_rows import build_domain_row
from deltaspec.views.table.file_requirements import FileRequirements, RequirementHistory
from deltaspec.views.table.iceberg_history import IcebergHistory
from deltaspec.views.table.mapping_history import MappingHistory, entry_names, logical_partition_names
from deltaspec.views.table.metadata_rows import (
    build_configuration_rows,
    build_field_rows,
    build_metadata_row,
)
from deltaspec.views.table.protocol_rows import build_feature_rows, build_protocol_row
from deltaspec.views.table.row_constraints import RowConstraintHistory
from deltaspec.views.table.type_widening import WideningHistory, find_widening_traces

Row = dict[str, Any]
VIEW_NAMES = (
    "protocols",
    "features",
    "metadata",
    "schema_fields",
    "configuration",
    "domains",
    "clustering",
    "iceberg",
    "nested_ids",
    "transactions",
    "constraint_columns",
)


@dataclass(frozen=True)
class TableSchema:
    """Table schema of one version, which data files are validated against."""

    schema: Struct
    mapping: str | None
    """Column mapping mode: `id`, `name` or None."""
    partition_columns: list[str]
    """Logical names, in the order of the metadata."""
    configuration: dict[str, str]
    features: frozenset[str]
    """Features that the table supports."""
    forgotten: frozenset[tuple[tuple[str, ...], DataType]] = frozenset()
    """Logical paths, each with the type before a change that an earlier schema recorded and this one does not."""
    unrecorded: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Column paths, each with the type before a change that a commit did not record -> version of that commit."""

    def supports(self, feature: str) -> bool:
        """Return whether the table supports a feature or a preview of it."""
        return table_features.supports_feature_or_preview(set(self.features), feature)

    @property
    def iceberg(self) -> tuple[str, ...]:
        """Enabled Iceberg compatibilities."""
        return iceberg_compat.get_enabled_compatibilities(self.features, self.configuration)


@dataclass
class TableState:
    """Table state after the actions applied so far, and the rows of the views over them."""

    revision: Revision = Revision.CURRENT
    """Protocol revision that the table is validated against."""
    protocol: Protocol | None = None
    metadata: MetaData | None = None
    protocol_known: bool = True
    """False once a protocol action could not be decoded."""
    metadata_known: bool = True
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    domains_known: bool = True
    """False once a domainMetadata action could not be decoded."""
    row_id_mark: RowIdHighWaterMark | None = None
    """Last rowIdHighWaterMark action (r1, r2)."""
    row_id_mark_known: bool = True
    """False once a rowIdHighWaterMark action could not be decoded."""
    transactions: dict[str, Txn] = field(default_factory=dict)
    transactions_known: bool = True
    """False once a txn action could not be decoded."""
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in VIEW_NAMES})
    schema: Struct | None = None
    mapping: str | None = None
    supported: set[str] | None = None
    """Features that the table supports; None if the protocol is unknown, or is missing a required feature list."""
    used: set[str] = field(default_factory=set)
    """Features that were active in some version so far."""
    mapped: MappingHistory = field(default_factory=MappingHistory)
    """History of mapped columns."""
    columns: ColumnHistory = field(default_factory=ColumnHistory)
    """History of columns with defaults and identity columns."""
    widening: WideningHistory = field(default_factory=WideningHistory)
    """History of type changes."""
    clustered: ClusteringHistory = field(default_factory=ClusteringHistory)
    """History of columns and clustering columns."""
    variant_uses: list[Row] = field(default_factory=list)
    """Rows of the view `variant_uses`."""
    iceberg: IcebergHistory = field(default_factory=IcebergHistory)
    """History of enabled Iceberg compatibilities."""
    file_requirements: RequirementHistory = field(default_factory=RequirementHistory)
    """History of what the table requires of its live files."""
    conditions: RowConstraintHistory = field(init=False)
    """History of row constraints."""
    _context: FileContext | None = None
    _removed_domains: frozenset[str] = frozenset()
    """Domains that the current commit removes; the actions of a commit have no order."""

    def __post_init__(self) -> None:
        self.conditions = RowConstraintHistory(self.revision)

    def apply(self, version: int, file: str, actions: list[tuple[int, WireStruct]]) -> None:
        """Apply the actions of one commit, or of the checkpoint that the history starts from.

        Protocol and metadata apply to the complete commit, so they come first, whatever their position.
        """
        domains = [action for _, action in actions if isinstance(action, DomainMetadata)]
        self._removed_domains = frozenset(action.domain for action in domains if action.removed)
        protocol_before, written = self.protocol, len(self.rows["protocols"])
        for action_type in (Protocol, MetaData, DomainMetadata, RowIdHighWaterMark, Txn):
            for line, action in actions:
                if isinstance(action, action_type):
                    location = {"version": version, "file": file, "line": line}
                    match action:
                        case Protocol():
                            self._apply_protocol(location, action)
                        case MetaData():
                            self._apply_metadata(location, action)
                        case DomainMetadata():
                            self._apply_domain(location, action)
                        case RowIdHighWaterMark():
                            self.row_id_mark = action
                        case Txn():
                            self._apply_transaction(location, action)
        self._apply_clustering(version, file, actions)
        self._apply_iceberg(version, file, actions)
        self._apply_variants(version, file, actions)
        self._apply_file_requirements(version, file, actions)
        for row in self.rows["protocols"][written:]:
            row["type_widening_traces"] = find_widening_traces(
                protocol_before, self.protocol, self.metadata, self.schema
            )
        self.columns.apply((version, file), actions, self.metadata, self.schema, self.mapping, self.supported)
        self.rows["constraint_columns"] += self.conditions.apply(
            (version, file), actions, self.metadata, self.schema, self.supported
        )
        changed = any(isinstance(action, Protocol | MetaData) for _, action in actions)
        if changed and self.protocol is not None and self.metadata is not None and self.schema is not None:
            self.used |= table_properties.find_active_features(self.protocol, self.metadata, self.schema)

    def lose(self, kinds: set[str | None]) -> None:
        """Record that actions of these kinds could not be decoded (None: unknown kind)."""
        if kinds & {"protocol", None}:
            self.protocol, self.supported, self.protocol_known = None, None, False
        if kinds & {"metaData", None}:
            self.metadata, self.schema, self.metadata_known = None, None, False
        if kinds & {"protocol", "metaData", None}:
            self._context = None
            self.mapped.forget()
            self.iceberg.forget()
            self.clustered.forget()
            self.widening.forget()
            self.file_requirements.forget()
            self.columns.forget()
            self.conditions.forget()
        if kinds & {"domainMetadata", None}:
            self.domains_known = False
        if kinds & {"txn", None}:
            self.transactions_known = False
        if kinds & {"rowIdHighWaterMark", None}:
            self.row_id_mark_known = False

    @property
    def high_water_mark(self) -> tuple[int | None, bool | None]:
        """High-water mark of row ids, and whether the table has one; None if unknown."""
        if not self.revision.since(Revision.R3):  # [Changed in r3] from a separate action to a domain
            mark = self.row_id_mark
            number = None if mark is None else mark.high_water_mark
            return (number, mark is not None) if self.row_id_mark_known else (None, None)
        domain = self.domains.get(row_tracking.DOMAIN)
        if not self.domains_known:
            return None, None
        return (None, False) if domain is None else (row_tracking.parse_high_water_mark(domain.configuration), True)

    def supports(self, feature: str) -> bool | None:
        """Return whether a feature is supported; None if the protocol is unknown."""
        return None if self.supported is None else feature in self.supported

    def file_context(self, table_root: str | None) -> FileContext:
        """Return the context that file actions are validated against; the same object until the state changes."""
        if self._context is None:
            self._context = self._file_context(table_root)
        return self._context

    def _file_context(self, table_root: str | None) -> FileContext:
        columns, logical = self._partition_columns
        statistics, leaves = None, None
        if self.schema is not None and self.metadata is not None and self.supported is not None:
            leaves = tuple(list_leaf_columns(self.schema, self.mapping, self.metadata.partition_columns))
            statistics = entry_names(self.schema, self.metadata.configuration, self.mapping, self.mapped)
        clustered = self.clustering_columns
        vectors = self.supports("deletionVectors")
        void = None if self.schema is None else get_void_blocked_reason(self.schema)
        enabled = self.iceberg.enabled_now
        return FileContext(
            columns,
            vectors,
            table_root,
            clustered,
            self.clustered.fields_since(clustered),
            self.revision,
            self.mapping,
            logical,
            statistics,
            void,
            iceberg=enabled[-1] if enabled else None,
            leaf_columns=leaves,
        )

    @property
    def _partition_columns(self) -> tuple[dict[str, DataType] | None, dict[str, str]]:
        """Types of the partition columns by physical name, and logical to physical name of those that differ.

        The types are None if the state is unknown, or a partition column is not in the schema.
        """
        if self.schema is None or self.metadata is None or self.supported is None:
            return None, {}
        names, partitioned = {member.name for member in self.schema.fields}, self.metadata.partition_columns
        if not set(partitioned) <= names:
            return None, {}
        types = column_mapping.get_partition_types(self.schema, partitioned, self.mapping)
        return types, logical_partition_names(self.schema, partitioned, self.mapping)

    @property
    def clustering_columns(self) -> tuple[clustering.Path, ...]:
        """Physical paths of the clustering columns; empty if clustering is not supported."""
        domain = self.domains.get(clustering.DOMAIN) if self.supports(clustering.FEATURE) else None
        return clustering.resolve_columns(clustering.read_clustering_columns(domain), self.schema, self.mapping)

    @property
    def table_schema(self) -> TableSchema | None:
        """Schema that data files are validated against; None if protocol, metadata or schema is unknown."""
        if self.schema is None or self.metadata is None or self.supported is None:
            return None
        return TableSchema(
            self.schema,
            self.mapping,
            list(self.metadata.partition_columns),
            dict(self.metadata.configuration),
            frozenset(self.supported),
            self.widening.forgotten,
            self.widening.unrecorded,
        )

    @property
    def unknown_reader_features(self) -> list[str]:
        """Reader requirements that may change replay: unknown features or versions, and proposals that alter replay."""
        if self.protocol is None:
            return []
        if self.protocol.min_reader_version > table_features.MAX_READER_VERSION:
            return [f"reader version {self.protocol.min_reader_version}"]
        known = table_features.get_known_features(self.revision)
        names = [name for name in self.protocol.reader_features or () if name not in known]
        return [name for name in names if table_features.may_alter_replay(name)]

    @property
    def refusal(self) -> Refused | None:
        """Why a client of an older protocol revision must not read or write the table; None if it may do both.

        Always None for the current revision: a feature that it does not define may be newer than the kit.
        """
        if self.protocol is None or self.revision is Revision.CURRENT:
            return None
        known = table_features.get_known_features(self.revision)
        for decision in (may_read(self.protocol, known), may_write(self.protocol, known)):
            if isinstance(decision, Refused):
                return decision
        return None

    @property
    def in_commit_timestamps(self) -> bool | None:
        """Whether in-commit timestamps are enabled; None if unknown."""
        if self.protocol is None or self.supported is None or self.metadata is None:
            return None
        return table_properties.has_in_commit_timestamps(self.protocol, self.metadata)

    @property
    def append_only(self) -> bool | None:
        if self.protocol is None or self.supported is None or self.metadata is None:
            return None
        return table_properties.is_append_only(self.protocol, self.metadata)

    def _apply_protocol(self, location: Row, action: Protocol) -> None:
        before = self.protocol
        now = self._get_current_names(get_supported_features(action)) if has_known_features(action) else None
        self.rows["protocols"].append(build_protocol_row(location, before, action, self.used, self.revision))
        self.rows["features"] += build_feature_rows(location, action, self.revision)
        self.protocol, self.supported, self.protocol_known = action, now, True
        self._update_mapping()

    def _get_current_names(self, names: set[str]) -> set[str]:
        return {table_features.get_current_name(name, self.revision) for name in names}

    def _apply_metadata(self, location: Row, action: MetaData) -> None:
        before = self.metadata
        fault = None
        self.metadata, self.metadata_known = action, True
        try:
            self.schema = parse_schema(action.schema_string)
        except SchemaError as error:
            self.schema, fault = None, error
        self._update_mapping()
        self.widening.apply(
            location, self.schema, action.configuration, self.supported, mapped=self.mapping is not None
        )
        metadata_mapping, field_mapping = self.mapped.apply(
            self.schema,
            action.configuration,
            self.mapping,
            is_first=location["version"] == 0 and ".checkpoint." not in location["file"],
        )
        row = build_metadata_row(location, action, self.schema, fault, self.mapping)
        self.rows["metadata"].append(row | metadata_mapping)
        if self.schema is not None:
            self.rows["schema_fields"] += build_field_rows(
                location, self.schema, field_mapping, self.supported, self.revision
            )
        settings = before.configuration if before else {}
        self.rows["configuration"] += build_configuration_rows(
            location, settings, action.configuration, self.schema, self.supported, self.revision
        )

    def _update_mapping(self) -> None:
        """Update the column mapping mode after a change of protocol or metadata."""
        self._context = None
        supported = bool(self.supports("columnMapping"))
        settings = self.metadata.configuration if self.metadata else {}
        self.mapping = column_mapping.get_mapping_mode(settings, supported=supported)

    def _apply_domain(self, location: Row, action: DomainMetadata) -> None:
        others = self.domains.keys() - self._removed_domains
        row = build_domain_row(location, action, self.domains.get(action.domain), others)
        needed = row.pop("needed_feature")
        is_unsupported = needed is not None and self.supported is not None
        is_unsupported = is_unsupported and not table_features.supports_feature_or_preview(
            self.supported or set(), needed
        )
        row |= {"supported": self.supports("domainMetadata"), "unsupported_feature": needed if is_unsupported else None}
        self.rows["domains"].append(row)
        if action.removed:
            self.domains.pop(action.domain, None)
        else:
            self.domains[action.domain] = action

    def _apply_clustering(self, version: int, file: str, actions: list[tuple[int, WireStruct]]) -> None:
        """Re-evaluate the clustering if the domain, protocol or metadata changed."""
        if any(isinstance(each, Protocol | MetaData) or _is_clustering(each) for _, each in actions):
            self.clustered.apply(version, self.schema, self.mapping, self.clustering_columns)
        lines = [line for line, each in actions if isinstance(each, MetaData) or _is_clustering(each)]
        columns = clustering.read_clustering_columns(self.domains.get(clustering.DOMAIN))
        self._context = None if lines else self._context
        if lines and columns and self.supports("clustering") and self.schema and self.metadata:
            location = {"version": version, "file": file, "line": lines[-1]}
            row = build_clustering_row(
                columns, self.schema, self.metadata.partition_columns, self.mapping, self.revision
            )
            self.rows["clustering"].append(location | row)

    def _apply_iceberg(self, version: int, file: str, actions: list[tuple[int, WireStruct]]) -> None:
        """Re-evaluate the Iceberg compatibility if protocol or metadata changed."""
        lines = [line for line, each in actions if isinstance(each, Protocol | MetaData)]
        if lines:
            location = {"version": version, "file": file, "line": lines[-1]}
            operations = [action.operation for _, action in actions if isinstance(action, CommitInfo)]
            facts = self.iceberg.apply(
                location,
                self.protocol,
                self.metadata,
                self.schema,
                self.mapping,
                self.revision,
                reuses_files=any(isinstance(each, str) and reuses_existing_files(each) for each in operations),
            )
            self.rows["iceberg"] += facts[0]
            self.rows["nested_ids"] += facts[1]

    def _apply_file_requirements(self, version: int, file: str, actions: list[tuple[int, WireStruct]]) -> None:
        lines = [line for line, each in actions if isinstance(each, Protocol | MetaData)]
        if lines:
            columns, logical = self._partition_columns
            required = FileRequirements(
                columns, logical, self.supports("deletionVectors"), "V1" in self.iceberg.enabled_now
            )
            self.file_requirements.apply((version, file, lines[-1]), required, self.schema, self.mapping)

    def _apply_variants(self, version: int, file: str, actions: list[tuple[int, WireStruct]]) -> None:
        """Re-evaluate the variant columns if schema, partitioning or clustering may have changed."""
        lines = [line for line, each in actions if isinstance(each, MetaData) or _is_clustering(each)]
        if lines:
            location = {"version": version, "file": file, "line": lines[-1]}
            domain = self.domains.get(clustering.DOMAIN) if self.supports(clustering.FEATURE) else None
            self.variant_uses += build_variant_use_rows(location, self.schema, self.metadata, domain, self.mapping)

    def _apply_transaction(self, location: Row, action: Txn) -> None:
        before = self.transactions.get(action.app_id)
        self.rows["transactions"].append(
            {
                **location,
                "app_id": action.app_id,
                "app_version": action.version,
                "app_version_before": before.version if before else None,
                "last_updated": action.last_updated,
            }
        )
        self.transactions[action.app_id] = action


def _is_clustering(action: WireStruct) -> bool:
    return isinstance(action, DomainMetadata) and action.domain == clustering.DOMAIN
