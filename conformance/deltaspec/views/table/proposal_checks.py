"""Requirements of proposals for the state of a table: types, features and properties.

The protocol does not contain these requirements, so findings are divergences (S44). Source: the proposals in
`protocol_rfcs` of delta-io/delta.
"""

from collections.abc import Collection, Iterator

import msgspec

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features import iceberg_compat, row_tracking
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.features.table_features import strip_preview_suffix
from deltaspec.protocol.features.table_properties import has_in_commit_timestamps
from deltaspec.protocol.features.undefined_types import iter_own_types
from deltaspec.protocol.schema.data_types import PRIMITIVES, Field, Primitive, Struct, UndefinedType, iter_fields
from deltaspec.protocol.schema.data_types import iter_leaf_types as iter_leaves
from deltaspec.protocol.schema.proposed_types import find_name_fault, get_family
from deltaspec.views.table import iceberg_writer_compat as writer_compat

ADAPTIVE_METADATA = "adaptiveMetadata"


class ProposalCheck(msgspec.Struct, frozen=True):
    """Requirement of a proposal, and the part of a table that it concerns."""

    requirement: str
    """Id of the requirement."""
    subject: str
    """Column, property or feature."""
    fault: str | None
    """How it violates the requirement; None if it does not."""


class ProposedState(msgspec.Struct, frozen=True):
    """The part of a table's state that proposals concern."""

    protocol: Protocol
    metadata: MetaData
    schema: Struct | None
    """Complete schema; None if unknown."""
    special: Struct | None
    """Columns with an uncommon type or with metadata; None if unknown."""
    mapping: str | None
    clustering_columns: Collection[tuple[str, ...]] = ()
    """Logical paths."""
    schema_before: Struct | None = None
    """Schema of the preceding version; None if there is none, or it is unknown."""

    @property
    def features(self) -> set[str]:
        """Supported features, previews without their suffix."""
        return {strip_preview_suffix(name) for name in get_supported_features(self.protocol)}


def find_state_checks(state: ProposedState) -> list[ProposalCheck]:
    """Return every requirement of a proposal that concerns the table, in the order of the schema."""
    features = state.features
    return [
        *_check_types(state, features),
        *_check_writer_compatibility(state, features),
        *_check_adaptive_metadata(state, features),
    ]


def _check_types(state: ProposedState, features: Collection[str]) -> Iterator[ProposalCheck]:
    for path, field in iter_fields(state.special) if state.special is not None else ():
        for leaf in () if isinstance(field.type, Struct) else iter_own_types(field.type):
            if isinstance(leaf, UndefinedType):
                yield from _check_type(state, features, path, field, leaf)


def _check_type(
    state: ProposedState, features: Collection[str], path: tuple[str, ...], field: Field, leaf: UndefinedType
) -> Iterator[ProposalCheck]:
    column = ".".join(path)
    match get_family(leaf):
        case "interval":
            listed = "intervalTypes" in features or "intervalType" in features
            yield ProposalCheck("interval-types.feature", column, None if listed else f"{leaf.name}: not supported")
            yield ProposalCheck("interval-types.names", column, find_name_fault(leaf))
        case "geospatial" if "geospatial" in features:
            yield ProposalCheck("geospatial.type-names", column, find_name_fault(leaf))
        case "udt":
            yield ProposalCheck("schema.primitive-types", column, "has a user-defined type")
            yield from _check_user_defined_type(state, features, path, leaf)


def _check_user_defined_type(
    state: ProposedState, features: Collection[str], path: tuple[str, ...], leaf: UndefinedType
) -> Iterator[ProposalCheck]:
    column = ".".join(path)
    uses = [
        *(["partition column"] if path[:1] == path and path[0] in state.metadata.partition_columns else []),
        *(["clustering column"] if path in state.clustering_columns else []),
    ]
    yield ProposalCheck("user-defined-types.not-a-key", column, f"is a {uses[0]}" if uses else None)
    enabled = iceberg_compat.get_enabled_compatibilities(features, state.metadata.configuration)
    fault = f"Iceberg compatibility {enabled[0]} is enabled" if enabled else None
    yield ProposalCheck("user-defined-types.not-in-iceberg", column, fault)
    names = [each.name for each in iter_leaves(leaf.stored) if isinstance(each, Primitive)] if leaf.stored else []
    needed = sorted({feature for name in names if (feature := PRIMITIVES.get(name))} - set(features))
    missing = f"stores a type of {needed[0]}, which is not supported" if needed else None
    yield ProposalCheck("user-defined-types.stored-type", column, missing)


def _check_writer_compatibility(state: ProposedState, features: set[str]) -> Iterator[ProposalCheck]:
    settings, schema = state.metadata.configuration, state.schema
    for version in writer_compat.get_enabled_versions(features, settings):
        subject = f"icebergWriterCompat{version}"

        def check(name: str, fault: str | None, subject: str = subject) -> ProposalCheck:
            return ProposalCheck(f"iceberg-writer-compat.{name}", subject, fault)

        yield check("base-enabled", writer_compat.find_base_fault(version, features, settings))
        yield check("id-mode", writer_compat.find_mode_fault(settings))
        forbidden = writer_compat.find_forbidden_features(features) if version == "V1" else []
        yield check("features", _join("not in the allow-list: ", forbidden))
        yield check("inactive", _join("in use: ", writer_compat.find_active_features(schema, settings)))
        if schema is None:
            continue
        yield check("types", _join("", writer_compat.find_forbidden_types(schema)))
        for column, fault in writer_compat.iter_column_names(schema):
            yield check("column-names", fault, column)
        if state.schema_before is not None:
            changed = writer_compat.find_changed_map_keys(state.schema_before, schema)
            yield check("map-keys", _join("changed keys: ", changed))


def _join(prefix: str, found: Collection[str]) -> str | None:
    return f"{prefix}{', '.join(found)}" if found else None


def _check_adaptive_metadata(state: ProposedState, features: Collection[str]) -> Iterator[ProposalCheck]:
    if ADAPTIVE_METADATA not in features:
        return
    enabled = {
        "columnMapping": state.mapping is not None,
        "rowTracking": row_tracking.is_enabled(state.protocol, state.metadata),
        "inCommitTimestamp": has_in_commit_timestamps(state.protocol, state.metadata),
    }
    for feature, is_enabled in enabled.items():
        yield ProposalCheck("adaptive-metadata.enabled-features", feature, None if is_enabled else "is not enabled")
