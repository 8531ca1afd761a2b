"""Table state along the validated history, and rows of the views over the actions that change it."""

from collections.abc import Mapping, Set
from itertools import chain
from typing import Any

import msgspec

from deltaspec.protocol import property_names
from deltaspec.protocol.actions import (
    CommitInfo,
    DomainMetadata,
    MetaData,
    Protocol,
    RowIdHighWaterMark,
    Txn,
    WireStruct,
)
from deltaspec.protocol.features import clustering, collations, row_tracking, table_features, table_properties
from deltaspec.protocol.features.materialized_partitions import find_requiring_features
from deltaspec.protocol.features.undefined_types import find_undefined_types, may_define_types
from deltaspec.protocol.files.statistics import LeafColumn, list_leaf_columns
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.property_names import CONSTRAINT_PREFIX, TYPE_CHANGES
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import DataType, Struct
from deltaspec.protocol.schema.proposed_types import get_family
from deltaspec.protocol.schema.schema_string import find_void_fault
from deltaspec.views.data.variants import build_variant_use_rows
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.views.files.proposed_files import PARTITION_FAMILIES, ProposedFiles, select_columns, select_strings
from deltaspec.views.files.row_ids import build_former_column_rows, column_rows
from deltaspec.views.table.clustering_history import ClusteringHistory, build_clustering_row, read_clustering_columns
from deltaspec.views.table.column_constraints import ColumnHistory
from deltaspec.views.table.domain_rows import build_domain_row
from deltaspec.views.table.feature_uses import FeatureUseHistory, UnsupportedUses
from deltaspec.views.table.field_rows import FieldRows
from deltaspec.views.table.file_requirements import FileRequirements, RequirementHistory
from deltaspec.views.table.iceberg_history import IcebergHistory
from deltaspec.views.table.mapping_history import MappingHistory, entry_names
from deltaspec.views.table.metadata_rows import build_configuration_row, build_metadata_row
from deltaspec.views.table.proposal_checks import ADAPTIVE_METADATA, ProposedState
from deltaspec.views.table.proposals import build_proposal_rows
from deltaspec.views.table.protocol_evolution import CHECKPOINT_PROTECTION, get_listed_features
from deltaspec.views.table.protocol_rows import build_feature_rows, build_protocol_row
from deltaspec.views.table.replayed_state import ReplayedState
from deltaspec.views.table.row_constraints import RowConstraintHistory
from deltaspec.views.table.row_requirements import RowRequirementHistory
from deltaspec.views.table.schema_columns import ColumnCache, RepeatedNames, select_special_columns
from deltaspec.views.table.state_rows import StateRows
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.views.table.type_widening import WideningHistory, find_widening_traces
from deltaspec.views.table.used_features import FeatureUse

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
    "iceberg_v3",
    "nested_ids",
    "proposals",
    "transactions",
    "constraint_columns",
)


class _Change(msgspec.Struct, frozen=True):
    """A version about to be applied, and the state before it."""

    version: int
    file: str
    lines: dict[type[WireStruct], int]
    """Type of the actions of the version, and the line of the last one; of domains only the clustering domain."""
    protocol: Protocol | None
    metadata: MetaData | None
    mapping: str | None
    kept_domains: Set[str]
    """Domains that are live before and after the version, if it has a protocol."""
    last_legal_version: int | None
    """Preceding version; None if there is none, or its state is unknown."""

    @property
    def is_first(self) -> bool:
        """Whether the table starts with the version."""
        return self.version == 0 and ".checkpoint." not in self.file

    def has(self, *kinds: type[WireStruct]) -> bool:
        """Return whether the version has an action of one of these types."""
        return not self.lines.keys().isdisjoint(kinds)

    def locate(self, line: int) -> Row:
        """Return the location columns of rows at a line."""
        return {
            "version": self.version,
            "file": self.file,
            "line": line,
            "last_legal_version": self.last_legal_version,
        }

    def locate_cause(self, *kinds: type[WireStruct]) -> Row:
        """Return the location columns of rows at the last action of these types, or at the protocol without them."""
        kinds = kinds if self.has(*kinds) else (Protocol,)
        return self.locate(max(self.lines[kind] for kind in kinds if kind in self.lines))


class TableState(ReplayedState):
    """Table state after the actions applied so far, its history, and the rows of the views over them."""

    def __init__(self, revision: Revision = Revision.CURRENT) -> None:
        super().__init__(revision)
        self.views: dict[str, StateRows] = {name: StateRows() for name in VIEW_NAMES}
        self.used: set[str] = set()
        """Features that were active in some version so far."""
        self.mapped = MappingHistory()
        """History of mapped columns."""
        self.columns = ColumnHistory()
        """History of columns with defaults and identity columns."""
        self.widening = WideningHistory()
        """History of type changes."""
        self.clustered = ClusteringHistory()
        """History of columns and clustering columns."""
        self.undefined_types: list[Row] = []
        """Further rows of the view `metadata`, only with its column `undefined_types`."""
        self.variant_uses = StateRows()
        """Rows of the view `variant_uses`."""
        self.row_id_columns = StateRows()
        """Rows of the view `row_id_columns`."""
        self.iceberg = IcebergHistory()
        """History of enabled Iceberg compatibilities."""
        self.file_requirements = RequirementHistory()
        """History of the requirements for live files."""
        self.conditions = RowConstraintHistory(revision)
        """History of row constraints."""
        self.row_requirements = RowRequirementHistory(revision)
        """History of the requirements for rows."""
        self.uses = FeatureUseHistory(revision)
        """History of the uses of features."""
        self._leaves = ColumnCache(list_leaf_columns)
        self._mapping_of_fields: list[Row] = []
        """Column mapping of the fields of the schema, in the order of `data_types.iter_fields`."""
        self._hidden_columns: dict[str, dict[str, str]] = {}
        """Materialized row-tracking columns so far, with the property of each, by table id."""
        self._field_rows = FieldRows(revision)
        self._repeated_names = RepeatedNames()
        self._preceding_version: int | None = None
        self._parts: dict[str, tuple[Any, ...]] = {}
        """Parts of the state that each view was last built from."""
        self.first_commit: int | None = None
        """First commit of the validated history."""
        self._context: FileContext | None = None
        self._schema_of_proposals: Struct | None = None
        """Schema that proposals were last evaluated with; None if unknown."""
        self._undefined_types: frozenset[str] = frozenset()
        """Columns of the last known state whose type is undefined."""
        self._removed_domains: frozenset[str] = frozenset()
        """Domains that the current commit removes; the actions of a commit have no order."""

    @property
    def rows(self) -> dict[str, list[Row]]:
        """Rows of each view in `VIEW_NAMES`, in version order."""
        return {name: view.rows for name, view in self.views.items()}

    def apply(self, version: int, file: str, actions: list[tuple[int, WireStruct]]) -> None:
        """Apply the actions of one commit, or of the checkpoint that the history starts from.

        The actions of a commit have no order: all are applied before the state of the version is evaluated.
        """
        if self.has_only_commit_info(actions):  # most commits change only files
            self.columns.changes, self._removed_domains = {}, frozenset()
            self._preceding_version = version
            return
        change = self._begin_change(version, file, actions)
        for line, action in actions:
            match action:
                case Protocol():
                    self.apply_protocol(action)
                case MetaData():
                    self.apply_metadata(action)
                case RowIdHighWaterMark():
                    self.row_id_mark = action
                case Txn():
                    self._apply_transaction({"version": version, "file": file, "line": line}, action)
        self.update_mapping()
        for line, action in actions:
            if isinstance(action, DomainMetadata):
                self._apply_domain({"version": version, "file": file, "line": line}, action)
        self._evaluate(change, actions)
        constraints = self.conditions.apply((version, file), actions, self.metadata, self.schema, self.supported)
        if change.has(Protocol, MetaData):
            location = change.locate_cause(MetaData)
            keyed = (((row["kind"], row["constraint"], row["expression"]), row) for row in constraints)
            self.views["constraint_columns"].replace(location, keyed)
        self.columns.apply((version, file), actions, self.metadata, self.schema, self.mapping, self.supported)
        self._preceding_version = version

    def has_only_commit_info(self, actions: list[tuple[int, WireStruct]]) -> bool:
        """Return whether actions do not change the known state of an earlier commit or checkpoint."""
        is_known = self.first_commit is not None and self.columns.has_applied(self.metadata)
        return is_known and all(type(action) is CommitInfo for _, action in actions)

    def _begin_change(self, version: int, file: str, actions: list[tuple[int, WireStruct]]) -> _Change:
        domains = [action for _, action in actions if isinstance(action, DomainMetadata)]
        self._removed_domains = frozenset(action.domain for action in domains if action.removed)
        if self.first_commit is None and ".checkpoint." not in file:
            self.first_commit = version
        lines: dict[type[WireStruct], int] = {
            type(each): line for line, each in actions if not isinstance(each, DomainMetadata) or _is_clustering(each)
        }
        is_known = self.protocol is not None and self.metadata is not None
        return _Change(
            version,
            file,
            lines,
            self.protocol,
            self.metadata,
            self.mapping,
            self.domains.keys() - self._removed_domains if Protocol in lines else frozenset(),
            self._preceding_version if is_known else None,
        )

    def _evaluate(self, change: _Change, actions: list[tuple[int, WireStruct]]) -> None:
        """Evaluate the relations between parts of the state, if the version changed one of them.

        Nothing here depends on which action a version has: a protocol alone, for example, can make a schema illegal.
        """
        if change.has(Protocol, MetaData):
            unsupported = self._apply_feature_uses(change)
            self._add_protocol_rows(change, actions, unsupported.abandoned)
            self._evaluate_metadata(change, unsupported.introduced)
        clustered = self.domains.get(clustering.DOMAIN)
        settings, partitions = (
            (None, None) if self.metadata is None else (self.metadata.configuration, self.metadata.partition_columns)
        )
        if change.has(Protocol, MetaData) and self._has_changed("types", self.schema, self.supported):
            self._evaluate_types(change)
        columns = (self.supported, self.schema, self.mapping, partitions)
        if change.has(Protocol, MetaData) and self._has_changed("properties", *columns, settings):
            self._context = None
            self._evaluate_iceberg(change, actions)
            self._evaluate_row_id_columns(change)
            if self.protocol is not None and self.metadata is not None and self.schema is not None:
                special = select_special_columns(self.schema)
                self.used |= table_properties.find_active_features(self.protocol, self.metadata, special)
            if self._has_changed("file_requirements", *columns, self.iceberg.enabled_now):
                self._evaluate_file_requirements(change)
            if self._has_changed("row_requirements", *columns, _get_constraints(settings)):
                location = change.locate_cause(Protocol, MetaData)
                self.row_requirements.apply(location, self.table_schema, is_first=change.is_first)
        if change.has(Protocol, MetaData, DomainMetadata) and self._has_changed("clustering", *columns, clustered):
            self._context = None
            self._evaluate_clustering(change)
            self._evaluate_variants(change)
        if change.has(Protocol, MetaData, DomainMetadata) and self._has_changed(
            "proposals", *columns, settings, clustered
        ):
            self._evaluate_proposals(change)

    def _has_changed(self, view: str, *parts: Any) -> bool:
        """Return whether a part of the state that a view is built from changed since the last time."""
        before, self._parts[view] = self._parts.get(view), parts
        return before is None or not all(map(_is_same, before, parts))

    @property
    def known_version(self) -> int | None:
        """Last version that was applied, if its protocol and metadata are known; otherwise None."""
        return None if self.protocol is None or self.metadata is None else self._preceding_version

    def lose(self, kinds: Set[str | None], cause: tuple[str, str | None] | None = None) -> None:
        """Record that actions of these kinds could not be decoded (None: unknown kind), and why: reason and file."""
        super().lose(kinds, cause)
        if kinds & {"protocol", None}:
            self.uses.forget_protocol()
        if kinds & {"metaData", None}:
            self.uses.forget_metadata()
        if kinds & {"protocol", "metaData", "domainMetadata", None}:
            self._context = None
        if kinds & {"protocol", "metaData", None}:
            self._undefined_types, self._schema_of_proposals = frozenset(), None
            self.mapped.forget()
            self.iceberg.forget()
            self.clustered.forget()
            self.widening.forget()
            self.file_requirements.forget()
            self.columns.forget()
            self.conditions.forget()
            self.row_requirements.forget(self._preceding_version)
        if kinds & {"protocol", "metaData", "domainMetadata", None}:
            self._parts.clear()
            self._field_rows.forget()
            for view in (*self.views.values(), self.variant_uses, self.row_id_columns):
                view.forget()

    def file_context(self, table_root: str | None) -> FileContext:
        """Return the context that file actions are validated against; the same object until the state changes."""
        if self._context is None:
            self._context = self._file_context(table_root)
        return self._context

    def _file_context(self, table_root: str | None) -> FileContext:
        columns, logical = self.partition_columns
        statistics, leaves = None, None
        if self.schema is not None and self.metadata is not None and self.supported is not None:
            columns_of_leaves = self._leaves.collect(self.schema, self.mapping, self.metadata.partition_columns)
            leaves = tuple(chain.from_iterable(columns_of_leaves))
            statistics = entry_names(self.schema, self.metadata.configuration, self.mapping, self.mapped)
        clustered = self.clustering_columns
        vectors = self.supports("deletionVectors")
        is_special = self.schema is not None and select_special_columns(self.schema).fields
        void = find_void_fault(self.schema) if self.schema is not None and is_special else None
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
            void[1] if void else None,
            iceberg=enabled[-1] if enabled else None,
            leaf_columns=leaves,
            checkpoints_keep_statistics=None
            if self.metadata is None
            else table_properties.keeps_statistics_in_checkpoints(self.metadata.configuration),
            unknown_reason=self.unknown_reason,
            unknown_cause=None if self.protocol_known and self.metadata_known else self.lost_cause,
            earlier_partition_types=self.earlier_partition_types,
            proposals=self._find_proposed_files(columns, leaves),
        )

    def _find_proposed_files(
        self, partitions: Mapping[str, DataType] | None, leaves: tuple[LeafColumn, ...] | None
    ) -> ProposedFiles | None:
        """Return the requirements of proposals for file actions; None if the table uses no such proposal."""
        if self.revision is not Revision.CURRENT or self.supported is None:
            return None
        listed = {table_features.strip_preview_suffix(name) for name in self.supported}
        found = ProposedFiles(
            select_columns(leaves),
            {name: kind for name, kind in (partitions or {}).items() if get_family(kind) in PARTITION_FAMILIES},
            select_strings(leaves) if collations.FEATURE in listed else None,
            ADAPTIVE_METADATA in listed,
        )
        return None if found == ProposedFiles() else found

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
            None if self.mapping is None or self.mapped.has_gap else self.mapped.names,
        )

    def _apply_feature_uses(self, change: _Change) -> UnsupportedUses:
        settings = None if self.metadata is None else self.metadata.configuration
        return self.uses.apply(self.supported, self.schema, settings, change.kept_domains)

    def _add_protocol_rows(
        self, change: _Change, actions: list[tuple[int, WireStruct]], abandoned: frozenset[FeatureUse]
    ) -> None:
        traces = find_widening_traces(change.protocol, self.protocol, self.metadata, self.schema)
        before = change.protocol
        for line, action in actions:
            if isinstance(action, Protocol):
                location = change.locate(line)
                row = build_protocol_row(before, action, self.used, abandoned, self.revision)
                row["protected_before"] = self._find_untruncated_protection(before, action, change.metadata)
                self.views["protocols"].add(location, row | {"type_widening_traces": traces})
                features = build_feature_rows(action, self.revision)
                self.views["features"].replace(location, ((each["feature"], each) for each in features))
                before = action

    def _find_untruncated_protection(
        self, before: Protocol | None, after: Protocol, metadata: MetaData | None
    ) -> int | None:
        """Return the version before which checkpoints are protected, if that ends although earlier commits exist."""
        dropped = get_listed_features(before) - get_listed_features(after) if before is not None else set()
        if CHECKPOINT_PROTECTION not in dropped or metadata is None or self.first_commit is None:
            return None
        protected = table_properties.get_integer_property(metadata.configuration, property_names.CHECKPOINT_PROTECTION)
        return protected if protected is not None and self.first_commit < protected else None

    def _evaluate_metadata(self, change: _Change, introduced: frozenset[FeatureUse]) -> None:
        """Evaluate schema and properties, also against the protocol."""
        metadata, is_written = self.metadata, change.has(MetaData)
        if metadata is None:
            return
        location = change.locate_cause(MetaData)
        if is_written:
            recorded = {use.name for use in introduced if use.key == TYPE_CHANGES}
            mapped = self.mapping is not None
            self.widening.apply(
                location, self.schema, metadata.configuration, self.supported, mapped=mapped, unsupported=recorded
            )
        if is_written or self.mapping != change.mapping:
            facts, self._mapping_of_fields = self.mapped.apply(
                self.schema, metadata.configuration, self.mapping, is_first=change.is_first
            )
            repeated = [] if self.schema is None else self._repeated_names.find(self.schema)
            row = build_metadata_row(metadata, self.schema, self.schema_fault, self.mapping, repeated)
            if row["schema_fault"] == "unknown type" and may_define_types(self.supported):
                row["schema_fault"] = "type of an unknown feature"
            row["column_mapping_mode_before"] = change.mapping
            self.views["metadata"].add(location, row | facts)
        needed = [self.supports(feature) for feature in ("invariants", "identityColumns")]
        has_other_columns = self._has_changed("schema_fields", self.schema, self.mapping, *needed)
        if self.schema is not None and has_other_columns:
            view, of_fields = self.views["schema_fields"], self._mapping_of_fields
            self._field_rows.apply(view, location, self.schema, of_fields, self.supported, introduced)
        self._add_configuration_rows(location, change, introduced, has_other_columns=has_other_columns)

    def _evaluate_types(self, change: _Change) -> None:
        """Evaluate which types are undefined; each is reported once."""
        special = None if self.schema is None else select_special_columns(self.schema)
        found = find_undefined_types(special, self.supported, self.revision)
        new = [each for each in found if each not in self._undefined_types]
        self._undefined_types = frozenset(found)
        if new:
            self.undefined_types.append({**change.locate_cause(MetaData), "undefined_types": new})

    def _add_configuration_rows(
        self, location: Row, change: _Change, introduced: frozenset[FeatureUse], *, has_other_columns: bool
    ) -> None:
        before = {} if change.metadata is None else change.metadata.configuration
        current = {} if self.metadata is None else self.metadata.configuration
        view = self.views["configuration"]
        for name in sorted({*before, *current}):
            value = current.get(name)
            is_changed = value != before.get(name)
            if is_changed or (has_other_columns and name.startswith(CONSTRAINT_PREFIX)):
                row = build_configuration_row(name, current, self.schema, introduced, self.revision)
                place = location | {"value_before": before.get(name)}
                if is_changed:
                    view.add(place, row, name, is_new=True)
                else:
                    view.add_if_changed(place, row, name)

    def _apply_domain(self, location: Row, action: DomainMetadata) -> None:
        others = self.domains.keys() - self._removed_domains
        row = build_domain_row(location, action, self.domains.get(action.domain), others, self.revision)
        needed = row.pop("needed_feature")
        is_unsupported = needed is not None and self.supported is not None
        is_unsupported = is_unsupported and not table_features.supports_feature_or_preview(
            self.supported or set(), needed
        )
        row |= {"supported": self.supports("domainMetadata"), "unsupported_feature": needed if is_unsupported else None}
        self.views["domains"].rows.append(row)
        self.apply_domain(action)

    def _evaluate_clustering(self, change: _Change) -> None:
        """Evaluate the clustering columns, also against schema, partitioning and column mapping."""
        self.clustered.apply(change.version, self.schema, self.mapping, self.clustering_columns)
        columns = read_clustering_columns(self.domains.get(clustering.DOMAIN))
        rows = []
        if self.supports(clustering.FEATURE) and self.schema and self.metadata:
            partitions = self.metadata.partition_columns
            row = build_clustering_row(columns, self.schema, partitions, self.mapping, self.revision)
            may_have_domain = self.domains_known and self.supports("domainMetadata")
            rows = [row | {"has_domain": clustering.DOMAIN in self.domains if may_have_domain else None}]
        location = change.locate_cause(Protocol, MetaData, DomainMetadata)
        self.views["clustering"].replace(location, (((), row) for row in rows))

    def _evaluate_iceberg(self, change: _Change, actions: list[tuple[int, WireStruct]]) -> None:
        """Evaluate the Iceberg compatibility."""
        location = change.locate_cause(Protocol, MetaData)
        operations = [action.operation for _, action in actions if isinstance(action, CommitInfo)]
        rows, v3_rows, nested_ids = self.iceberg.apply(
            location,
            self.protocol,
            self.metadata,
            self.schema,
            self.mapping,
            self.revision,
            reuses_files=any(isinstance(each, str) and reuses_existing_files(each) for each in operations),
        )
        self.views["iceberg"].replace(location, ((row["compatibility"], row) for row in rows))
        self.views["iceberg_v3"].replace(location, (((), row) for row in v3_rows))
        self.views["nested_ids"].replace(location, ((row["column"], row) for row in nested_ids))

    def _evaluate_proposals(self, change: _Change) -> None:
        """Evaluate the requirements of proposals; only the current revision has proposals."""
        before, self._schema_of_proposals, rows = self._schema_of_proposals, self.schema, []
        is_current = self.revision is Revision.CURRENT
        if is_current and self.protocol is not None and self.metadata is not None and self.supported is not None:
            special = None if self.schema is None else select_special_columns(self.schema)
            columns = read_clustering_columns(self.domains.get(clustering.DOMAIN))
            state = ProposedState(
                self.protocol, self.metadata, self.schema, special, self.mapping, columns, schema_before=before
            )
            rows = build_proposal_rows(state)
        self.views["proposals"].replace(change.locate_cause(Protocol, MetaData, DomainMetadata), rows)

    def _evaluate_row_id_columns(self, change: _Change) -> None:
        """Evaluate the names of the columns of materialized row ids, also against the schema."""
        rows = []
        is_supported = self.supports(row_tracking.get_feature_name(self.revision))
        if self.protocol is not None and self.metadata is not None and is_supported:
            enabled = row_tracking.is_enabled(self.protocol, self.metadata, self.revision)
            rows = column_rows(self.metadata, self.schema, self.mapping, enabled=enabled, revision=self.revision)
        keyed = [(row["property"], row) for row in rows]
        has_former = self.revision is not Revision.R1  # [Changed in r2]
        if has_former and self.metadata is not None and self.schema is not None:
            former = self._hidden_columns.get(self.metadata.id, {})
            taken = build_former_column_rows(former, self.metadata, self.schema, self.mapping)
            keyed += [((row["property"], row["column"]), row) for row in taken]
        self.row_id_columns.replace(change.locate_cause(MetaData), keyed)
        if self.metadata is not None and is_supported:
            names = row_tracking.get_column_names(self.metadata, self.revision)
            self._hidden_columns = {self.metadata.id: self._hidden_columns.get(self.metadata.id, {}) | names}

    def _evaluate_file_requirements(self, change: _Change) -> None:
        """Evaluate the requirements of the state for live files."""
        columns, logical = self.partition_columns
        settings = self.metadata.configuration if self.metadata else {}
        required = FileRequirements(
            columns,
            logical,
            self.supports("deletionVectors"),
            "V1" in self.iceberg.enabled_now,
            self._stores_partition_columns(),
            table_properties.keeps_statistics_in_checkpoints(settings),
        )
        location = (change.version, change.file, change.locate_cause(Protocol, MetaData)["line"])
        configured = column_mapping.get_mapping_mode(settings, supported=True)
        self.file_requirements.apply(location, required, self.schema, self.mapping, configured)

    def _stores_partition_columns(self) -> bool:
        if self.protocol is None or self.metadata is None:
            return False
        return bool(find_requiring_features(self.protocol, self.metadata))

    def _evaluate_variants(self, change: _Change) -> None:
        """Evaluate the variant columns, also against partitioning and clustering."""
        domain = self.domains.get(clustering.DOMAIN) if self.supports(clustering.FEATURE) else None
        rows = build_variant_use_rows(self.schema, self.metadata, domain, self.mapping)
        location = change.locate_cause(MetaData, DomainMetadata)
        self.variant_uses.replace(location, ((row["column"], row) for row in rows))

    def _apply_transaction(self, location: Row, action: Txn) -> None:
        before = self.transactions.get(action.app_id)
        row = {
            **location,
            "app_id": action.app_id,
            "app_version": action.version,
            "app_version_before": before.version if before else None,
            "last_updated": action.last_updated,
        }
        self.views["transactions"].rows.append(row)
        self.transactions[action.app_id] = action


def _get_constraints(settings: Mapping[str, str] | None) -> dict[str, str]:
    """Return the properties that define CHECK constraints."""
    prefix = CONSTRAINT_PREFIX
    return {name: value for name, value in (settings or {}).items() if name.startswith(prefix)}


def _is_same(before: Any, after: Any) -> bool:
    """Return whether a part of the state did not change; schemas with other column metadata compare as equal."""
    return before is after or (not isinstance(after, Struct) and bool(before == after))


def _is_clustering(action: WireStruct) -> bool:
    return isinstance(action, DomainMetadata) and action.domain == clustering.DOMAIN
