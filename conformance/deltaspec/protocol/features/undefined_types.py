"""Types that a revision of the protocol does not define, and the features that define them.

Source: Primitive Types; Variant Type (current); the proposals in `protocol_rfcs` of delta-io/delta.
"""

import re
from collections.abc import Collection

from deltaspec.protocol.features.table_features import FEATURES, strip_preview_suffix
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import (
    DataType,
    Primitive,
    Struct,
    UndefinedType,
    get_type_name,
    iter_fields,
    iter_leaf_types,
)
from deltaspec.protocol.schema.proposed_types import get_family

_FEATURE_OF_PROPOSED_TYPE = (
    (re.compile(r"(geometry|geography)(\(.*\))?", re.ASCII), "geospatial"),
    (re.compile(r"timestamp(_ntz)?_nanos(_ntz)?", re.ASCII), "timestampNanos"),
    (re.compile(r"file"), "fileType"),
    (re.compile(r"string collate .*"), "collations"),
    (re.compile(r"decfloat\((16|34)\)"), "decFloat"),
    (re.compile(r"float16"), "float16"),
    (re.compile(r"uint(8|16|32|64)"), "unsignedIntegerTypes"),
    (re.compile(r"timestamp(_ntz| without time zone)?\([0-9]\)"), "timestampPrecision"),
)
_DEFINED_SINCE = {"variant": (Revision.CURRENT, "variantType")}
"""Type to the first revision that defines it and its feature; all revisions define the other types."""


def find_undefined_types(
    schema: Struct | None, supported: Collection[str] | None, revision: Revision = Revision.CURRENT
) -> list[str]:
    """Return `column: type` for each column of a type that neither the revision nor a listed feature defines.

    A feature that nobody knows may define any type for which no proposal is known.

    Args:
        schema: Table schema; None if unknown.
        supported: Features that the table supports; None if unknown.
        revision: Protocol revision.
    """
    if schema is None or supported is None:
        return []
    listed = {strip_preview_suffix(name) for name in supported}
    is_extended = may_define_types(supported)
    found = []
    for path, field in iter_fields(schema):
        for leaf in () if isinstance(field.type, Struct) else iter_own_types(field.type):
            needed = {_find_defining_feature(each, revision) for each in _expand(leaf, revision)}
            if needed - {None, *listed, *([""] if is_extended else [])}:
                found.append(f"{'.'.join(path)}: {get_type_name(leaf)[:80] or 'no type'}")
    return found


def may_define_types(supported: Collection[str] | None) -> bool:
    """Return whether a feature that nobody knows is supported, which may define types."""
    return any(strip_preview_suffix(name) not in FEATURES for name in supported or ())


def iter_own_types(data_type: DataType) -> list[DataType]:
    """Return the leaf types of a field, but not of the struct fields below it, which are themselves fields."""
    below = {id(leaf) for _, member in iter_fields(data_type) for leaf in iter_leaf_types(member.type)}
    return [leaf for leaf in iter_leaf_types(data_type) if id(leaf) not in below]


def _expand(leaf: DataType, revision: Revision) -> list[DataType]:
    """Return the types that must be defined for a leaf type to be defined.

    [Changed in current] Proposals define interval types and user-defined types without a table feature that gates
    them, because engines wrote them before. Findings about them are divergences.
    """
    if revision is not Revision.CURRENT:
        return [leaf]
    match get_family(leaf), leaf:
        case "interval", _:
            return []
        case "udt", UndefinedType(_, stored) if stored is not None:
            return [each for inner in iter_leaf_types(stored) for each in _expand(inner, revision)]
    return [leaf]


def _find_defining_feature(leaf: DataType, revision: Revision) -> str | None:
    """Return the feature without which a type is undefined: "" if no such feature is known, None if it is defined."""
    match leaf:
        case Primitive(name):
            since, feature = _DEFINED_SINCE.get(name, (Revision.R1, ""))
            return None if revision.since(since) else feature
        case UndefinedType(name):
            return next((feature for pattern, feature in _FEATURE_OF_PROPOSED_TYPE if pattern.fullmatch(name)), "")
    return None
