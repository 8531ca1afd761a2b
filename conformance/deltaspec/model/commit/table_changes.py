"""Checks of protocol and metadata in a commit. Source: Table Features, Change Metadata, Column Mapping."""

import re
from collections.abc import Iterator

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.features import (
    column_mapping_changes,
    feature_uses,
    identity_columns,
    protocol_evolution,
    table_properties,
)
from deltaspec.model.features.protocol import Refused, find_protocol_faults, get_supported_features, has_known_features
from deltaspec.model.features.table_features import get_current_name, get_known_features, strip_preview_suffix
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit, read_mapping_mode, read_schema
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.model.revisions import Revision
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import PRIMITIVES, Primitive, Struct, iter_fields, iter_leaf_types
from deltaspec.model.schema.schema_string import SchemaError, find_repeated_names, parse_schema

GUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")

FAULT_REQUIREMENTS = {
    "reader 3 with writer below 7": "protocol.reader-3-needs-writer-7",
    "reader features without reader version 3": "protocol.reader-features-only-at-3",
    "missing reader features": "protocol.reader-features-at-3",
    "writer features without writer version 7": "protocol.writer-features-only-at-7",
    "missing writer features": "protocol.writer-features-at-7",
    "feature only in readerFeatures": "table-features.none-for-readers-alone",
    "reader-writer feature missing from readerFeatures": "table-features.reader-feature-on-both-sides",
    "required feature missing": "table-features.required-features",
}
"""The `protocol.FAULTS` that the protocol forbids; the others are a SHOULD or not mentioned."""

_SCHEMA_REQUIREMENTS = {"unknown type": "schema.primitive-types", "decimal out of range": "schema.decimal-range"}
_EXPLICIT_REQUIREMENTS = {
    "delta.enableRowTracking": "row-tracking.enabled-with-feature",
    "delta.enableVariantShredding": "configuration.properties-need-features",
}
"""Properties whose chapter explicitly requires the feature; for others the protocol does not say so (E43)."""


def check_protocol(proposal: ProposedCommit) -> Iterator[Refused]:
    """Protocol Evolution, Table Features: require a valid protocol action."""
    for action in proposal.actions_of_type(Protocol):
        for fault, feature in find_protocol_faults(action, proposal.revision):
            if fault in FAULT_REQUIREMENTS:
                yield Refused(FAULT_REQUIREMENTS[fault], feature or fault)


def check_protocol_change(proposal: ProposedCommit) -> Iterator[Refused]:
    """Supported Features: require that listed features stay, and that an upgrade lists the features in use."""
    before = proposal.before.protocol
    for action in proposal.actions_of_type(Protocol):
        for feature in protocol_evolution.find_illegal_removals(before, action, proposal.revision):
            yield Refused("protocol.features-stay", feature)
        for feature in protocol_evolution.find_omitted_features(before, action, _used(proposal), proposal.revision):
            yield Refused("protocol.upgrade-assumes-use", feature)


def _used(proposal: ProposedCommit) -> set[str]:
    """Return the features that the version before uses; a snapshot does not show earlier versions."""
    before, schema = proposal.before, proposal.schema_before
    if before.protocol is None or before.metadata is None or schema is None:
        return set()
    return table_properties.find_active_features(before.protocol, before.metadata, schema)


def check_used_features(proposal: ProposedCommit) -> Iterator[Refused]:
    """Protocol Evolution: require support of everything that the table used before the protocol and still uses."""
    old, new = proposal.before.protocol, proposal.after.protocol
    if not proposal.actions_of_type(Protocol) or new is None or not has_known_features(new):
        return
    before = None
    if old is not None and has_known_features(old):
        before = feature_uses.get_usable_features(get_supported_features(old), proposal.revision)
    kept = _find_uses(proposal.before, proposal.revision) & _find_uses(proposal.after, proposal.revision)
    after = feature_uses.get_usable_features(get_supported_features(new), proposal.revision)
    for use in sorted(feature_uses.find_abandoned_uses(kept, before, after)):
        yield Refused("protocol.breaking-changes", use.text)


def _find_uses(snapshot: Snapshot, revision: Revision) -> frozenset[feature_uses.FeatureUse]:
    found = feature_uses.find_domain_uses(snapshot.domains, revision)
    schema = read_schema(snapshot.metadata)
    if snapshot.metadata is not None:
        found |= feature_uses.find_property_uses(snapshot.metadata.configuration, revision)
    return found if schema is None else found | feature_uses.find_schema_uses(schema, revision)


def check_metadata(proposal: ProposedCommit) -> Iterator[Refused]:
    """Change Metadata, Schema Serialization Format: require a valid metaData action."""
    for action in proposal.actions_of_type(MetaData):
        if not GUID.fullmatch(action.id):
            yield Refused("metadata.id-is-guid", action.id)
        yield from _property_faults(action)
        try:
            schema = parse_schema(action.schema_string)
        except SchemaError as fault:
            yield Refused(_SCHEMA_REQUIREMENTS.get(fault.kind, "metadata.schema-string"), str(fault))
            continue
        names = [field.name for field in schema.fields]
        columns = action.partition_columns
        if not set(columns) <= set(names) or len(set(columns)) < len(columns):
            yield Refused("metadata.partition-columns", ", ".join(columns))
        if proposal.revision is Revision.CURRENT and find_repeated_names(schema):  # [Changed in current]
            yield Refused("schema.names-unique", ", ".join(find_repeated_names(schema)))


def _property_faults(action: MetaData) -> Iterator[Refused]:
    for name, value in action.configuration.items():
        fault = table_properties.find_property_fault(name, value)
        if fault is not None:
            yield Refused("configuration.values", f"{name} {fault}")


def check_metadata_support(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require protocol support for everything that the metadata uses."""
    action, schema = proposal.after.metadata, proposal.schema
    table = proposal.after.protocol
    if action is None or table is None or not has_known_features(table):
        return
    supported = _any_name(table, proposal.revision)
    for name, value in action.configuration.items():
        needed = table_properties.get_required_feature(name, value)
        requirement = (
            "configuration.properties-need-features" if _is_constraint(name) else _EXPLICIT_REQUIREMENTS.get(name)
        )
        if (
            needed is not None
            and requirement is not None
            and needed in get_known_features(proposal.revision) - supported
        ):
            yield Refused(requirement, name)
    for leaf in iter_leaf_types(schema) if schema is not None else ():
        needed = PRIMITIVES.get(leaf.name) if isinstance(leaf, Primitive) else None
        if needed is not None and needed not in supported:
            yield Refused("schema.types-need-features", needed)
    if schema is not None and "identityColumns" in supported:
        for path, field in iter_fields(schema):
            if identity_columns.find_identity_fault(field.metadata) is not None:
                yield Refused("identity-columns.properties", ".".join(path))


def _is_constraint(name: str) -> bool:
    return name.startswith(table_properties.CONSTRAINT_PREFIX)


def _any_name(table: Protocol, revision: Revision) -> set[str]:
    """Return the supported features by current name, with previews as their feature."""
    return {get_current_name(strip_preview_suffix(name), revision) for name in get_supported_features(table)}


def check_mapped_columns(proposal: ProposedCommit) -> Iterator[Refused]:
    """Column Mapping: require unique ids and physical names of all fields, and no id above the maximum."""
    schema, metadata = proposal.schema, proposal.after.metadata
    if proposal.mapping is None or schema is None or metadata is None:
        return
    ids, paths, names = [], [], []
    for path, field in column_mapping.list_physical_paths(schema, proposal.mapping):
        number, name = column_mapping.column_id(field), field.metadata.get(column_mapping.PHYSICAL_NAME)
        if number is None:
            yield Refused("column-mapping.ids-assigned", field.name)
        if not isinstance(name, str):
            yield Refused("column-mapping.physical-names-assigned", field.name)
        ids += [] if number is None else [number]
        paths.append(path)
        names.append(name)
    if len(set(ids)) < len(ids):
        yield Refused("column-mapping.ids-unique", str(ids))
    # [Changed in current] paths are unique, not names
    if proposal.revision is Revision.CURRENT and len(set(paths)) < len(paths):
        yield Refused("column-mapping.physical-paths-unique", str(paths))
    if proposal.revision is not Revision.CURRENT and len(set(names)) < len(names):
        yield Refused("column-mapping.physical-names-unique", str(names))
    highest = table_properties.get_integer_property(metadata.configuration, column_mapping.MAX_COLUMN_ID)
    if ids and (highest is None or highest < max(ids)):
        yield Refused("column-mapping.max-column-id", f"{highest} is below {max(ids)}")


def check_mapped_column_changes(proposal: ProposedCommit) -> Iterator[Refused]:
    """Column Mapping, Writer Requirements: forbid changes of immutable properties of mapped columns."""
    if not proposal.actions_of_type(MetaData):
        return
    before, after = _columns(proposal, first=True), _columns(proposal, first=False)
    if column_mapping_changes.is_illegal_max_column_id(before, after):
        yield Refused("column-mapping.max-id-never-falls", column_mapping.MAX_COLUMN_ID)
    for number, old, new in column_mapping_changes.find_illegal_physical_names(before, after):
        yield Refused("column-mapping.physical-name-stays", f"column {number}: {old} became {new}")
    if proposal.revision is Revision.CURRENT:  # [Changed in current] paths are unique, not names
        for path in column_mapping_changes.find_illegal_physical_paths(before, after):
            yield Refused("column-mapping.new-columns-have-new-paths", ".".join(path))
    else:
        for number, name in column_mapping_changes.find_illegal_new_names(before, after):
            yield Refused("column-mapping.new-columns-named-anew", f"column {number}: {name} is in use")


def _columns(proposal: ProposedCommit, *, first: bool) -> column_mapping_changes.MappedColumns | None:
    snapshot = proposal.before if first else proposal.after
    schema: Struct | None = read_schema(snapshot.metadata)
    if schema is None or snapshot.metadata is None:
        return None
    return column_mapping_changes.collect_mapped_columns(
        schema, snapshot.metadata.configuration, read_mapping_mode(snapshot)
    )


CHECKS: tuple[CommitCheck, ...] = (
    check_protocol,
    check_protocol_change,
    check_used_features,
    check_metadata,
    check_metadata_support,
    check_mapped_columns,
    check_mapped_column_changes,
)
"""In the order in which `validation.check_commit` evaluates them."""
