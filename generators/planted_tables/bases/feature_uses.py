"""Tables without files that use one feature, and protocols that do not support it."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from deltaspec.protocol.property_names import (
    CHANGE_DATA_FEED,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    ICEBERG_COMPAT_V2,
    IN_COMMIT_TIMESTAMPS,
    MAX_COLUMN_ID,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    VARIANT_SHREDDING,
)
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    domain_action,
    metadata_action,
    protocol_action,
)

READER_FEATURES = ("columnMapping", "deletionVectors", "timestampNtz", "variantType", "variantShredding")
_ALL = ("r1", "r2", "r3", "current")
_R3 = _ALL[2:]
_CURRENT = _ALL[3:]


class FeatureUse(msgspec.Struct, frozen=True):
    """State of a table that needs a feature."""

    feature: str
    revisions: tuple[str, ...] = _ALL
    """Revisions that define the feature."""
    others: tuple[str, ...] = ()
    """Other features that the state or the feature needs."""
    fields: Sequence[Any] = (("id", "long"),)
    partition_columns: tuple[str, ...] = ()
    configuration: dict[str, str] = msgspec.field(default_factory=dict)
    domain: tuple[str, str] | None = None
    """Name and configuration of a metadata domain."""
    rule: str = ""
    """Rule that finds the use in a table that never supported the feature."""

    def build_protocol(self, *, supported: bool) -> dict[str, Any]:
        """Build a protocol that supports everything that the state needs, or everything except the feature."""
        features = ["appendOnly", *self.others, *([self.feature] if supported else [])]
        return protocol_action(3, 7, [name for name in features if name in READER_FEATURES], features)

    def build_state(self) -> list[dict[str, Any]]:
        """Build the metadata and the domain that use the feature."""
        metadata = metadata_action(self.fields, self.partition_columns, self.configuration)
        return [metadata, *([] if self.domain is None else [domain_action(*self.domain)])]

    def build_unused_state(self) -> list[dict[str, Any]]:
        """Build the metadata and the domain after the use of the feature was removed."""
        metadata = metadata_action([("id", "long")])
        return [metadata, *([] if self.domain is None else [domain_action(*self.domain, removed=True)])]

    def build_table(self, protocol: dict[str, Any] | None = None) -> TableFiles:
        """Build a sound table of one commit that uses the feature; `protocol` replaces one with feature lists."""
        files = TableFiles()
        append_commit(files, protocol or self.build_protocol(supported=True), *self.build_state())
        return files


def append_commit(files: TableFiles, *actions: dict[str, Any]) -> None:
    """Append a commit with an in-commit timestamp."""
    version = len(files.commits)
    info = commit_info_action(version, inCommitTimestamp=1_700_000_000_000 + version)
    files.commits[version] = [info, *actions]


def _with_metadata(**metadata: Any) -> list[dict[str, Any]]:
    """Build a long column with this metadata; `__` is replaced by a dot."""
    named = {name.replace("__", "."): value for name, value in metadata.items()}
    return [{"name": "id", "type": "long", "nullable": True, "metadata": named}]


_MAPPED = _with_metadata(delta__columnMapping__id=1, delta__columnMapping__physicalName="col-1")
_MAPPING = {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "1"}
_NESTED = {
    "type": "map",
    "keyType": "string",
    "valueType": {"type": "array", "elementType": "timestamp_ntz", "containsNull": True},
    "valueContainsNull": True,
}
_VARIANTS = {"type": "array", "elementType": "variant", "containsNull": True}
_TRACKED = {
    ROW_TRACKING: "true",
    ROW_ID_COLUMN: "_row-id",
    ROW_COMMIT_VERSION_COLUMN: "_row-version",
}

FEATURE_USES: dict[str, FeatureUse] = {
    "timestamp": FeatureUse("timestampNtz", fields=[("at", "timestamp_ntz")], rule="SCH001"),
    "nested timestamp": FeatureUse("timestampNtz", fields=[("m", _NESTED)], rule="SCH001"),
    "partition by timestamp": FeatureUse(
        "timestampNtz", fields=[("id", "long"), ("at", "timestamp_ntz")], partition_columns=("at",), rule="SCH001"
    ),
    "constraint": FeatureUse("checkConstraints", configuration={"delta.constraints.c": "id > 0"}, rule="CFG004"),
    "change data": FeatureUse("changeDataFeed", configuration={CHANGE_DATA_FEED: "true"}, rule="CFG002"),
    "vectors": FeatureUse("deletionVectors", configuration={DELETION_VECTORS: "true"}, rule="CFG002"),
    "mapping": FeatureUse("columnMapping", fields=_MAPPED, configuration=_MAPPING, rule="CMP022"),
    "generated column": FeatureUse(
        "generatedColumns", fields=_with_metadata(delta__generationExpression="1"), rule="CON001"
    ),
    "identity column": FeatureUse(
        "identityColumns", fields=_with_metadata(delta__identity__start=1, delta__identity__step=1), rule="CON001"
    ),
    "invariant": FeatureUse(
        "invariants",
        fields=_with_metadata(delta__invariants=json.dumps({"expression": {"expression": "id > 3"}})),
        rule="CON001",
    ),
    "user domain": FeatureUse("domainMetadata", domain=("org.example.owner", "{}"), rule="DOM001"),
    "default": FeatureUse("allowColumnDefaults", _R3, fields=_with_metadata(CURRENT_DEFAULT="7"), rule="CON001"),
    "clustering": FeatureUse(
        "clustering",
        _R3,
        others=("domainMetadata",),
        domain=("delta.clustering", '{"clusteringColumns": [["id"]]}'),
        rule="DOM011",
    ),
    "iceberg": FeatureUse(
        "icebergCompatV2",
        _R3,
        others=("columnMapping",),
        fields=_MAPPED,
        configuration={**_MAPPING, ICEBERG_COMPAT_V2: "true"},
        rule="CFG002",
    ),
    "row tracking": FeatureUse(
        "rowTracking", _ALL[1:], others=("domainMetadata",), configuration=_TRACKED, rule="CFG004"
    ),
    "timestamps of commits": FeatureUse(
        "inCommitTimestamp", _CURRENT, configuration={IN_COMMIT_TIMESTAMPS: "true"}, rule="CFG002"
    ),
    "variant": FeatureUse("variantType", _CURRENT, fields=[("id", "long"), ("v", "variant")], rule="SCH001"),
    "nested variant": FeatureUse("variantType", _CURRENT, fields=[("id", "long"), ("v", _VARIANTS)], rule="SCH001"),
    "shredding": FeatureUse(
        "variantShredding",
        _CURRENT,
        others=("variantType",),
        configuration={VARIANT_SHREDDING: "true"},
        rule="CFG004",
    ),
}
