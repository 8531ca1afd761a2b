"""Operations on clustering, in-commit timestamps and checkpoint protection."""

from __future__ import annotations

from hypothesis import strategies as st

from deltaspec_generators.logs.builder import LogBuilder, change, operation
from deltaspec_generators.logs.table_operations import build_enablement_properties
from deltaspec_generators.logs.table_specs import clusterings
from deltaspec_generators.table_state import Body

TIMESTAMPS = "delta.enableInCommitTimestamps"
PROTECTED = "delta.requireCheckpointProtectionBeforeVersion"


def _can_cluster(builder: LogBuilder) -> bool:
    unsettled = builder.action_kinds & {"domainMetadata", "add"}
    return "clustering" in builder.features and not unsettled and not builder.metadata["partitionColumns"]


@operation(_can_cluster)
def change_clustering(builder: LogBuilder, timestamp: int) -> None:
    """Change or drop the clustering columns."""
    body = builder.state.domains.get("delta.clustering")
    if builder.clustering and body is not None and builder.draw(st.booleans()):
        builder.clustering = ()
        builder.actions.append({"domainMetadata": {**body, "removed": True}})
        return
    builder.clustering, body = builder.draw(clusterings(builder.columns, builder.revision))
    builder.actions.append({"domainMetadata": body})


@change(lambda builder: "inCommitTimestamp" in builder.features and not builder.is_enabled(TIMESTAMPS), weight=2)
def enable_timestamps(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Enable in-commit timestamps and record the enablement."""
    metadata["configuration"] |= build_enablement_properties(builder, timestamp)


@change(lambda builder: builder.is_enabled(TIMESTAMPS) and "catalogManaged" not in builder.features)
def disable_timestamps(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Disable in-commit timestamps; the enablement properties may stay."""
    configuration = metadata["configuration"]
    configuration[TIMESTAMPS] = "false"
    if builder.draw(st.booleans()):
        for name in ("Version", "Timestamp"):
            configuration.pop(f"delta.inCommitTimestampEnablement{name}", None)


@change(lambda builder: "checkpointProtection" in builder.features, weight=2)
def protect_checkpoints(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Require that versions before the current one are cleaned up completely or not at all."""
    metadata["configuration"][PROTECTED] = str(builder.version)
