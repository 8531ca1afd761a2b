"""Draw commits: each operation adds only actions that are valid at that point.

Every path is used by at most one operation of a commit, so that no commit both adds and removes a logical file.
"""

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st

from deltaspec_generators import names
from deltaspec_generators.logs import (
    column_operations,
    feature_operations,
    file_actions,
    file_operations,
    row_id_operations,
    table_operations,
    widening_operations,
)
from deltaspec_generators.logs.builder import OPERATIONS, START_MS, LogBuilder, is_applicable
from deltaspec_generators.logs.table_specs import TableSpec
from deltaspec_generators.table_state import DAY_MS, Body, apply_actions

__all__ = ["FAMILIES", "draw_commits"]

FAMILIES = (
    file_operations,
    table_operations,
    column_operations,
    feature_operations,
    row_id_operations,
    widening_operations,
)
"""Modules that register operations."""


def draw_commits(draw: st.DrawFn, spec: TableSpec, max_commits: int, allowed: Collection[str]) -> LogBuilder:
    """Draw a log of at most `max_commits` commits that starts with the table spec and uses only allowed features.

    The number of commits is drawn first. Each commit and operation is a separate draw, so that it can shrink away.
    """
    builder = LogBuilder(draw, spec, frozenset(allowed), spec.columns, spec.clustering)
    for _ in range(draw(st.integers(1, max_commits))):
        draw(_commits(builder))
    return builder


@st.composite
def _commits(draw: st.DrawFn, builder: LogBuilder) -> None:
    """Draw one commit."""
    version = builder.version
    gap = draw(st.sampled_from((60_000, 1, 2 * DAY_MS, 9 * DAY_MS))) if version else 0
    timestamp = (builder.state.timestamp_ms or START_MS) + gap
    builder.actions, builder.touched, builder.copies_rows = [], set(), False
    if version == 0:
        _add_first_actions(builder)
    for _ in range(draw(st.integers(0, 4))):
        draw(_operations(builder, timestamp))
    _finalize_commit(builder, timestamp)
    builder.commits.append(builder.actions)
    builder.state = apply_actions(builder.state, builder.actions, timestamp)
    builder.states.append(builder.state)
    builder.schemas.append(builder.columns)


@st.composite
def _operations(draw: st.DrawFn, builder: LogBuilder, timestamp: int) -> None:
    """Draw one operation from a fixed list, so that it stays the same when another operation shrinks away."""
    draw(st.sampled_from(OPERATIONS).filter(lambda each: is_applicable(each, builder)))(builder, timestamp)


def _add_first_actions(builder: LogBuilder) -> None:
    builder.protocol, builder.metadata = builder.spec.protocol, builder.spec.metadata
    builder.actions += [{"protocol": builder.protocol}, {"metaData": builder.metadata}]
    builder.actions += [{"domainMetadata": body} for body in builder.spec.domains]


def _finalize_commit(builder: LogBuilder, timestamp: int) -> None:
    """Add change data, marks and commitInfo, and draw the order of actions."""
    draw = builder.draw
    changed = any("remove" in action and action["remove"]["dataChange"] for action in builder.actions)
    feed = "delta.enableChangeDataFeed"
    if changed and "changeDataFeed" in builder.features and builder.is_enabled(feed) and draw(st.booleans()):
        builder.actions.append({"cdc": file_actions.draw_change_file(builder)})
    column_operations.record_identity_marks(builder)
    row_id_operations.record_row_id_mark(builder)
    for action in builder.actions:
        if "remove" in action:
            path = action["remove"]["path"]
            builder.removed[path] = builder.state.live[path]
    for action in builder.actions:
        if "add" in action:
            builder.removed.pop(action["add"]["path"], None)
    if draw(st.booleans()):
        builder.actions = draw(st.permutations(builder.actions))
    timestamps = "inCommitTimestamp" in builder.features and builder.is_enabled("delta.enableInCommitTimestamps")
    if timestamps or not builder.actions or draw(st.booleans()):
        info = _build_commit_info(builder, timestamp)
        if timestamps:
            builder.in_commit_timestamp_ms = builder.next_in_commit_timestamp(timestamp)
            info = {"inCommitTimestamp": builder.in_commit_timestamp_ms, **info}
        builder.actions.insert(0 if timestamps else draw(st.integers(0, len(builder.actions))), {"commitInfo": info})


def _build_commit_info(builder: LogBuilder, timestamp: int) -> Body:
    info: dict[str, Any] = {"timestamp": timestamp, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
    if "catalogManaged" in builder.features or builder.draw(st.booleans()):
        info |= {
            "engineInfo": "drawn/1.0",
            "isBlindAppend": False,
            "txnId": names.build_uuid(builder.next_number()),
        }
    if "rowTracking" in builder.features:
        info["tags"] = {
            "delta.rowTracking.preserved": "true" if row_id_operations.has_preserved_row_ids(builder) else "false"
        }
    return info
