"""Words of the protocol, which redaction keeps."""

import re
from collections.abc import Iterator
from functools import cache

from msgspec.structs import fields

from deltaspec.protocol.actions import WireStruct
from deltaspec.protocol.features.table_features import FEATURES
from deltaspec.protocol.features.table_properties import BOOLEANS, INTEGERS
from deltaspec.protocol.log import last_checkpoint, version_checksum
from deltaspec.protocol.property_names import (
    CHECKPOINT_INTERVAL,
    CHECKPOINT_POLICY,
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FILE_RETENTION,
    GENERATION_EXPRESSION,
    IDENTITY_EXPLICIT_INSERT,
    IDENTITY_HIGH_WATER_MARK,
    IDENTITY_START,
    IDENTITY_STEP,
    INVARIANTS,
    LOG_RETENTION,
    NESTED_IDS,
    PARQUET_CODEC,
    PARQUET_FORMAT_VERSION,
    PHYSICAL_NAME,
    TRANSACTION_RETENTION,
    TYPE_CHANGES,
)
from deltaspec.protocol.schema.data_types import PRIMITIVES

_PARAMETERS = re.compile(r"decimal\(\d+, ?-?\d+\)|(var)?char\(\d+\)")
_SCHEMA = "struct array map type fields name nullable metadata elementType containsNull keyType valueType element key"
_COLUMN_METADATA = (
    COLUMN_ID,
    PHYSICAL_NAME,
    NESTED_IDS,
    GENERATION_EXPRESSION,
    INVARIANTS,
    IDENTITY_START,
    IDENTITY_STEP,
    IDENTITY_HIGH_WATER_MARK,
    IDENTITY_EXPLICIT_INSERT,
    TYPE_CHANGES,
    "CURRENT_DEFAULT",
    "EXISTS_DEFAULT",
    "__CHAR_VARCHAR_TYPE_STRING",
)
_WORDS = (
    "valueContainsNull value key_value list fromType toType fieldPath tableVersion expression parquet json true false "
    "null supported enabled none id u p i txn add remove cdc metaData protocol commitInfo domainMetadata sidecar "
    "checkpointMetadata rowIdHighWaterMark numRecords tightBounds minValues maxValues nullCount stats_parsed "
    "partitionValues_parsed clusteringColumns domainName minReaderVersion minWriterVersion part parts checkpointSchema "
    "checksum sidecarFiles nonFileActions v2Checkpoint delta.clustering delta.rowTracking metadata "
    "_change_type _commit_version _commit_timestamp insert delete update_preimage update_postimage"
)
_PROPERTIES = frozenset(
    {
        *BOOLEANS,
        *INTEGERS,
        FILE_RETENTION,
        LOG_RETENTION,
        TRANSACTION_RETENTION,
        PARQUET_CODEC,
        PARQUET_FORMAT_VERSION,
        COLUMN_MAPPING_MODE,
        CHECKPOINT_INTERVAL,
        CHECKPOINT_POLICY,
        "delta.dataSkippingNumIndexedCols",
        "delta.isolationLevel",
        "delta.minReaderVersion",
        "delta.minWriterVersion",
        "delta.enableExpiredLogCleanup",
        "delta.randomizeFilePrefixes",
        "delta.targetFileSize",
    }
)


@cache
def _load_words() -> frozenset[str]:
    assert last_checkpoint, version_checksum  # their structures are among the subclasses
    names = {field.encode_name for kind in _iter_subclasses(WireStruct) for field in fields(kind)}
    return frozenset(
        {*names, *FEATURES, *PRIMITIVES, *_SCHEMA.split(), *_WORDS.split(), *_COLUMN_METADATA, *_PROPERTIES}
    )


def _iter_subclasses(kind: type) -> Iterator[type]:
    subclass: type
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _iter_subclasses(subclass)


def is_protocol_word(text: str) -> bool:
    """Return whether the protocol itself uses a string: a field, type, feature, property or defined value."""
    return text in _load_words() or _PARAMETERS.fullmatch(text) is not None


def is_property(name: str) -> bool:
    """Return whether a table property is one of Delta, whose value says nothing about the data."""
    return name in _PROPERTIES or name.startswith("delta.feature.")
