"""Collations of string columns, as far as the schema shows them. Source: proposal Collated String Type (accepted).

What a collation means is defined by its provider, so statistics under a collation cannot be checked.
"""

from collections.abc import Collection

from deltaspec.model.features.table_features import supports_feature_or_preview
from deltaspec.model.property_names import PHYSICAL_NAME
from deltaspec.model.schema.data_types import DataType, Field, Primitive, UndefinedType, descend

FEATURE = "collations"
COLLATIONS = "__COLLATIONS"
_DEFAULT = "spark.utf8_binary"


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
        parts = identifier.split(".") if type(identifier) is str else []
        if len(parts) != 2 or not all(parts):
            return f"{path} has no identifier of the form provider.name"
        if identifier.lower() == _DEFAULT:
            return f"{path} has the default collation"
    return None


def _leads_to_string(path: str, root: str, kind: DataType) -> bool:
    """Return whether a path such as `name.element.key` leads from a field to a string."""
    if path != root and not path.startswith(f"{root}."):
        return False
    kind, missing = descend(kind, path[len(root) + 1 :].split(".") if path != root else ())
    is_collated = isinstance(kind, UndefinedType) and kind.name.startswith("string collate ")
    return missing is None and (kind == Primitive("string") or is_collated)
