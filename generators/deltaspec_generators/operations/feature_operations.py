"""Operations of logs on properties and features: enablement, upgrades, clustering, checkpoint protection."""

from deltaspec.protocol.property_names import CHECKPOINT_PROTECTION
from deltaspec_generators.operations.registry import SEEDS_KEEP_TABLES, can_change_metadata, operation
from deltaspec_generators.operations.table_operations import can_set_domain
from deltaspec_generators.tables import features
from deltaspec_generators.tables.features import CLUSTERING, IN_COMMIT_TIMESTAMPS
from deltaspec_generators.tables.log_builder import LogBuilder
from deltaspec_generators.tables.log_specs import draw_clustering

_NOT_TOGGLED = (*features.ROW_ID_FEATURES, "inCommitTimestamp", "changeDataFeed")
"""Features that need more than their property to be enabled, or that another operation enables."""


@operation(can_change_metadata, log_only=SEEDS_KEEP_TABLES)
def set_property(builder: LogBuilder) -> None:
    """Set a user property."""
    builder.write_properties({"owner": builder.choices.pick(("someone", "nobody"))})


def _list_toggles(builder: LogBuilder) -> list[str]:
    """List boolean properties that may change at any time."""
    version = builder.iceberg_version
    barred = {*_NOT_TOGGLED, *(("deletionVectors",) if version else ())}
    found = [
        name
        for feature, name in features.ENABLING_PROPERTIES.items()
        if feature not in barred and builder.has_feature(feature)
    ]
    return found + ([f"delta.enableIcebergCompatV{version}"] if version else [])


@operation(
    lambda builder: can_change_metadata(builder) and bool(_list_toggles(builder)), log_only=SEEDS_KEEP_TABLES, weight=8
)
def toggle_feature(builder: LogBuilder) -> None:
    """Enable or disable a feature; Iceberg compatibility can only be disabled."""
    builder.toggle(builder.choices.pick(_list_toggles(builder)))


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
    allowed = {*builder.options.features}
    if not builder.features <= allowed:
        return []
    known = features.list_allowed(builder.revision, _UPGRADES)
    barred = {"deletionVectors"} if builder.iceberg_version or "icebergCompatV1" in builder.features else set()
    barred |= {"allowColumnDefaults"} if builder.iceberg_version == 3 else set()  # V3 requires literals
    return [name for name in _UPGRADES if name in known and name in allowed - builder.features - barred]


@operation(
    lambda builder: can_change_metadata(builder) and not builder.actions and bool(_list_upgrades(builder)),
    log_only="tables with data enable a feature when they support it",
    weight=4,
)
def upgrade(builder: LogBuilder) -> None:
    """Upgrade to a protocol with all current features and some new ones."""
    new = builder.choices.sample(_list_upgrades(builder), 1, 3)
    needed = {features.REQUIRED_FEATURES[name] for name in new if name in features.REQUIRED_FEATURES}
    builder.support_features({*new, *needed})
    changes = features.build_properties("deletionVectors") if "deletionVectors" in new else {}
    if "inCommitTimestamp" in new:
        changes |= builder.build_enablement(builder.next_in_commit_timestamp_ms)
    builder.write_properties(changes)


def _can_cluster(builder: LogBuilder) -> bool:
    return (
        "clustering" in builder.features
        and can_set_domain(builder)
        and "add" not in builder.action_kinds
        and not builder.partition_columns
    )


@operation(_can_cluster, log_only=SEEDS_KEEP_TABLES, weight=5)
def change_clustering(builder: LogBuilder) -> None:
    """Change or drop the clustering columns."""
    body = builder.state.domains.get(CLUSTERING)
    if builder.clustering and body is not None and builder.choices.chance(1, 2):
        builder.clustering = ()
        builder.actions.append({"domainMetadata": {**body, "removed": True}})
    else:
        builder.actions.append(draw_clustering(builder))


@operation(
    lambda builder: (
        can_change_metadata(builder)
        and "inCommitTimestamp" in builder.features
        and not builder.is_enabled(IN_COMMIT_TIMESTAMPS)
    ),
    log_only="tables with data enable a feature when they support it",
    weight=4,
)
def enable_timestamps(builder: LogBuilder) -> None:
    """Enable in-commit timestamps and record the enablement."""
    builder.write_properties(builder.build_enablement(builder.next_in_commit_timestamp_ms))


@operation(
    lambda builder: (
        can_change_metadata(builder)
        and builder.is_enabled(IN_COMMIT_TIMESTAMPS)
        and "catalogManaged" not in builder.features
    ),
    log_only=SEEDS_KEEP_TABLES,
    weight=4,
)
def disable_timestamps(builder: LogBuilder) -> None:
    """Disable in-commit timestamps; the enablement properties may stay."""
    changes: dict[str, str | None] = {IN_COMMIT_TIMESTAMPS: "false"}
    if builder.choices.chance(1, 2):
        changes |= {f"delta.inCommitTimestampEnablement{name}": None for name in ("Version", "Timestamp")}
    builder.write_properties(changes)


@operation(
    lambda builder: can_change_metadata(builder) and "checkpointProtection" in builder.features,
    log_only="the feature is a proposal, which readers need not know",
    weight=4,
)
def protect_checkpoints(builder: LogBuilder) -> None:
    """Require that versions before the current one are cleaned up completely or not at all."""
    builder.write_properties({CHECKPOINT_PROTECTION: str(builder.version)})
