"""Collations of string columns, and the versions that their domain lists. Source: proposal Collated String Type.

What a collation means is defined by its provider, so bounds under a collation cannot be checked.
"""

from collections.abc import Collection

from deltaspec.protocol.actions import DomainMetadata
from deltaspec.protocol.features.table_features import supports_feature_or_preview
from deltaspec.protocol.json_values import JsonError, parse_lossless
from deltaspec.protocol.property_names import PHYSICAL_NAME
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import DataType, Field, Primitive, UndefinedType, descend

FEATURE = "collations"
COLLATIONS = "__COLLATIONS"
_DEFAULT = "spark.utf8_binary"
_DOMAINS = ("collations", "delta.collations")
_VERSIONS = "writeVersions"


def find_collation_fault(field: Field, supported: Collection[str] | None) -> str | None:
    """Return why the collations in the metadata of a field are invalid; None if they are valid, absent or unknown.

    Args:
        field: A field at any depth.
        supported: Features that the table supports; None if unknown.
    """
    recorded = field.metadata.get(COLLATIONS)
    if recorded is None or supported is None:
        return None
    if not supports_feature_or_preview(supported, FEATURE):
        return f"{FEATURE} is not supported"
    if not isinstance(recorded, dict):
        return "is not an object"
    roots = [name for name in (field.name, field.metadata.get(PHYSICAL_NAME)) if isinstance(name, str)]
    for path, identifier in recorded.items():
        if not any(_leads_to_string(path, root, field.type) for root in roots):
            return f"{path} is not a string of the field"
        if type(identifier) is not str or not _is_identifier(identifier):
            return f"{path} has no identifier of the form provider.name"
        if identifier.lower() == _DEFAULT:
            return f"{path} has the default collation"
    return None


def find_versions_fault(action: DomainMetadata, revision: Revision = Revision.CURRENT) -> str | None:
    """Return why the domain of collations does not list versions as the proposal says; None for other domains."""
    if action.domain not in _DOMAINS or revision is not Revision.CURRENT:
        return None
    try:
        value = parse_lossless(action.configuration).value
    except JsonError as fault:
        return f"is not JSON: {fault}"
    versions = value.get(_VERSIONS, {}) if isinstance(value, dict) else None
    if not isinstance(versions, dict):
        return f"has no object {_VERSIONS}"
    for identifier, listed in versions.items():
        if not _is_identifier(identifier):
            return f"{identifier[:80]} is not provider.name"
        if not isinstance(listed, list) or not all(type(each) is str for each in listed):
            return f"{identifier[:80]} has no list of versions"
    return None


def _is_identifier(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 2 and all(parts)


def _leads_to_string(path: str, root: str, data_type: DataType) -> bool:
    """Return whether a path such as `name.element.key` leads from a field to a string."""
    if path != root and not path.startswith(f"{root}."):
        return False
    data_type, missing = descend(data_type, path[len(root) + 1 :].split(".") if path != root else ())
    is_collated = isinstance(data_type, UndefinedType) and data_type.name.startswith("string collate ")
    return missing is None and (data_type == Primitive("string") or is_collated)
