"""Row ids in their three designs: the mark, enabling them on a table that is there, suspending them.

The action `rowIdHighWaterMark` (r1, r2) or the domain `delta.rowTracking` (since r3) keeps the mark.
"""

from __future__ import annotations

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.logs import file_actions, revision_features, table_specs
from deltaspec_generators.logs.builder import LogBuilder, change, operation
from deltaspec_generators.logs.state import Body

SUSPENDED = "delta.rowTrackingSuspended"


def _get_row_id_feature(builder: LogBuilder) -> str | None:
    """The name that row ids have in this table; None where it has none."""
    return next((name for name in revision_features.ROW_ID_FEATURES if name in builder.features), None)


def _is_enabled(builder: LogBuilder) -> bool:
    return any(builder.is_enabled(table_specs.PROPERTIES[name]) for name in revision_features.ROW_ID_FEATURES)


def _list_files_without_ids(builder: LogBuilder) -> list[Body]:
    return [add for add in builder.untouched_files() if "baseRowId" not in add]


@operation(lambda builder: builder.tracks_rows and bool(_list_files_without_ids(builder)), weight=2)
def backfill(builder: LogBuilder, timestamp: int) -> None:
    """Files of before row ids get some."""
    for found in _list_files_without_ids(builder):
        add = {**found, "dataChange": False}
        if "stats" not in add:
            add["stats"] = file_actions.build_row_count_statistics(builder, builder.draw(st.integers(1, 9)))
        file_actions.assign_row_ids(builder, add, file_actions.read_row_count(add))
        builder.touched.add(add["path"])
        builder.actions.append({"add": add})


def _can_enable(builder: LogBuilder) -> bool:
    live = builder.state.live.values()
    return builder.tracks_rows and not _is_enabled(builder) and all("baseRowId" in add for add in live)


@change(_can_enable, weight=3)
def enable(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Every file has row ids by now, so they may be relied upon."""
    feature = _get_row_id_feature(builder)
    assert feature is not None
    metadata["configuration"] |= {table_specs.PROPERTIES[feature]: "true"} | table_specs.ROW_ID_COLUMNS[feature]


@change(_is_enabled)
def disable(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Row ids may no longer be relied upon; files get some all the same."""
    for name in revision_features.ROW_ID_FEATURES:
        if builder.is_enabled(table_specs.PROPERTIES[name]):
            metadata["configuration"][table_specs.PROPERTIES[name]] = "false"


def _can_suspend(builder: LogBuilder) -> bool:
    return builder.revision is Revision.CURRENT and "rowTracking" in builder.features and not _is_enabled(builder)


@change(_can_suspend, weight=4)
def suspend(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Files get no row ids for a while, or get some again."""
    metadata["configuration"][SUSPENDED] = "false" if builder.row_ids_suspended else "true"


def record_row_id_mark(builder: LogBuilder) -> None:
    """The row-id high-water mark, where it rose; by r1 in every commit that adds a file."""
    adds = builder.revision is Revision.R1 and "add" in builder.action_kinds
    rises = builder.high_water_mark > builder.state.row_id_mark
    if builder.tracks_rows and (rises or adds):
        keys = ("rowIdHighWaterMark", "highWaterMark") if builder.revision is Revision.R3 else ("rowIdHighWaterMark",)
        key = builder.draw(st.sampled_from(keys))
        builder.actions.append(
            revision_features.build_row_id_mark(
                builder.revision, builder.high_water_mark, key, has_preserved_row_ids(builder)
            )
        )


def has_preserved_row_ids(builder: LogBuilder) -> bool:
    """Whether the commit says that rows it copied kept their ids; where it copied none they did."""
    return not builder.copies_rows or bool(builder.draw(st.booleans()))
