"""Table properties: valid values and required features. Source: chapter Table Properties.

The protocol does not name the retention properties (S25); engines agree on them.
"""

import re
from collections.abc import Mapping

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.supported_features import get_supported_features, supports
from deltaspec.protocol.property_names import (
    APPEND_ONLY,
    CHANGE_DATA_FEED,
    CHECKPOINT_PROTECTION,
    COLUMN_MAPPING_MODE,
    CONSTRAINT_PREFIX,
    DELETION_VECTORS,
    FILE_RETENTION,
    GENERATION_EXPRESSION,
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3,
    IDENTITY_PREFIX,
    IN_COMMIT_TIMESTAMPS,
    IN_COMMIT_TIMESTAMPS_SINCE_TIME,
    IN_COMMIT_TIMESTAMPS_SINCE_VERSION,
    INVARIANTS,
    LOG_RETENTION,
    MAX_COLUMN_ID,
    PARQUET_CODEC,
    PARQUET_FORMAT_VERSION,
    R1_ROW_IDS,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
    STATS_AS_JSON,
    STATS_AS_STRUCT,
    TRANSACTION_RETENTION,
    TYPE_WIDENING,
    VARIANT_SHREDDING,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import PRIMITIVES, Primitive, Struct, iter_fields, iter_leaf_types
from deltaspec.protocol.time_units import DAY_MS, DAY_US, HOUR_US

DEFAULT_FILE_RETENTION_MS = 7 * DAY_MS
DEFAULT_LOG_RETENTION_MS = 30 * DAY_MS

BOOLEANS = {
    APPEND_ONLY: "appendOnly",
    CHANGE_DATA_FEED: "changeDataFeed",
    DELETION_VECTORS: "deletionVectors",
    ROW_TRACKING: "rowTracking",
    ROW_TRACKING_SUSPENDED: "rowTracking",
    IN_COMMIT_TIMESTAMPS: "inCommitTimestamp",
    TYPE_WIDENING: "typeWidening",
    ICEBERG_COMPAT_V1: "icebergCompatV1",
    ICEBERG_COMPAT_V2: "icebergCompatV2",
    ICEBERG_COMPAT_V3: "icebergCompatV3",
    VARIANT_SHREDDING: "variantShredding",
    STATS_AS_JSON: None,
    STATS_AS_STRUCT: None,
    R1_ROW_IDS: "rowIds",
}
"""Boolean properties and the feature that the value `true` requires."""
_LISTED_BOOLEANS = (VARIANT_SHREDDING,)
"""Properties whose valid values the text lists."""
_NAMED_ONLY_BY_R1 = (R1_ROW_IDS,)
_NAMED_SINCE = {
    ROW_TRACKING: Revision.R2,
    DELETION_VECTORS: Revision.R3,
    ICEBERG_COMPAT_V1: Revision.R3,
    ICEBERG_COMPAT_V2: Revision.R3,
    ICEBERG_COMPAT_V3: Revision.CURRENT,
    ROW_TRACKING_SUSPENDED: Revision.CURRENT,
    IN_COMMIT_TIMESTAMPS: Revision.CURRENT,
    IN_COMMIT_TIMESTAMPS_SINCE_VERSION: Revision.CURRENT,
    IN_COMMIT_TIMESTAMPS_SINCE_TIME: Revision.CURRENT,
    TYPE_WIDENING: Revision.CURRENT,
    VARIANT_SHREDDING: Revision.CURRENT,
}
"""First revision whose text names the property; r1 names the others."""

WRITE_PARTITION_COLUMNS = "delta.writePartitionColumnsToParquet"
_PROPOSED_BOOLEANS = {
    WRITE_PARTITION_COLUMNS: None,
    "delta.enableIcebergWriterCompatV1": "icebergWriterCompatV1",
    "delta.enableIcebergWriterCompatV3": "icebergWriterCompatV3",
}
"""Boolean properties of proposals and the feature that the value `true` requires."""

DEFAULT_CODEC = "zstd"
_CODECS = {
    "uncompressed": ("uncompressed",),
    "none": ("uncompressed",),
    "snappy": ("snappy",),
    "gzip": ("gzip",),
    "lz4": ("lz4", "lz4_raw"),
    "lz4_raw": ("lz4_raw",),
    "zstd": ("zstd",),
}
"""Lower-case codec names to the matching Parquet codecs; LZ4 is now written as LZ4_RAW."""
DEFAULT_PAGE_VERSION = 1
_FORMAT_VERSION = re.compile(r"1\.0\.0|2\.\d{1,9}\.\d{1,9}", re.ASCII)
INTEGERS = (MAX_COLUMN_ID, IN_COMMIT_TIMESTAMPS_SINCE_VERSION, IN_COMMIT_TIMESTAMPS_SINCE_TIME)
MISPRINTED_PROPERTIES = {"appendOnly": APPEND_ONLY}
"""E03: an example in the protocol prints the name without its prefix."""

FEATURE_PREFIX = "delta.feature."
"""Prefix of the properties with which a command adds a feature; its value is not stored in the table."""
_DEFINED_NAMES = (
    *BOOLEANS,
    *INTEGERS,
    COLUMN_MAPPING_MODE,
    PARQUET_CODEC,
    PARQUET_FORMAT_VERSION,
    FILE_RETENTION,
    LOG_RETENTION,
    TRANSACTION_RETENTION,
    ROW_ID_COLUMN,
    ROW_COMMIT_VERSION_COLUMN,
)
_DEFINED_BY_FOLDED_NAME = {name.lower(): name for name in _DEFINED_NAMES}

_UNITS_US = {
    "week": 604_800_000_000,
    "day": DAY_US,
    "hour": HOUR_US,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}
_INTERVAL_PART = re.compile(
    r"([+-]? ?)(\d{1,15})(?:\.(\d{1,9})(?= seconds?( |$)))?"
    r" (week|day|hour|minute|(?:milli|micro)?second)s?( |$)",
    re.ASCII,
)


def find_property_fault(name: str, value: str, revision: Revision = Revision.CURRENT) -> str | None:
    """Return why a revision forbids the value of a property, or None."""
    if not _names_property(name, revision):
        return None
    if name in _LISTED_BOOLEANS and value.lower() not in ("true", "false"):
        return "is neither true nor false"
    if name in INTEGERS and not re.fullmatch(r"\d{1,19}", value, re.ASCII):
        return "is not an integer"
    if name == COLUMN_MAPPING_MODE and value not in ("none", "id", "name"):
        return "is not one of none, id and name"
    return None


def find_undefined_value(name: str, value: str, revision: Revision = Revision.CURRENT) -> str | None:
    """Return why a revision does not define what the value of a property means, although it may be set, or None.

    The text says when a boolean property enables something, not which other values it may have (S42). It does not name
    the retention properties (S25).
    """
    if name in BOOLEANS and name not in _LISTED_BOOLEANS and _names_property(name, revision):
        return None if value.lower() in ("true", "false") else "is neither true nor false"
    if name in (FILE_RETENTION, LOG_RETENTION, TRANSACTION_RETENTION) and parse_interval_ms(value) is None:
        return "is not an interval of fixed length"
    return None


def find_name_in_other_case(name: str, configuration: Mapping[str, str]) -> str | None:
    """Return the property that a name with the prefix `delta.` differs from only in case; None without one.

    It is a property that the protocol defines, the prefix of CHECK constraints or features, or another property of the
    table.

    Args:
        name: Name of a property of the table.
        configuration: Properties of the table.
    """
    folded = name.lower()
    if not folded.startswith("delta."):
        return None
    defined = _DEFINED_BY_FOLDED_NAME.get(folded, name)
    if defined != name:
        return defined
    for prefix in (CONSTRAINT_PREFIX, FEATURE_PREFIX):
        if folded.startswith(prefix) and not name.startswith(prefix):
            return prefix + name[len(prefix) :]
    others = sorted(each for each in configuration if each != name and each.lower() == folded)
    return others[0] if others else None


def find_fault_by_proposal(name: str, value: str) -> str | None:
    """Return why a proposal forbids the value of a property that it defines, or None."""
    if name in _PROPOSED_BOOLEANS and value.lower() not in ("true", "false"):
        return f"{value[:80]!r} is neither true nor false"
    if name == CHECKPOINT_PROTECTION and not re.fullmatch(r"\d{1,18}", value, re.ASCII):
        return f"{value[:80]!r} is not a version"
    return None


def _names_property(name: str, revision: Revision) -> bool:
    """Return whether the text of a revision names a property."""
    since = _NAMED_SINCE.get(name, Revision.R1)
    return revision.since(since) and not (name in _NAMED_ONLY_BY_R1 and revision is not Revision.R1)


def find_property_warning(name: str, value: str) -> str | None:
    """Return why writers should avoid a property value that is not forbidden, or None.

    Codecs are not checked: the protocol allows more than it lists. Source: Table Properties (current).
    """
    if name == PARQUET_FORMAT_VERSION and not _FORMAT_VERSION.fullmatch(value):
        return "is neither 1.0.0 nor 2.x.x"
    return None


def get_requested_codecs(value: str) -> tuple[str, ...] | None:
    """Return the Parquet codecs that match a value of the codec property; None for unlisted names.

    Source: Table Properties (current).
    """
    return _CODECS.get(value.lower())


def parse_page_version(value: str) -> int | None:
    """Return the data page version that a value of the format version property requires; None for an invalid value.

    Source: Table Properties (current).
    """
    return int(value[0]) if _FORMAT_VERSION.fullmatch(value) else None


def get_required_feature(name: str, value: str) -> str | None:
    """Return the feature that a property with this value requires, or None."""
    if name == COLUMN_MAPPING_MODE and value in ("id", "name"):
        return "columnMapping"
    if name.startswith(CONSTRAINT_PREFIX):
        return "checkConstraints"
    if name == CHECKPOINT_PROTECTION and value != "0":
        return "checkpointProtection"
    return {**BOOLEANS, **_PROPOSED_BOOLEANS}.get(name) if value.lower() == "true" else None


def parse_interval_ms(text: str) -> int | None:
    """Parse an interval such as `interval 1 week 2 hours` to milliseconds; None if it is invalid.

    Months and years have no fixed length, so an interval with them is invalid.
    """
    normalized = " ".join(text.lower().split()).removeprefix("interval ")
    microseconds, at = 0, 0
    while at < len(normalized):
        part = _INTERVAL_PART.match(normalized, at)
        if part is None:
            return None
        sign, number, fraction, _, unit, _ = part.groups()
        size = int(number) * _UNITS_US[unit] + int((fraction or "").ljust(6, "0")[:6])
        microseconds += -size if sign.startswith("-") else size
        at = part.end()
    return microseconds // 1000 if normalized else None


def get_file_retention_ms(configuration: dict[str, str]) -> int:
    """Return the tombstone retention in milliseconds; seven days if no valid value is set."""
    found = parse_interval_ms(configuration.get(FILE_RETENTION, ""))
    return DEFAULT_FILE_RETENTION_MS if found is None or found < 0 else found


def compute_tombstone_cutoff_ms(configuration: dict[str, str], clock_ms: int) -> int | None:
    """Return the deletion timestamp from which tombstones have not expired; None if the property is invalid.

    Without the property, the retention is a week: the default that the protocol mentions for file cleanup (S25).

    Args:
        configuration: Configuration of the table.
        clock_ms: Current time in milliseconds since the epoch.
    """
    text = configuration.get(FILE_RETENTION)
    retention = DEFAULT_FILE_RETENTION_MS if text is None else parse_interval_ms(text)
    return None if retention is None or retention < 0 else clock_ms - retention


def compute_transaction_cutoff_ms(configuration: dict[str, str], clock_ms: int) -> int | None:
    """Return the `lastUpdated` from which transactions have not expired; None if no valid retention is set."""
    text = configuration.get(TRANSACTION_RETENTION)
    retention = None if text is None else parse_interval_ms(text)
    return None if retention is None or retention < 0 else clock_ms - retention


def get_log_retention_ms(configuration: dict[str, str]) -> int:
    """Return the retention of commits and checkpoints in milliseconds; thirty days if no valid value is set."""
    found = parse_interval_ms(configuration.get(LOG_RETENTION, ""))
    return DEFAULT_LOG_RETENTION_MS if found is None or found < 0 else found


def is_property_true(configuration: dict[str, str], name: str) -> bool:
    """Return whether a boolean property is set to true."""
    return configuration.get(name, "false").lower() == "true"


def get_integer_property(configuration: dict[str, str], name: str) -> int | None:
    """Return the integer value of a property; None if it is not set or does not fit 64 bits."""
    value = configuration.get(name, "")
    return int(value) if re.fullmatch(r"\d{1,18}", value, re.ASCII) else None


def writes_json_statistics(configuration: dict[str, str]) -> bool:
    """Return whether checkpoints have statistics as JSON, which is the default."""
    return configuration.get(STATS_AS_JSON, "true").lower() == "true"


def keeps_statistics_in_checkpoints(configuration: dict[str, str]) -> bool:
    """Return whether a checkpoint must have the statistics that exist, as JSON (the default) or as columns."""
    return writes_json_statistics(configuration) or is_property_true(configuration, STATS_AS_STRUCT)


def is_append_only(protocol: Protocol, metadata: MetaData) -> bool:
    """Return whether data may only be added. Source: Append-only Tables."""
    return supports(protocol, "appendOnly") and is_property_true(metadata.configuration, APPEND_ONLY)


def has_in_commit_timestamps(protocol: Protocol, metadata: MetaData) -> bool:
    """Return whether every commit carries its own timestamp. Source: In-Commit Timestamps (current)."""
    return supports(protocol, "inCommitTimestamp") and is_property_true(metadata.configuration, IN_COMMIT_TIMESTAMPS)


_FIELD_KEYS = {
    INVARIANTS: "invariants",
    GENERATION_EXPRESSION: "generatedColumns",
    "CURRENT_DEFAULT": "allowColumnDefaults",
}
_ACTIVE_WHEN_SUPPORTED = ("domainMetadata", "v2Checkpoint", "clustering", "vacuumProtocolCheck", "catalogManaged")
_BY_PROPERTY = {name: feature for name, feature in BOOLEANS.items() if feature and name != ROW_TRACKING_SUSPENDED}


def find_active_features(protocol: Protocol, metadata: MetaData, schema: Struct) -> set[str]:
    """Return the features that are supported and whose metadata condition is met.

    Args:
        protocol: Protocol of the table.
        metadata: Metadata of the table.
        schema: Parsed schema of the table.

    Source: Active Features, and the chapter of each feature.
    """
    settings = metadata.configuration
    requested = {feature for name, feature in _BY_PROPERTY.items() if is_property_true(settings, name)}
    requested |= set(_ACTIVE_WHEN_SUPPORTED)
    requested |= {"checkConstraints" for name in settings if name.startswith(CONSTRAINT_PREFIX)}
    if settings.get(COLUMN_MAPPING_MODE) in ("id", "name"):
        requested.add("columnMapping")
    for _, field in iter_fields(schema):
        requested |= {feature for key, feature in _FIELD_KEYS.items() if key in field.metadata}
        # [Changed in r3] called columnInvariants before (E21)
        requested |= {"columnInvariants"} if "invariants" in requested else set()
        requested |= {"identityColumns" for key in field.metadata if key.startswith(IDENTITY_PREFIX)}
    for leaf in iter_leaf_types(schema):
        feature = PRIMITIVES.get(leaf.name) if isinstance(leaf, Primitive) else None
        if feature:
            # [Changed in r3] spelled timestampNTZ before
            requested |= {feature, "timestampNTZ"} if feature == "timestampNtz" else {feature}
    return requested & get_supported_features(protocol)
