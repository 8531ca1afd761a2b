"""Strategies for table specs: protocol, features, columns and properties of the first version."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.logs import column_features, revision_features
from deltaspec_generators.logs.columns import (
    Column,
    assign_column_ids,
    build_schema_string,
    column_lists,
    list_bounded_paths,
    list_supported_types,
)
from deltaspec_generators.logs.value_strategies import NARROW, NESTED, NEVER_PARTITIONED
from deltaspec_generators.table_files import TABLE_ID
from deltaspec_generators.table_state import Body, TableState

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
"""Features that a drawn table of the current protocol may support."""
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
LEGACY_VERSIONS = ((1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6))
PROPERTIES = {
    "appendOnly": "delta.appendOnly",
    "changeDataFeed": "delta.enableChangeDataFeed",
    "deletionVectors": "delta.enableDeletionVectors",
    "rowTracking": "delta.enableRowTracking",
    "rowIds": "delta.enableRowIds",
    "inCommitTimestamp": "delta.enableInCommitTimestamps",
    "typeWidening": "delta.enableTypeWidening",
    "variantShredding": "delta.enableVariantShredding",
}
"""Property that enables a feature."""
ROW_ID_COLUMNS = {
    "rowTracking": {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
    },
    "rowIds": {"delta.rowIds.physicalColumnName": "_row-id-col-1"},
}
"""Further properties that an enabled feature requires."""

FAMILIES: tuple[tuple[str, ...], ...] = (
    ("rowTracking", "rowIds"),
    ("rowTracking", "rowIds", "deletionVectors"),
    ("typeWidening", "timestampNtz"),
    ("typeWidening", "icebergCompatV2"),
    ("icebergCompatV1",),
    ("icebergCompatV3", "rowTracking"),
    ("inCommitTimestamp",),
    ("catalogManaged", "checkpointProtection"),
    ("clustering",),
    ("identityColumns", "generatedColumns", "invariants"),
    ("allowColumnDefaults", "checkConstraints", "variantType"),
    ("appendOnly", "changeDataFeed"),
    ("variantShredding", "timestampNTZ"),
    tuple(name for name in revision_features.PROPOSED if name.endswith("-preview")),
)
"""Feature groups that some tables focus on: with few other features, most commits use them."""

_FLAG = st.booleans()
READERS = (
    *READER_WRITER_FEATURES,
    "timestampNTZ",
    *(name for name in revision_features.PROPOSED if name.endswith("-preview")),
)
"""All reader-writer features."""
_WRITERS = (
    *WRITER_FEATURES,
    "rowIds",
    "columnInvariants",
    *(name for name in revision_features.PROPOSED if name not in READERS),
)


@dataclass(frozen=True)
class TableSpec:
    """First version of a table, with facts that later commits need."""

    protocol: Body
    metadata: Body
    columns: tuple[Column, ...]
    clustering: tuple[str, ...] = ()
    """Physical paths of the clustering columns, joined by dots."""
    domains: tuple[Body, ...] = field(default=())
    """Bodies of `domainMetadata` actions of the first version."""
    positive: bool = False
    """Whether every `id` is positive, so that constraints may require it."""
    revision: Revision = Revision.CURRENT
    """Protocol revision that the table follows."""


@st.composite
def table_specs(
    draw: st.DrawFn, *, features: Collection[str] = FEATURES, revision: Revision = Revision.CURRENT
) -> TableSpec:
    """Draw first versions of tables that follow a protocol revision and support only the given features."""
    protocol, supported = draw(
        _protocols([name for name in revision_features.list_allowed(revision, FEATURES) if name in features])
    )
    configuration = draw(_configurations(supported, protocol["minWriterVersion"], revision))
    tracks_rows = configuration.get(PROPERTIES["rowTracking"]) == "true"
    iceberg = draw(_iceberg_versions(supported, tracks_rows))
    columns, partition_count = draw(_columns(supported, iceberg))
    clustered = "clustering" in supported and draw(st.booleans())
    partition = [each.name for each in columns if each.kind not in NEVER_PARTITIONED][1 : partition_count + 1]
    partition = [] if clustered else partition[::-1]
    positive = bool({"invariants", "checkConstraints"} & supported) and draw(_FLAG)
    columns = draw(column_features.special_columns(columns, supported, positive))
    if "checkConstraints" in supported and draw(_FLAG):
        configuration["delta.constraints.first"] = draw(st.sampled_from(column_features.list_conditions(positive)))
    if iceberg:
        configuration[f"delta.enableIcebergCompatV{iceberg}"] = "true"
        configuration.pop("delta.enableDeletionVectors", None)
    if iceberg or ("columnMapping" in supported and draw(_FLAG)):
        nested = iceberg >= 2 or ("icebergCompatV2" in supported and draw(_FLAG))
        columns, highest = assign_column_ids(columns, revision, nested=nested)
        configuration["delta.columnMapping.mode"] = draw(st.sampled_from(("name", "id")))
        configuration["delta.columnMapping.maxColumnId"] = str(highest + draw(st.integers(0, 1)))
    clustering, domains = draw(clusterings(columns, revision)) if clustered else ((), None)
    metadata: Body = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": build_schema_string(columns),
        "partitionColumns": partition,
        "configuration": configuration,
    }
    metadata |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "createdTime": st.just(1_700_000_000_000),
                "name": st.sampled_from(("sales", "")),
                "description": st.just("drawn"),
            },
        )
    )
    return TableSpec(
        protocol, metadata, columns, clustering, (domains,) if domains else (), positive=positive, revision=revision
    )


@st.composite
def clusterings(draw: st.DrawFn, columns: tuple[Column, ...], revision: Revision) -> tuple[tuple[str, ...], Body]:
    """Draw clustering columns as dotted physical paths, and the body of the domain that lists them."""
    choices = [path for path in list_bounded_paths(columns) if not path[0].added]
    chosen = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=2, unique_by=lambda path: path[-1].physical))
    parts = [[each.physical for each in path] for path in chosen]
    names: list[Any] = [path[0] for path in parts]
    if any(len(path) > 1 for path in parts) or draw(st.booleans()):
        names = [*parts]
    body = revision_features.build_domain(
        revision, "delta.clustering", {"clusteringColumns": names, "domainName": "delta.clustering"}
    )
    return tuple(".".join(path) for path in parts), body


@st.composite
def _protocols(draw: st.DrawFn, features: Collection[str]) -> tuple[Body, frozenset[str]]:
    """Draw a protocol and its supported features."""
    legacy = [pair for pair in LEGACY_VERSIONS if _get_implied_features(pair) <= set(features)]
    listed = [(3, 7)] * 8 + [(1, 7)] + [(2, 7)] * ("columnMapping" in features)
    choice = draw(st.sampled_from((*listed, *legacy)))
    if choice in LEGACY_VERSIONS:
        protocol: Body = {"minReaderVersion": choice[0], "minWriterVersion": choice[1]}
        return protocol, TableState(protocol=protocol).features
    writers = [name for name in _WRITERS if name in features]
    readers = [name for name in READERS if name in features] if choice[0] == 3 else []
    family = draw(st.sampled_from((None, None, None, *FAMILIES)))
    picked = [name for name in family or () if name in readers + writers]
    others = [name for name in readers + writers if name not in picked]
    picked += draw(st.lists(st.sampled_from(others), unique=True, max_size=2 if picked else 10)) if others else []
    # These features enable most of the possible log content, so they are drawn more often.
    frequent = [] if "icebergCompatV1" in picked else ["deletionVectors"]
    picked += [name for name in (*frequent, "v2Checkpoint") if name in set(readers) - {*picked} and draw(_FLAG)]
    if choice[0] == 2:
        picked.append("columnMapping")
    if choice[0] != 3:  # features that require column mapping need a reader version that supports it
        picked = [name for name in picked if REQUIRED_FEATURES.get(name) != "columnMapping" or choice[0] == 2]
    for name, needed in REQUIRED_FEATURES.items():
        if name in picked and needed not in picked:
            picked.append(needed)
    protocol = {"minReaderVersion": choice[0], "minWriterVersion": choice[1]}
    if choice[0] == 3:
        protocol["readerFeatures"] = [name for name in picked if name in READERS]
    protocol["writerFeatures"] = picked
    return protocol, frozenset(picked)


def _get_implied_features(versions: tuple[int, int]) -> set[str]:
    return set(TableState(protocol={"minWriterVersion": versions[1]}).features)


@st.composite
def _iceberg_versions(draw: st.DrawFn, supported: Collection[str], tracks_rows: bool) -> int:
    """Draw the enabled version of Iceberg compatibility; 0 for none.

    V1 forbids support of deletion vectors. V3 requires row tracking, and defaults without operators.
    """
    choices = [1] if "icebergCompatV1" in supported and "deletionVectors" not in supported else []
    choices += [2] if "icebergCompatV2" in supported else []
    choices += [3] if "icebergCompatV3" in supported and tracks_rows and "allowColumnDefaults" not in supported else []
    return draw(st.sampled_from((*choices, *choices, 0)))


@st.composite
def _columns(draw: st.DrawFn, supported: Collection[str], iceberg: int) -> tuple[tuple[Column, ...], int]:
    """Draw columns of supported types, and the maximum number of partition columns."""
    kinds = list_supported_types(supported)
    others = [*NESTED, "void"]
    if revision_features.has_feature(supported, "typeWidening"):
        kinds += [kind for kind in NARROW if kind in kinds] * 2
        others += [kind for kind in NARROW if kind in NESTED] * 2
    if iceberg:
        kinds = [kind for kind in kinds if kind != "variant" or iceberg == 3]
        others = [kind for kind in others if kind != "void"] if iceberg >= 2 else []
    columns = draw(column_lists(kinds, others))
    return columns, draw(st.integers(0, len(columns) - 1))


@st.composite
def _configurations(
    draw: st.DrawFn, supported: Collection[str], writer_version: int, revision: Revision
) -> dict[str, str]:
    """Draw the properties of a table with these features."""
    found: dict[str, str] = {}
    for feature, name in PROPERTIES.items():
        if feature == "inCommitTimestamp" and "catalogManaged" in supported:
            found[name] = "true"
        elif revision_features.has_feature(supported, feature):
            # An append-only table allows few operations, so it is drawn less often.
            values = (
                (None, "false", None, "true") if feature == "appendOnly" else ("true", "true", "true", "false", None)
            )
            value = draw(st.sampled_from(values))
            if value is not None:
                found[name] = value
    for feature, columns in ROW_ID_COLUMNS.items():
        if feature in supported and found.get(PROPERTIES[feature]) == "true":
            found |= columns
        elif feature == "rowTracking" and feature in supported and revision is Revision.CURRENT:
            suspended = draw(st.sampled_from(("true", "false", None)))
            found |= {"delta.rowTrackingSuspended": suspended} if suspended else {}
    if "checkpointProtection" in supported and draw(_FLAG):
        found["delta.requireCheckpointProtectionBeforeVersion"] = "0"
    if writer_version >= 3 and draw(st.booleans()):
        found["delta.checkpoint.writeStatsAsStruct"] = "true"
        found["delta.checkpoint.writeStatsAsJson"] = draw(st.sampled_from(("true", "false")))
    if draw(st.booleans()):
        found["delta.deletedFileRetentionDuration"] = draw(st.sampled_from(("interval 1 week", "interval 2 hours")))
    if draw(st.booleans()):
        found["owner"] = "team é"
    return found
