"""Protocol, metadata, domains and transactions of a table after the actions applied so far.

This is the mutable implementation of the model's replay for everything except files.
"""

from collections.abc import Set
from contextlib import suppress

import msgspec

from deltaspec.protocol.actions import DomainMetadata, MetaData, Protocol, RowIdHighWaterMark, Txn
from deltaspec.protocol.features import clustering, row_tracking, table_features, table_properties
from deltaspec.protocol.features.supported_features import (
    get_reader_features,
    get_supported_features,
    has_known_features,
)
from deltaspec.protocol.property_names import TYPE_CHANGES
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import DataType, Struct, is_widening
from deltaspec.protocol.schema.schema_string import SchemaError, read_type_changes
from deltaspec.views.table import clustering_columns
from deltaspec.views.table.clustering_history import read_clustering_columns
from deltaspec.views.table.mapping_history import logical_partition_names
from deltaspec.views.table.protocol_evolution import get_listed_features
from deltaspec.views.table.schema_columns import SchemaReader


class Refusal(msgspec.Struct, frozen=True):
    """Why a client must not read or write a table."""

    requirement: str
    """Id of the requirement that says so."""
    reason: str


class ReplayedState:
    """State of a table after the actions applied so far, and facts derived from it."""

    def __init__(self, revision: Revision = Revision.CURRENT) -> None:
        self.revision = revision
        """Protocol revision that the table is validated against."""
        self.protocol: Protocol | None = None
        self.metadata: MetaData | None = None
        self.protocol_known: bool = True
        """False once a protocol action could not be decoded."""
        self.metadata_known: bool = True
        self.domains: dict[str, DomainMetadata] = {}
        self.domains_known: bool = True
        """False once a domainMetadata action could not be decoded."""
        self.row_id_mark: RowIdHighWaterMark | None = None
        """Last rowIdHighWaterMark action (r1, r2)."""
        self.row_id_mark_known: bool = True
        """False once a rowIdHighWaterMark action could not be decoded."""
        self.transactions: dict[str, Txn] = {}
        self.transactions_known: bool = True
        """False once a txn action could not be decoded."""
        self.schema: Struct | None = None
        self.mapping: str | None = None
        self.supported: set[str] | None = None
        """Features that the table supports; None if the protocol is unknown, or is missing a required feature list."""
        self.listed_features: set[str] = set()
        """Features that the protocol of some version so far lists."""
        self.supported_so_far: set[str] = set()
        """Features that the table supported in some version so far, as far as known."""
        self.protocol_was_lost: bool = False
        """Whether the protocol of some version so far could not be decoded: the table may have supported more."""
        self.lost_cause: tuple[str, str | None] | None = None
        """Why actions were first lost, and the file; None if none were lost."""
        self.schema_fault: SchemaError | None = None
        """Why the schema string of the metadata cannot be read."""
        self._reader = SchemaReader()

    @property
    def unknown_reason(self) -> str | None:
        """Why the types of the partition columns are unknown; None if they are known."""
        if self.supported is None or self.metadata is None:
            found = [name for name, part in (("protocol", self.supported), ("metadata", self.metadata)) if part is None]
            return f"the {' and the '.join(found)} of the table {'is' if len(found) == 1 else 'are'} not known"
        if self.schema is None:
            return "the schema of the table cannot be read"
        missing = set(self.metadata.partition_columns) - {member.name for member in self.schema.fields}
        return f"the schema has no partition column {min(missing)}" if missing else None

    @property
    def partition_columns(self) -> tuple[dict[str, DataType] | None, dict[str, str]]:
        """Types of the partition columns by physical name, and physical by logical name where the names differ.

        The types are None if the state is unknown, or a partition column is not in the schema.
        """
        if self.schema is None or self.metadata is None or self.supported is None:
            return None, {}
        partitioned = self.metadata.partition_columns
        if not partitioned:
            return {}, {}
        names = {member.name for member in self.schema.fields}
        if not set(partitioned) <= names:
            return None, {}
        types = column_mapping.get_partition_types(self.schema, partitioned, self.mapping)
        return types, logical_partition_names(self.schema, partitioned, self.mapping)

    @property
    def earlier_partition_types(self) -> dict[str, tuple[DataType, ...]]:
        """Types that the partition columns had before they were widened, by physical name; a file keeps its values.

        Source: Type Change Metadata (current).
        """
        if self.schema is None or self.metadata is None or not self.metadata.partition_columns:
            return {}
        found: dict[str, tuple[DataType, ...]] = {}
        for member in self.schema.fields:
            if member.name in self.metadata.partition_columns and TYPE_CHANGES in member.metadata:
                with suppress(SchemaError):  # another rule reports malformed changes
                    earlier = [each.before for each in read_type_changes(member) if not each.field_path]
                    types = tuple(kind for kind in earlier if is_widening(kind, member.type))
                    found[column_mapping.physical_name(member, self.mapping)] = types
        return found

    @property
    def clustering_columns(self) -> tuple[clustering.Path, ...]:
        """Physical paths of the clustering columns; empty if clustering is not supported, or the domain is unknown."""
        is_known = self.domains_known and self.supports(clustering.FEATURE)
        domain = self.domains.get(clustering.DOMAIN) if is_known else None
        return clustering_columns.resolve_columns(read_clustering_columns(domain), self.schema, self.mapping)

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
    def refusal(self) -> Refusal | None:
        """Why a client of an older protocol revision must not read or write the table; None if it may do both.

        Always None for the current revision: a feature that it does not define may be newer than the kit.
        """
        if self.protocol is None or self.revision is Revision.CURRENT:
            return None
        known = table_features.get_known_features(self.revision)
        reader, writer = self.protocol.min_reader_version, self.protocol.min_writer_version
        readers, writers = get_reader_features(self.protocol), get_supported_features(self.protocol)
        if reader > table_features.MAX_READER_VERSION:
            return Refusal("protocol.versions-supported", f"reader version {reader}")
        if unknown := sorted(readers - set(known)):
            return Refusal("table-features.reader-supports-all", f"reader features {', '.join(unknown)}")
        if writer > table_features.MAX_WRITER_VERSION:
            return Refusal("protocol.versions-supported", f"writer version {writer}")
        if unknown := sorted(writers - set(known)):
            return Refusal("table-features.writer-supports-all", f"writer features {', '.join(unknown)}")
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

    def apply_protocol(self, action: Protocol) -> None:
        """Replace the protocol. `update_mapping` must follow when the version is complete."""
        names = get_supported_features(action)
        names = {table_features.get_current_name(name, self.revision) for name in names}
        self.protocol, self.supported, self.protocol_known = action, None, True
        self.listed_features |= get_listed_features(action)
        self.supported_so_far |= names
        if has_known_features(action):
            self.supported = names

    def apply_metadata(self, action: MetaData) -> None:
        """Replace the metadata. `update_mapping` must follow when the version is complete."""
        if self.metadata is None or action.schema_string != self.metadata.schema_string:
            try:
                self.schema, self.schema_fault = self._reader.parse(action.schema_string), None
            except SchemaError as fault:
                self.schema, self.schema_fault = None, fault
        self.metadata, self.metadata_known = action, True

    def update_mapping(self) -> None:
        """Update the column mapping mode after a change of protocol or metadata."""
        supported = bool(self.supports("columnMapping"))
        settings = self.metadata.configuration if self.metadata else {}
        self.mapping = column_mapping.get_mapping_mode(settings, supported=supported)

    def apply_domain(self, action: DomainMetadata) -> None:
        """Replace or remove a domain."""
        if action.removed:
            self.domains.pop(action.domain, None)
        else:
            self.domains[action.domain] = action

    def lose(self, kinds: Set[str | None], cause: tuple[str, str | None] | None = None) -> None:
        """Record that actions of these kinds could not be decoded (None: unknown kind), and why: reason and file."""
        self.lost_cause = self.lost_cause or cause
        if kinds & {"protocol", None}:
            self.protocol, self.supported, self.protocol_known = None, None, False
            self.protocol_was_lost = True
        if kinds & {"metaData", None}:
            self.metadata, self.schema, self.metadata_known = None, None, False
        if kinds & {"domainMetadata", None}:
            self.domains_known = False
        if kinds & {"txn", None}:
            self.transactions_known = False
        if kinds & {"rowIdHighWaterMark", None}:
            self.row_id_mark_known = False
