"""Table features that drawn tables use: properties, required features, and differences between protocol revisions."""

import json
from collections.abc import Collection
from typing import Any

from deltaspec.protocol import property_names
from deltaspec.protocol.features import table_features
from deltaspec.protocol.property_names import (
    APPEND_ONLY,
    CHANGE_DATA_FEED,
    R1_ROW_ID_COLUMN,
    R1_ROW_IDS,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    TYPE_WIDENING,
    VARIANT_SHREDDING,
)
from deltaspec.protocol.revisions import Revision
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.data_files.stored_files import ROW_ID, ROW_VERSION
from deltaspec_generators.table_state import Body

WRITER_FEATURES = (
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "identityColumns",
    "domainMetadata",
    "rowTracking",
    "inCommitTimestamp",
    "allowColumnDefaults",
    "clustering",
    "icebergCompatV1",
    "icebergCompatV2",
)
READER_WRITER_FEATURES = (
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "variantType",
    "variantShredding",
    "catalogManaged",
)
FEATURES = WRITER_FEATURES + READER_WRITER_FEATURES
"""Features that a log of the current protocol may support."""
EARLIER_FEATURES = ("rowIds", "timestampNTZ", "columnInvariants")
"""Feature names that only revisions before r3 define."""
PREVIEWED = ("variantType", "variantShredding", "typeWidening")
"""Features with a `-preview` name in older tables."""
PREVIEWS = tuple(f"{name}-preview" for name in PREVIEWED)
PROPOSED = ("checkpointProtection", "materializePartitionColumns", "icebergCompatV3", *PREVIEWS)
"""Features of current tables that the protocol does not define: proposals and preview names."""
READERS = (*READER_WRITER_FEATURES, "timestampNTZ", *PREVIEWS)
"""All reader-writer features."""
WRITERS = (*WRITER_FEATURES, "rowIds", "columnInvariants", *(name for name in PROPOSED if name not in READERS))
"""All other features."""

COMMON_FEATURES = (
    "columnMapping",
    "deletionVectors",
    "typeWidening",
    "timestampNtz",
    "variantType",
    "rowTracking",
    "changeDataFeed",
)
DATA_FEATURES = (
    *COMMON_FEATURES,
    "v2Checkpoint",
    "variantShredding",
    "domainMetadata",
    "clustering",
    "inCommitTimestamp",
)
"""Features that tables with data may support, in the order of protocol actions."""
FEATURE_OF_TYPE = {"timestamp_ntz": "timestampNtz", "variant": "variantType"}
"""Feature that a primitive type requires."""
ROW_ID_FEATURES = ("rowIds", "rowTracking")
NTZ_FEATURES = ("timestampNTZ", "timestampNtz")
REQUIRED_FEATURES = {
    "rowTracking": "domainMetadata",
    "clustering": "domainMetadata",
    "icebergCompatV1": "columnMapping",
    "icebergCompatV2": "columnMapping",
    "icebergCompatV3": "columnMapping",
    "variantShredding": "variantType",
    "variantShredding-preview": "variantType-preview",
    "catalogManaged": "inCommitTimestamp",
}
"""Required feature by feature."""
ENABLING_PROPERTIES = {
    "appendOnly": APPEND_ONLY,
    "changeDataFeed": CHANGE_DATA_FEED,
    "deletionVectors": property_names.DELETION_VECTORS,
    "rowTracking": property_names.ROW_TRACKING,
    "rowIds": R1_ROW_IDS,
    "inCommitTimestamp": property_names.IN_COMMIT_TIMESTAMPS,
    "typeWidening": TYPE_WIDENING,
    "variantShredding": VARIANT_SHREDDING,
}
"""Boolean property that enables a feature."""
CHANGE_FEED = ENABLING_PROPERTIES["changeDataFeed"]
DELETION_VECTORS = ENABLING_PROPERTIES["deletionVectors"]
IN_COMMIT_TIMESTAMPS = ENABLING_PROPERTIES["inCommitTimestamp"]
ROW_ID_COLUMNS = {
    "rowTracking": {
        ROW_ID_COLUMN: ROW_ID,
        ROW_COMMIT_VERSION_COLUMN: ROW_VERSION,
    },
    "rowIds": {R1_ROW_ID_COLUMN: ROW_ID},
}
"""Further properties that an enabled feature requires."""
ROW_TRACKING, CLUSTERING = "delta.rowTracking", "delta.clustering"
"""Domains of these features."""


def build_properties(feature: str) -> dict[str, str]:
    """Build the properties that enable a feature; empty if it has none."""
    name = ENABLING_PROPERTIES.get(feature)
    return {name: "true", **ROW_ID_COLUMNS.get(feature, {})} if name else {}


def build_protocol(features: Collection[str], *, reader: int) -> Body:
    """Build a protocol with lists of features, in the order of `DATA_FEATURES`, others after them.

    Args:
        features: names of table features; the features that they require are added.
        reader: minimum reader version, which is 3 if a feature requires it.
    """
    supported = {*features, *(REQUIRED_FEATURES[name] for name in features if name in REQUIRED_FEATURES)}
    ordered = [name for name in DATA_FEATURES if name in supported]
    writers = [*ordered, *sorted(supported - {*ordered})]
    readers = [name for name in writers if name in READERS]
    if not readers and reader < 3:
        return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writers}
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": readers, "writerFeatures": writers}


def filter_known(revision: Revision, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names and earlier features that a revision defines, in this order."""
    defined = table_features.get_known_features(revision)
    return tuple(name for name in (*names, *EARLIER_FEATURES) if name in defined)


def list_allowed(revision: Revision, names: tuple[str, ...] = FEATURES) -> tuple[str, ...]:
    """List the features that logs of a revision may use by default."""
    return filter_known(revision, names) + (PROPOSED if revision is Revision.CURRENT else ())


def has_feature(features: Collection[str], name: str) -> bool:
    """Return whether a feature is supported, possibly under its preview name."""
    return name in features or f"{name}-preview" in features


def build_domain(revision: Revision, name: str, configuration: dict[str, Any], *, removed: bool = False) -> Body:
    """Build the body of a `domainMetadata` action; the configuration is a map in r1 and r2, JSON text since r3."""
    value: Any = encode_json(configuration)
    if not revision.since(Revision.R3):
        value = {key: each if isinstance(each, str) else json.dumps(each) for key, each in configuration.items()}
    return {"domain": name, "configuration": value, "removed": removed}


def build_row_id_mark(revision: Revision, mark: int, key: str = "rowIdHighWaterMark", preserved: bool = True) -> Body:
    """Build the action with the largest row id: `rowIdHighWaterMark` before r3, then a domain.

    Args:
        revision: protocol revision.
        mark: largest assigned row id.
        key: key of the domain configuration; r3 prints `highWaterMark`, engines wrote the other key even then (E27).
        preserved: whether copied rows kept their ids, which r1 stores with the mark.
    """
    match revision:
        case Revision.R1:
            return {"rowIdHighWaterMark": {"highWaterMark": mark, "preservedRowIds": preserved}}
        case Revision.R2:
            return {"rowIdHighWaterMark": {"highWaterMark": mark}}
    return {"domainMetadata": build_domain(revision, ROW_TRACKING, {key: mark})}
