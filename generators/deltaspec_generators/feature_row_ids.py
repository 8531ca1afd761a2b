"""Row ids in their three designs: the mark, enabling them on a table that is there, suspending them.

The action `rowIdHighWaterMark` (r1, r2) or the domain `delta.rowTracking` (since r3) keeps the mark.
"""

from __future__ import annotations

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators import files, outlines, revisions
from deltaspec_generators.log_draft import LogDraft, change, operation
from deltaspec_generators.log_state import Body

SUSPENDED = "delta.rowTrackingSuspended"


def _feature(draft: LogDraft) -> str | None:
    """The name that row ids have in this table; None where it has none."""
    return next((name for name in revisions.ROW_ID_FEATURES if name in draft.features), None)


def _enabled(draft: LogDraft) -> bool:
    return any(draft.on(outlines.PROPERTIES[name]) for name in revisions.ROW_ID_FEATURES)


def _without_ids(draft: LogDraft) -> list[Body]:
    return [add for add in draft.untouched() if "baseRowId" not in add]


@operation(lambda draft: draft.tracks_rows and bool(_without_ids(draft)), weight=2)
def backfill(draft: LogDraft, timestamp: int) -> None:
    """Files of before row ids get some."""
    for found in _without_ids(draft):
        add = {**found, "dataChange": False}
        if "stats" not in add:
            add["stats"] = files.statistics(draft, draft.draw(st.integers(1, 9)))
        files.give_row_ids(draft, add, files.row_count(add))
        draft.touched.add(add["path"])
        draft.actions.append({"add": add})


def _may_enable(draft: LogDraft) -> bool:
    live = draft.state.live.values()
    return draft.tracks_rows and not _enabled(draft) and all("baseRowId" in add for add in live)


@change(_may_enable, weight=3)
def enable(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """Every file has row ids by now, so they may be relied upon."""
    feature = _feature(draft)
    assert feature is not None
    metadata["configuration"] |= {outlines.PROPERTIES[feature]: "true"} | outlines.ROW_ID_COLUMNS[feature]


@change(_enabled)
def disable(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """Row ids may no longer be relied upon; files get some all the same."""
    for name in revisions.ROW_ID_FEATURES:
        if draft.on(outlines.PROPERTIES[name]):
            metadata["configuration"][outlines.PROPERTIES[name]] = "false"


def _may_suspend(draft: LogDraft) -> bool:
    return draft.revision is Revision.CURRENT and "rowTracking" in draft.features and not _enabled(draft)


@change(_may_suspend, weight=4)
def suspend(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """Files get no row ids for a while, or get some again."""
    metadata["configuration"][SUSPENDED] = "false" if draft.suspended else "true"


def record_mark(draft: LogDraft) -> None:
    """The row-id high-water mark, where it rose; by r1 in every commit that adds a file."""
    adds = draft.revision is Revision.R1 and "add" in draft.kinds
    rises = draft.high_water_mark > draft.state.row_id_mark
    if draft.tracks_rows and (rises or adds):
        keys = ("rowIdHighWaterMark", "highWaterMark") if draft.revision is Revision.R3 else ("rowIdHighWaterMark",)
        key = draft.draw(st.sampled_from(keys))
        draft.actions.append(revisions.row_id_mark(draft.revision, draft.high_water_mark, key, kept(draft)))


def kept(draft: LogDraft) -> bool:
    """Whether the commit says that rows it copied kept their ids; where it copied none they did."""
    return not draft.copies or bool(draft.draw(st.booleans()))
