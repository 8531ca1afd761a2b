"""Checks of protocol and metadata in a commit. Source: Table Features, Change Metadata, Column Mapping."""

from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    refuse_illegal_state,
)
from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features import identity_columns, table_properties
from deltaspec.protocol.features.constraints import get_key_feature
from deltaspec.protocol.features.supported_features import find_protocol_faults
from deltaspec.protocol.features.system_domains import find_domain_feature
from deltaspec.protocol.features.table_features import PROPOSALS, find_missing_requirements, get_known_features
from deltaspec.protocol.features.undefined_types import find_undefined_types
from deltaspec.protocol.property_names import (
    CONSTRAINT_PREFIX,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
    R1_ROW_IDS,
    ROW_TRACKING,
    TYPE_CHANGES,
    VARIANT_SHREDDING,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping, type_changes
from deltaspec.protocol.schema.data_types import PRIMITIVES, Array, DataType, Map, Primitive, Struct, iter_fields
from deltaspec.protocol.schema.schema_string import SchemaError, find_repeated_names, parse_schema

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
_UNDECIDED_SCHEMA_FAULTS = ("too deep", "lone surrogate")
"""A schema that only exceeds the limits of the kit may be valid; a lone surrogate is valid JSON grammar."""
_EXPLICIT_REQUIREMENTS = {
    R1_ROW_IDS: "row-ids.feature",
    ROW_TRACKING: "row-tracking.enabled-with-feature",
    VARIANT_SHREDDING: "configuration.properties-need-features",
}
"""Properties whose chapter explicitly requires the feature; for others the protocol does not say so (E43)."""


def check_protocol(proposal: ProposedCommit) -> Iterator[Refused]:
    """Protocol Evolution, Table Features: require a valid protocol action."""
    for action in proposal.actions_of_type(Protocol):
        for fault, feature in find_protocol_faults(action, proposal.revision):
            if fault in FAULT_REQUIREMENTS:
                yield Refused(FAULT_REQUIREMENTS[fault], feature or fault)


def check_used_features(proposal: ProposedCommit) -> Iterator[Refused]:
    """Table Features: require support of every feature in use: for new uses, and for uses that were supported before.

    A use that was illegal before is not refused again. E41 leaves open whether a feature may be dropped, and E43 leaves
    open whether column metadata and most properties may exist without their feature.
    """
    after, before = proposal.version_after, proposal.version_before
    if after.features is None:
        return
    uses, uses_before = {*_iter_uses(after)}, {*_iter_uses(before)}
    for feature, use in sorted(uses - uses_before):
        requirement = _find_requirement_of_use(use)
        if not after.supports_feature_or_preview(feature) and requirement is not None:
            yield Refused(requirement, f"{feature}: {use}")
    # separate requirements cover what dropped features leave behind, and what the listed features require
    excused = PROPOSALS | find_missing_requirements(after.features, proposal.revision)
    if before.features is not None:
        excused |= {feature for feature, _ in uses if not before.supports_feature_or_preview(feature)}
        excused |= {type_changes.FEATURE}
    for feature, use in sorted(uses & uses_before):
        if not after.supports_feature_or_preview(feature) and feature not in excused:
            yield Refused("protocol.breaking-changes", f"{feature}: {use}")


def _iter_uses(table: TableVersion) -> Iterator[tuple[str, str]]:
    """Yield each type, column metadata, property and domain that needs a feature of the revision: feature and use."""
    found: list[tuple[str | None, str]] = [("domainMetadata", f"domain {each}") for each in table.snapshot.domains]
    found += [(find_domain_feature(each, table.revision), f"domain {each}") for each in table.snapshot.domains]
    for name, value in table.configuration.items():
        found.append((table_properties.get_required_feature(name, value), f"property {name}"))
    for path, field in iter_fields(table.schema) if table.schema is not None else ():
        column = ".".join(path)
        found += [(PRIMITIVES.get(each), f"type {column}") for each in _list_primitives(field.type)]
        if type_changes.has_type_change_record(field):
            found.append((type_changes.FEATURE, f"column metadata {column} {TYPE_CHANGES}"))
        keys = [key for key, value in field.metadata.items() if value is not None]
        found += [(get_key_feature(key), f"column metadata {column} {key}") for key in keys]
    known = get_known_features(table.revision)
    for feature, use in found:
        is_proposed = table.revision is Revision.CURRENT and feature in PROPOSALS and use.startswith("property ")
        if feature is not None and (feature in known or is_proposed):
            yield feature, use


def _list_primitives(data_type: DataType) -> list[str]:
    """Return the primitive types in a type, except in struct fields, which are columns themselves."""
    match data_type:
        case Primitive(name):
            return [name]
        case Array(element):
            return _list_primitives(element)
        case Map(key, value):
            return _list_primitives(key) + _list_primitives(value)
    return []


def _find_requirement_of_use(use: str) -> str | None:
    """Return the requirement that a use without its feature violates, or None; see `check_domains` for domains."""
    match use.split(" ", 1):
        case ["type", _]:
            return "schema.types-need-features"
        case ["column", _]:
            return "type-widening.feature" if use.endswith(f" {TYPE_CHANGES}") else None
        case ["property", name] if name.startswith(CONSTRAINT_PREFIX):
            return "configuration.properties-need-features"
        case ["property", name]:
            return _EXPLICIT_REQUIREMENTS.get(name)
    return None


def check_metadata(proposal: ProposedCommit) -> Iterator[Refused]:
    """Change Metadata, Schema Serialization Format: require a valid metaData action."""
    for action in proposal.actions_of_type(MetaData):
        try:
            schema = parse_schema(action.schema_string)
        except SchemaError as fault:
            if fault.kind not in _UNDECIDED_SCHEMA_FAULTS:
                yield Refused(_SCHEMA_REQUIREMENTS.get(fault.kind, "metadata.schema-string"), str(fault))
            continue
        names = [field.name for field in schema.fields]
        columns = action.partition_columns
        if not set(columns) <= set(names) or len(set(columns)) < len(columns):
            yield Refused("metadata.partition-columns", ", ".join(columns))
        if proposal.revision is Revision.CURRENT and find_repeated_names(schema):  # [Changed in current]
            yield Refused("schema.names-unique", ", ".join(find_repeated_names(schema)))


def check_properties(table: TableVersion) -> Iterator[Refused]:
    """Table Properties: require valid values."""
    for name, value in table.configuration.items():
        fault = table_properties.find_property_fault(name, value, table.revision)
        if fault is not None:
            yield Refused("configuration.values", f"{name} = {value!r} {fault}")


def check_columns(table: TableVersion) -> Iterator[Refused]:
    """Primitive Types, Identity Columns: require types that are defined, and valid identity properties."""
    for undefined in find_undefined_types(table.schema, table.features, table.revision):
        yield Refused("schema.primitive-types", undefined)
    for path, field in iter_fields(table.schema) if table.schema is not None else ():
        fault = identity_columns.find_identity_fault(field.metadata)
        if fault is not None and table.supports(identity_columns.FEATURE):
            yield Refused("identity-columns.properties", f"{'.'.join(path)}: {fault}")


def check_mapped_columns(table: TableVersion) -> Iterator[Refused]:
    """Column Mapping: require unique 32-bit ids and physical names of all fields, and no id above the maximum."""
    if table.mapping is None or table.schema is None:
        return
    fields = list(column_mapping.list_physical_paths(table.schema, table.mapping))
    for path, field in fields:
        number, name = column_mapping.column_id(field), field.metadata.get(PHYSICAL_NAME)
        if number is None or not -(2**31) <= number < 2**31:
            yield Refused("column-mapping.ids-assigned", f"{'.'.join(path)} has id {number}")
        if not isinstance(name, str):
            yield Refused("column-mapping.physical-names-assigned", ".".join(path))
    ids = Counter(column_mapping.column_id(field) for _, field in fields)
    for number, count in ids.items():
        if number is not None and count > 1:
            yield Refused("column-mapping.ids-unique", f"{count} columns have id {number}")
    # [Changed in current] paths are unique, not names
    is_current = table.revision is Revision.CURRENT
    requirement = "column-mapping.physical-paths-unique" if is_current else "column-mapping.physical-names-unique"
    names = Counter(path if is_current else path[-1:] for path, _ in fields)
    for path, count in names.items():
        if count > 1:
            yield Refused(requirement, f"{count} columns have the name {'.'.join(path)}")
    highest = table_properties.get_integer_property(table.configuration, MAX_COLUMN_ID)
    used = column_mapping.find_max_column_id(table.schema)
    if used is not None and (highest is None or highest < used):
        yield Refused("column-mapping.max-column-id", f"{highest} is below {used}")


def check_mapped_column_changes(proposal: ProposedCommit) -> Iterator[Refused]:
    """Column Mapping, Writer Requirements: forbid changes of immutable properties of mapped columns.

    The columns are compared with the columns of all known versions since the mapping was enabled: when a restore brings
    back an id or a physical name, it must belong to the same column. Newer versions take precedence.
    """
    version = proposal.version_after
    if not proposal.actions_of_type(MetaData) or not _is_mapped(version):
        return
    versions = (TableVersion(each, proposal.revision) for each in reversed(proposal.history))
    earlier = list(takewhile(_is_mapped, versions))
    limits = [limit for each in earlier if (limit := _read_max_column_id(each)) is not None]
    limit, used = _read_max_column_id(version), column_mapping.find_max_column_id(version.schema or Struct(()))
    # another check compares the limit with the highest id in use
    if limit is not None and limit < max(limits, default=limit) and (used is None or limit >= used):
        yield Refused("column-mapping.max-id-never-falls", MAX_COLUMN_ID)
    known = [column for each in reversed(earlier) for column in _list_mapped_columns(each)]
    names, owners = {number: path[-1] for path, number in known}, dict(known)
    columns = _list_mapped_columns(version)
    names_after = sorted({number: path[-1] for path, number in columns}.items())
    for number, name in names_after:
        if names.get(number, name) != name:
            yield Refused("column-mapping.physical-name-stays", f"column {number}: {names[number]} became {name}")
    if proposal.revision is Revision.CURRENT:  # [Changed in current] paths are unique, not names
        for path, number in sorted(dict(columns).items()):
            if owners.get(path, number) != number:
                yield Refused("column-mapping.new-columns-have-new-paths", ".".join(path))
        return
    for number, name in names_after:
        if number not in names and name in names.values():
            yield Refused("column-mapping.new-columns-named-anew", f"column {number}: {name} is in use")


def _is_mapped(table: TableVersion) -> bool:
    return table.mapping is not None and table.schema is not None


def _read_max_column_id(table: TableVersion) -> int | None:
    return table_properties.get_integer_property(table.configuration, MAX_COLUMN_ID)


def _list_mapped_columns(table: TableVersion) -> list[tuple[tuple[str, ...], int]]:
    """Return the physical path and id of each field that has an id and a physical name, last field first.

    If several have one id or path, the first of the schema is the last of the list, which dictionaries keep.
    """
    fields = [] if table.schema is None else column_mapping.list_physical_paths(table.schema, table.mapping)
    return [
        (path, number)
        for path, field in reversed(list(fields))
        if (number := column_mapping.column_id(field)) is not None
        and isinstance(field.metadata.get(PHYSICAL_NAME), str)
    ]


CHECKS: tuple[CommitCheck, ...] = (
    check_protocol,
    check_used_features,
    check_metadata,
    refuse_illegal_state(check_properties),
    refuse_illegal_state(check_columns),
    refuse_illegal_state(check_mapped_columns),
    check_mapped_column_changes,
)
"""In the order in which `validation.check_commit` evaluates them."""
