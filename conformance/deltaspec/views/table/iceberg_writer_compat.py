"""Requirements of Iceberg writer compatibility V1 and V3 for a table. Source: proposal IcebergWriterCompatV1.

No proposal defines V3. Kernel Java implements it as V1 over Iceberg compatibility V3, so only its allow-list is open.
"""

from collections.abc import Collection, Iterator, Mapping

from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.property_names import (
    CHANGE_DATA_FEED,
    COLUMN_MAPPING_MODE,
    CONSTRAINT_PREFIX,
    GENERATION_EXPRESSION,
    IDENTITY_PREFIX,
    INVARIANTS,
    PHYSICAL_NAME,
)
from deltaspec.protocol.schema.column_mapping import column_id
from deltaspec.protocol.schema.data_types import Map, Primitive, Struct, get_type_name, iter_fields, iter_leaf_types

BASES = {"V1": "V2", "V3": "V3"}
"""Writer compatibility to the Iceberg compatibility that it requires."""
_FORBIDDEN_TYPES = (Primitive("byte"), Primitive("short"))
_ALLOWED_FEATURES = frozenset(
    {"appendOnly", "columnMapping", "icebergWriterCompatV1", "icebergCompatV2", "domainMetadata"}
    | {"vacuumProtocolCheck", "v2Checkpoint", "inCommitTimestamp", "clustering", "timestampNtz", "typeWidening"}
    | {"catalogOwned", "catalogManaged"}
)
"""The proposal names `catalogOwned`, which is now `catalogManaged`."""
_ALLOWED_IF_INACTIVE = frozenset(
    {"invariants", "changeDataFeed", "checkConstraints", "identityColumns", "generatedColumns"}
)
_KEYS_OF_FEATURES = {INVARIANTS: "invariants", GENERATION_EXPRESSION: "generatedColumns"}


def get_enabled_versions(features: Collection[str], configuration: Mapping[str, str]) -> list[str]:
    """Return `V1` and `V3` if they are supported and enabled."""
    return [
        each
        for each in BASES
        if f"icebergWriterCompat{each}" in features
        and is_property_true(dict(configuration), f"delta.enableIcebergWriterCompat{each}")
    ]


def find_base_fault(version: str, features: Collection[str], configuration: Mapping[str, str]) -> str | None:
    """Return why the Iceberg compatibility that a writer compatibility requires is not enabled, or None."""
    base = f"icebergCompat{BASES[version]}"
    if base not in features:
        return f"{base} is not supported"
    enabled = is_property_true(dict(configuration), f"delta.enableIcebergCompat{BASES[version]}")
    return None if enabled else f"{base} is not enabled"


def find_mode_fault(configuration: Mapping[str, str]) -> str | None:
    """Return the column mapping mode if it is not `id`, or None."""
    mode = configuration.get(COLUMN_MAPPING_MODE, "none")
    return None if mode == "id" else f"the column mapping mode is {mode}"


def iter_column_names(schema: Struct) -> Iterator[tuple[str, str | None]]:
    """Yield every column path, and why its physical name is not `col-` and its id; None if it is."""
    for path, field in iter_fields(schema):
        number, name = column_id(field), field.metadata.get(PHYSICAL_NAME)
        is_derived = number is not None and name == f"col-{number}"
        yield ".".join(path), None if is_derived else f"column {number} has the physical name {name}"


def find_forbidden_types(schema: Struct) -> list[str]:
    """Return `path: type` of each column with a type that V2 and V3 allow but writers of Iceberg do not."""
    return [
        f"{'.'.join(path)}: {get_type_name(leaf)}"
        for path, field in iter_fields(schema)
        for leaf in (() if isinstance(field.type, Struct) else iter_leaf_types(field.type))
        if leaf in _FORBIDDEN_TYPES
    ]


def find_forbidden_features(features: Collection[str]) -> list[str]:
    """Return the supported features that are not in the allow-list of V1, previews without their suffix."""
    return sorted(set(features) - _ALLOWED_FEATURES - _ALLOWED_IF_INACTIVE)


def find_active_features(schema: Struct | None, configuration: Mapping[str, str]) -> list[str]:
    """Return the legacy features that are in use, although a table may only support them."""
    found = {"checkConstraints" for name in configuration if name.startswith(CONSTRAINT_PREFIX)}
    if is_property_true(dict(configuration), CHANGE_DATA_FEED):
        found.add("changeDataFeed")
    for _, field in iter_fields(schema) if schema is not None else ():
        found |= {feature for key, feature in _KEYS_OF_FEATURES.items() if key in field.metadata}
        found |= {"identityColumns" for key in field.metadata if key.startswith(IDENTITY_PREFIX)}
    return sorted(found)


def find_changed_map_keys(before: Struct, after: Struct) -> list[str]:
    """Return the columns whose map keys contain a struct that differs from the preceding version of the column."""
    earlier = {column_id(field): field.type.key for _, field in iter_fields(before) if isinstance(field.type, Map)}
    keys = [
        (path, column_id(field), field.type.key) for path, field in iter_fields(after) if isinstance(field.type, Map)
    ]
    found = [(path, earlier.get(number), key) for path, number, key in keys]
    return [".".join(path) for path, old, new in found if isinstance(old, Struct) and old != new]
