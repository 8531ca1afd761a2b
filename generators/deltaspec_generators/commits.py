"""Drawing commits: each operation adds actions to the commit at hand, and only such as the table allows at that point.

One path takes part in at most one operation of a commit, so that no logical file is both added and removed in it.
"""

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st

from deltaspec_generators import (  # the modules register their operations, the plainest first
    feature_columns,
    feature_commits,
    feature_row_ids,
    feature_types,
    files,
    operations_files,
    operations_table,
)
from deltaspec_generators.log_draft import DAY_MS, OPERATIONS, START_MS, LogDraft, applicable
from deltaspec_generators.log_state import Body, after
from deltaspec_generators.outlines import Outline

__all__ = ["FAMILIES", "draw_commits"]

FAMILIES = (operations_files, operations_table, feature_columns, feature_commits, feature_row_ids, feature_types)
"""Modules that register what commits do."""


def draw_commits(draw: st.DrawFn, outline: Outline, most: int, allowed: Collection[str]) -> LogDraft:
    """A log of at most so many commits that begins with the outline and stays within the allowed features.

    How many there are is drawn first, and each commit and operation is a draw of its own, so that any can shrink away.
    """
    draft = LogDraft(draw, outline, frozenset(allowed), outline.columns, outline.clustering)
    for _ in range(draw(st.integers(1, most))):
        draw(_commits(draft))
    return draft


@st.composite
def _commits(draw: st.DrawFn, draft: LogDraft) -> None:
    """One more commit."""
    version = draft.version
    gap = draw(st.sampled_from((60_000, 1, 2 * DAY_MS, 9 * DAY_MS))) if version else 0
    timestamp = (draft.state.timestamp_ms or START_MS) + gap
    draft.actions, draft.touched, draft.copies = [], set(), False
    if version == 0:
        _first(draft)
    for _ in range(draw(st.integers(0, 4))):
        draw(_operations(draft, timestamp))
    _finish(draft, timestamp)
    draft.commits.append(draft.actions)
    draft.state = after(draft.state, draft.actions, timestamp)
    draft.states.append(draft.state)
    draft.schemas.append(draft.columns)


@st.composite
def _operations(draw: st.DrawFn, draft: LogDraft, timestamp: int) -> None:
    """One operation, chosen from the same list every time, so that it stays what it is when another shrinks away."""
    draw(st.sampled_from(OPERATIONS).filter(lambda each: applicable(each, draft)))(draft, timestamp)


def _first(draft: LogDraft) -> None:
    draft.protocol, draft.metadata = draft.outline.protocol, draft.outline.metadata
    draft.actions += [{"protocol": draft.protocol}, {"metaData": draft.metadata}]
    draft.actions += [{"domainMetadata": body} for body in draft.outline.domains]


def _finish(draft: LogDraft, timestamp: int) -> None:
    """Change files, marks, provenance and the order of lines."""
    draw = draft.draw
    changed = any("remove" in action and action["remove"]["dataChange"] for action in draft.actions)
    feed = "delta.enableChangeDataFeed"
    if changed and "changeDataFeed" in draft.features and draft.on(feed) and draw(st.booleans()):
        draft.actions.append({"cdc": files.change_file(draft)})
    feature_columns.record_marks(draft)
    feature_row_ids.record_mark(draft)
    for action in draft.actions:
        if "remove" in action:
            path = action["remove"]["path"]
            draft.removed[path] = draft.state.live[path]
    for action in draft.actions:
        if "add" in action:
            draft.removed.pop(action["add"]["path"], None)
    if draw(st.booleans()):
        draft.actions = draw(st.permutations(draft.actions))
    timestamps = "inCommitTimestamp" in draft.features and draft.on("delta.enableInCommitTimestamps")
    if timestamps or not draft.actions or draw(st.booleans()):
        info = _commit_info(draft, timestamp)
        if timestamps:
            draft.in_commit_timestamp_ms = draft.next_in_commit_timestamp(timestamp)
            info = {"inCommitTimestamp": draft.in_commit_timestamp_ms, **info}
        draft.actions.insert(0 if timestamps else draw(st.integers(0, len(draft.actions))), {"commitInfo": info})


def _commit_info(draft: LogDraft, timestamp: int) -> Body:
    info: dict[str, Any] = {"timestamp": timestamp, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
    if "catalogManaged" in draft.features or draft.draw(st.booleans()):
        info |= {"engineInfo": "drawn/1.0", "isBlindAppend": False, "txnId": files.identifier(draft.next_number())}
    if "rowTracking" in draft.features:
        info["tags"] = {"delta.rowTracking.preserved": "true" if feature_row_ids.kept(draft) else "false"}
    return info
