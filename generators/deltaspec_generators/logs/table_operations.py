"""Operations on the table: transactions, domains, description, properties, columns and protocol."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.logs import revision_features, table_specs
from deltaspec_generators.logs.builder import CHANGES, LogBuilder, change, is_applicable, operation
from deltaspec_generators.logs.columns import Column
from deltaspec_generators.names import build_physical_name
from deltaspec_generators.table_state import Body

_NOT_TOGGLED = (*revision_features.ROW_ID_FEATURES, "inCommitTimestamp")
"""Features that need more than their property to be enabled."""


@operation(lambda builder: "txn" not in builder.action_kinds)
def transaction(builder: LogBuilder, timestamp: int) -> None:
    """Record the version of an application."""
    body: Body = {"appId": builder.draw(st.sampled_from(("app", "büro/1"))), "version": builder.draw(st.integers(0, 3))}
    if builder.draw(st.booleans()):
        body["lastUpdated"] = timestamp
    builder.actions.append({"txn": body})


@operation(lambda builder: "domainMetadata" not in builder.action_kinds and "domainMetadata" in builder.features)
def domain(builder: LogBuilder, timestamp: int) -> None:
    """Set or remove a user domain."""
    user = [body for name, body in builder.state.domains.items() if not name.startswith("delta.")]
    if bool(user) and builder.draw(st.booleans()):
        builder.actions.append({"domainMetadata": {**builder.draw(st.sampled_from(user)), "removed": True}})
        return
    name = builder.draw(st.sampled_from(("app.settings", "app.é")))
    body = revision_features.build_domain(builder.revision, name, builder.draw(st.sampled_from(({}, {"a": "b"}))))
    if builder.revision.since(Revision.R3) and builder.draw(st.booleans()):
        body["configuration"] = ""  # the configuration may be any string
    builder.actions.append({"domainMetadata": body})


def _can_change_metadata(builder: LogBuilder) -> bool:
    """Return whether protocol and metadata may still change in this commit; file actions depend on them."""
    return builder.version > 0 and not builder.action_kinds & {"metaData", "protocol", "add", "remove"}


@operation(_can_change_metadata, weight=5)
def change_metadata(builder: LogBuilder, timestamp: int) -> None:
    """Change the metadata in one respect."""
    metadata: Body = {**builder.metadata, "configuration": dict(builder.metadata["configuration"])}
    chosen = builder.draw(st.sampled_from(CHANGES).filter(lambda each: is_applicable(each, builder)))
    chosen(builder, metadata, timestamp)
    builder.metadata = metadata
    builder.actions.append({"metaData": metadata})


@change(lambda builder: True)
def describe(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Change the description."""
    metadata["description"] = builder.draw(st.sampled_from(("", "a table")))


@change(lambda builder: True)
def set_property(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Set a user property."""
    metadata["configuration"]["owner"] = builder.draw(st.sampled_from(("someone", "nobody")))


def _list_toggles(builder: LogBuilder) -> list[str]:
    """List boolean properties that may change at any time."""
    found = [name for feature, name in table_specs.PROPERTIES.items() if _can_toggle(builder, feature)]
    return found + [f"delta.enableIcebergCompatV{builder.iceberg_version}"] * bool(builder.iceberg_version)


def _can_toggle(builder: LogBuilder, feature: str) -> bool:
    barred = feature == "deletionVectors" and builder.iceberg_version
    return builder.has_feature(feature) and feature not in _NOT_TOGGLED and not barred


@change(lambda builder: bool(_list_toggles(builder)))
def toggle(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Enable or disable a feature; Iceberg compatibility can only be disabled."""
    name = builder.draw(st.sampled_from(_list_toggles(builder)))
    metadata["configuration"][name] = "false" if builder.is_enabled(name) else "true"


@change(lambda builder: True)
def add_column(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Add a column, which older files do not have."""
    name = f"added{builder.next_number()}"
    column = Column(name, "string", name, added=True)
    if builder.columns[0].id is not None:
        configuration = metadata["configuration"]
        highest = int(configuration["delta.columnMapping.maxColumnId"]) + 1
        column = replace(column, id=highest, physical=build_physical_name(highest))
        configuration["delta.columnMapping.maxColumnId"] = str(highest)
    builder.set_columns((*builder.columns, column), metadata)


_UPGRADES = (
    "v2Checkpoint",
    "deletionVectors",
    "domainMetadata",
    "inCommitTimestamp",
    "vacuumProtocolCheck",
    "rowTracking",
    "rowIds",
    "checkConstraints",
    "allowColumnDefaults",
    "typeWidening",
    "changeDataFeed",
    "checkpointProtection",
    "materializePartitionColumns",
)
"""Features that do not constrain existing files and columns."""


def _list_upgrades(builder: LogBuilder) -> list[str]:
    """List the features that an upgrade can add; a legacy protocol also needs all features it implies to be allowed."""
    if not builder.features <= builder.allowed:
        return []
    known = revision_features.list_allowed(builder.revision, _UPGRADES)
    new = [name for name in _UPGRADES if name in known and name in builder.allowed - builder.features]
    barred = {"deletionVectors"} if builder.iceberg_version or "icebergCompatV1" in builder.features else set()
    barred |= {"allowColumnDefaults"} if builder.iceberg_version == 3 else set()  # V3 requires literals
    return [name for name in new if name not in barred]


@operation(lambda builder: _can_change_metadata(builder) and not builder.actions and bool(_list_upgrades(builder)))
def upgrade(builder: LogBuilder, timestamp: int) -> None:
    """Upgrade to protocol (3, 7) with all current features and some new ones."""
    new = builder.draw(st.lists(st.sampled_from(_list_upgrades(builder)), min_size=1, max_size=3, unique=True))
    new += [
        table_specs.REQUIRED_FEATURES[name]
        for name in new
        if table_specs.REQUIRED_FEATURES.get(name, name) not in (*new, *builder.features)
    ]
    writers = sorted(builder.features | set(new))
    readers = [name for name in writers if name in table_specs.READERS]
    builder.protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": readers,
        "writerFeatures": writers,
    }
    configuration = dict(builder.metadata["configuration"])
    if "deletionVectors" in new:
        configuration["delta.enableDeletionVectors"] = "true"
    if "inCommitTimestamp" in new:
        configuration |= build_enablement_properties(builder, timestamp)
    builder.metadata = {**builder.metadata, "configuration": configuration}
    builder.actions += [{"protocol": builder.protocol}, {"metaData": builder.metadata}]


def build_enablement_properties(builder: LogBuilder, timestamp: int) -> dict[str, str]:
    """Build the properties that enable in-commit timestamps at the current commit and record it."""
    return {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": str(builder.version),
        "delta.inCommitTimestampEnablementTimestamp": str(builder.next_in_commit_timestamp(timestamp)),
    }
