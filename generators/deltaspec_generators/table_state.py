"""State of a table at each version, stored as raw actions while a log is drawn.

This is bookkeeping, not a replay of the log: the reference model replays the log independently, and tests compare both.
"""

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

Body: TypeAlias = dict[str, Any]
"""Body of an action by wire name of the field."""


class WrittenState(msgspec.Struct, frozen=True):
    """State of a table at one version."""

    version: int = -1
    timestamp_ms: int = 0
    """Clock time of the commit in milliseconds since the epoch."""
    protocol: Body = msgspec.field(default_factory=dict)
    metadata: Body = msgspec.field(default_factory=dict)
    live: dict[str, Body] = msgspec.field(default_factory=dict)
    """Newest adds of live files by path."""
    tombstones: dict[tuple[str, str | None], Body] = msgspec.field(default_factory=dict)
    """Removes by path and deletion-vector id."""
    transactions: dict[str, Body] = msgspec.field(default_factory=dict)
    domains: dict[str, Body] = msgspec.field(default_factory=dict)
    """Domain metadata by name, without removed domains."""
    commit_info: Body | None = None
    row_id_action: Body | None = None
    """Body of the newest `rowIdHighWaterMark`, used before r3."""

    @property
    def row_id_mark(self) -> int:
        """Largest recorded row id; -1 if none."""
        if self.row_id_action is not None:
            return int(self.row_id_action["highWaterMark"])
        body = self.domains.get("delta.rowTracking")
        return max(json.loads(body["configuration"]).values()) if body else -1

    @property
    def configuration(self) -> dict[str, str]:
        """Table properties."""
        found: dict[str, str] = self.metadata.get("configuration", {})
        return found

    def is_enabled(self, name: str) -> bool:
        """Return whether a boolean property is true."""
        return self.configuration.get(name) == "true"

    @property
    def features(self) -> frozenset[str]:
        """Features that the protocol lists or its versions imply."""
        listed = self.protocol.get("writerFeatures")
        if listed is not None:
            return frozenset(listed)
        writer = self.protocol.get("minWriterVersion", 0)
        return frozenset(name for name, since in LEGACY.items() if since <= writer)


LEGACY = {
    "appendOnly": 2,
    "invariants": 2,
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "columnMapping": 5,
    "identityColumns": 6,
}
"""Features that legacy writer versions imply, with the first such version."""


def vector_id(body: Body) -> str | None:
    """Return the deletion-vector id of an add or remove; None without a vector."""
    vector = body.get("deletionVector")
    if vector is None:
        return None
    plain: str = vector["storageType"] + vector["pathOrInlineDv"]
    return plain if vector.get("offset") is None else f"{plain}@{vector['offset']}"


def apply_actions(state: WrittenState, actions: Iterable[Body], timestamp_ms: int) -> WrittenState:
    """Return the state after a commit of raw actions."""
    live, tombstones = dict(state.live), dict(state.tombstones)
    transactions, domains = dict(state.transactions), dict(state.domains)
    protocol, metadata, info, mark = state.protocol, state.metadata, None, state.row_id_action
    for action in sorted(actions, key=lambda each: "add" in each):
        for kind, body in action.items():
            match kind:
                case "protocol":
                    protocol = body
                case "metaData":
                    metadata = body
                case "commitInfo":
                    info = body
                case "rowIdHighWaterMark":
                    mark = body
                case "txn":
                    transactions[body["appId"]] = body
                case "domainMetadata":
                    domains.pop(body["domain"], None)
                    if not body["removed"]:
                        domains[body["domain"]] = body
                case "remove":
                    live.pop(body["path"], None)
                    tombstones[body["path"], vector_id(body)] = body
                case "add":
                    live[body["path"]] = body
                    tombstones.pop((body["path"], vector_id(body)), None)
    return replace(
        state,
        version=state.version + 1,
        timestamp_ms=timestamp_ms,
        protocol=protocol,
        metadata=metadata,
        live=live,
        tombstones=tombstones,
        transactions=transactions,
        domains=domains,
        commit_info=info,
        row_id_action=mark,
    )
