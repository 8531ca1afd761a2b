"""Clustering that changes, in-commit timestamps that come and go, checkpoints that are protected."""

from __future__ import annotations

from hypothesis import strategies as st

from deltaspec_generators.log_draft import LogDraft, change, operation
from deltaspec_generators.log_state import Body
from deltaspec_generators.operations_table import enablement
from deltaspec_generators.outlines import clusterings

TIMESTAMPS = "delta.enableInCommitTimestamps"
PROTECTED = "delta.requireCheckpointProtectionBeforeVersion"


def _may_cluster(draft: LogDraft) -> bool:
    unsettled = draft.kinds & {"domainMetadata", "add"}
    return "clustering" in draft.features and not unsettled and not draft.metadata["partitionColumns"]


@operation(_may_cluster)
def cluster(draft: LogDraft, timestamp: int) -> None:
    """The table is clustered by other columns, or by none."""
    body = draft.state.domains.get("delta.clustering")
    if draft.clustering and body is not None and draft.draw(st.booleans()):
        draft.clustering = ()
        draft.actions.append({"domainMetadata": {**body, "removed": True}})
        return
    draft.clustering, body = draft.draw(clusterings(draft.columns, draft.revision))
    draft.actions.append({"domainMetadata": body})


@change(lambda draft: "inCommitTimestamp" in draft.features and not draft.on(TIMESTAMPS), weight=2)
def begin_timestamps(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """In-commit timestamps are enabled, and the metadata says since when."""
    metadata["configuration"] |= enablement(draft, timestamp)


@change(lambda draft: draft.on(TIMESTAMPS) and "catalogManaged" not in draft.features)
def end_timestamps(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """Commits have no timestamps of their own any more; what recorded their beginning may stay."""
    configuration = metadata["configuration"]
    configuration[TIMESTAMPS] = "false"
    if draft.draw(st.booleans()):
        for name in ("Version", "Timestamp"):
            configuration.pop(f"delta.inCommitTimestampEnablement{name}", None)


@change(lambda draft: "checkpointProtection" in draft.features, weight=2)
def protect(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """What is before the commit at hand is cleaned up as a whole or not at all."""
    metadata["configuration"][PROTECTED] = str(draft.version)
