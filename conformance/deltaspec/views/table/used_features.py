"""Parts of the table state that need a table feature: types, column metadata, properties and domains.

Source: Table Features, and the chapter of each feature.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from deltaspec.protocol.features import table_properties
from deltaspec.protocol.features.constraints import get_key_feature
from deltaspec.protocol.features.system_domains import find_domain_feature
from deltaspec.protocol.features.table_features import (
    PROPOSALS,
    find_missing_requirements,
    get_current_name,
    get_known_features,
    strip_preview_suffix,
)
from deltaspec.protocol.property_names import TYPE_CHANGES
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import PRIMITIVES, Array, DataType, Map, Primitive, Struct, iter_fields
from deltaspec.protocol.schema.type_changes import FEATURE as TYPE_WIDENING
from deltaspec.protocol.schema.type_changes import has_type_change_record

DOMAIN_METADATA = "domainMetadata"


class FeatureUse(NamedTuple):
    """A part of the table state that needs a feature."""

    feature: str
    kind: str
    """`type`, `column metadata`, `property` or `domain`."""
    name: str
    """Column path, property or domain."""
    key: str = ""
    """Key of column metadata."""

    @property
    def text(self) -> str:
        """Description for a finding."""
        return f"{self.feature}: {self.kind} {self.name}{f' {self.key}' if self.key else ''}"


def get_usable_features(supported: Collection[str], revision: Revision = Revision.CURRENT) -> frozenset[str]:
    """Return the supported features by current name; a preview permits what its feature permits."""
    return frozenset(get_current_name(strip_preview_suffix(name), revision) for name in supported)


def find_schema_uses(schema: Struct, revision: Revision = Revision.CURRENT) -> frozenset[FeatureUse]:
    """Return the uses of features by the columns of a schema."""
    known, found = get_known_features(revision), set()
    for path, field in iter_fields(schema):
        column = ".".join(path)
        found |= {FeatureUse(each, "type", column) for each in _iter_type_features(field.type) if each in known}
        for key, value in field.metadata.items():
            feature = TYPE_WIDENING if key == TYPE_CHANGES else get_key_feature(key)
            has_effect = has_type_change_record(field) if key == TYPE_CHANGES else value is not None
            if feature in known and has_effect:
                found.add(FeatureUse(feature or "", "column metadata", column, key))
    return frozenset(found)


def _iter_type_features(data_type: DataType) -> Iterator[str]:
    """Yield the features that a type needs, except for struct fields in it, which are columns themselves."""
    match data_type:
        case Primitive(name):
            feature = PRIMITIVES.get(name)
            if feature is not None:
                yield feature
        case Array(element):
            yield from _iter_type_features(element)
        case Map(key, value):
            yield from _iter_type_features(key)
            yield from _iter_type_features(value)


def find_property_uses(
    configuration: Mapping[str, str], revision: Revision = Revision.CURRENT
) -> frozenset[FeatureUse]:
    """Return the uses of features by table properties; the current revision also knows properties of proposals."""
    known = get_known_features(revision) | (PROPOSALS if revision is Revision.CURRENT else frozenset())
    needed = {name: table_properties.get_required_feature(name, value) for name, value in configuration.items()}
    return frozenset(FeatureUse(feature, "property", name) for name, feature in needed.items() if feature in known)


def find_domain_uses(domains: Iterable[str], revision: Revision = Revision.CURRENT) -> frozenset[FeatureUse]:
    """Return the uses of features by live metadata domains."""
    known, found = get_known_features(revision), set()
    for domain in domains:
        system_feature = find_domain_feature(domain, revision)
        found |= {
            FeatureUse(feature, "domain", domain) for feature in (DOMAIN_METADATA, system_feature) if feature in known
        }
    return frozenset(found)


def find_abandoned_uses(
    kept: Iterable[FeatureUse], before: Set[str] | None, after: Collection[str], revision: Revision = Revision.CURRENT
) -> frozenset[FeatureUse]:
    """Return the uses whose feature a new protocol does not support. A proposal forbids nothing.

    E41 leaves open whether a feature may be dropped. The state after it must be legal in any case. Separate
    requirements cover the traces that type widening leaves, and features that a feature of the new protocol requires.

    Args:
        kept: uses by the versions before and after the protocol.
        before: features that the version before supports, from `get_usable_features`; None if unknown.
        after: features that the new protocol supports, as it names them.
        revision: protocol revision.
    """
    judged = PROPOSALS | get_usable_features(after, revision) | find_missing_requirements(after, revision)
    unsupported = frozenset(use for use in kept if use.feature not in judged)
    if before is None:
        return unsupported
    return frozenset(use for use in unsupported if use.feature in before - {TYPE_WIDENING})
