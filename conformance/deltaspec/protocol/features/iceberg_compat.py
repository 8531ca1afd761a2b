"""Iceberg compatibility: features, properties and types. Source: Iceberg Compatibility V1 to V3; V3 is a proposal."""

from collections.abc import Collection, Mapping

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import DataType, Decimal, UndefinedType, get_type_name

FEATURES = {"V1": "icebergCompatV1", "V2": "icebergCompatV2"}
"""Compatibilities that the protocol defines, and their features."""
PROPOSED = "V3"
_SINCE = {PROPOSED: Revision.CURRENT, "V1": Revision.R3, "V2": Revision.R3}
"""Each compatibility and its first revision. If several are enabled, the last of them decides about data files."""

_NOT_IN_V1 = ("array", "map", "void")
_OF_V2 = frozenset(
    {"byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary", "boolean"}
    | {"timestamp", "timestamp_ntz", "date", "array", "map", "struct"}
)
"""The protocol spells one of them `timestampNTZ` (E22)."""
_ALLOWED_TYPES = {"V2": _OF_V2, PROPOSED: _OF_V2 | {"variant"}}
_SPELLINGS = ("string", "char", "varchar", "udt")
_ALLOWED_PREFIXES = {"V2": _SPELLINGS, PROPOSED: (*_SPELLINGS, "geometry", "geography")}
"""Prefixes of undefined type names that may stand for a supported type."""
ROW_TRACKING_FIELD_IDS = {"row id": 2147483540, "row commit version": 2147483539}
"""Parquet field ids that V3 requires of materialized row tracking columns."""


def get_enabled_compatibilities(
    features: Collection[str], configuration: Mapping[str, str], revision: Revision = Revision.CURRENT
) -> tuple[str, ...]:
    """Return the enabled compatibilities in the order `V3`, `V1`, `V2`.

    Args:
        features: Features that the table supports.
        configuration: Configuration of the table.
        revision: Protocol revision.
    """
    settings = dict(configuration)
    return tuple(
        each
        for each, since in _SINCE.items()
        if revision.since(since)  # [Changed in r3] V1 and V2 are new
        and f"icebergCompat{each}" in features
        and is_property_true(settings, f"delta.enableIcebergCompat{each}")
    )


def readers_support_mapping(protocol: Protocol) -> bool:
    """Return whether the reader version is 2, or higher with column mapping listed."""
    if protocol.min_reader_version >= 3:
        return "columnMapping" in (protocol.reader_features or ())
    return protocol.min_reader_version == 2


def is_supported_type(compatibility: str, data_type: DataType) -> bool:
    """Return whether a compatibility lists a type; an undefined type may stand for a listed one."""
    name = "decimal" if isinstance(data_type, Decimal) else get_type_name(data_type)
    if compatibility == "V1":
        return name not in _NOT_IN_V1
    may_be_supported = isinstance(data_type, UndefinedType) and (
        not name or name.startswith(_ALLOWED_PREFIXES[compatibility])
    )
    return name in _ALLOWED_TYPES[compatibility] or may_be_supported
