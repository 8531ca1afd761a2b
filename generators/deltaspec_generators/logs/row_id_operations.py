"""Operations on row ids in the designs of r1, r2 and later: backfill, enable, disable, suspend, record the mark.

The high-water mark is stored in the action `rowIdHighWaterMark` (r1, r2) or the domain `delta.rowTracking` (since r3).
"""

from __future__ import annotations

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.logs import file_actions, revision_features, table_specs
from deltaspec_generators.logs.builder import LogBuilder, change, operation
from deltaspec_generators.table_state import Body

SUSPENDED = "delta.rowTrackingSuspended"


def _get_row_id_feature(builder: LogBuilder) -> str | None:
    """Return the row id feature of the table, `rowIds` or `rowTracking`; None without row ids."""
    return next((name for name in revision_features.ROW_ID_FEATURES if name in builder.features), None)


def _is_enabled(builder: LogBuilder) -> bool:
    return any(builder.is_enabled(table_specs.PROPERTIES[name]) for name in revision_features.ROW_ID_FEATURES)


def _list_files_without_ids(builder: LogBuilder) -> list[Body]:
    return [add for add in builder.untouched_files() if "baseRowId" not in add]


@operation(lambda builder: builder.tracks_rows and bool(_list_files_without_ids(builder)), weight=2)
def backfill(builder: LogBuilder, timestamp: int) -> None:
    """Assign row ids to files without any."""
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
    """Enable row ids; every file has them now."""
    feature = _get_row_id_feature(builder)
    assert feature is not None
    metadata["configuration"] |= {table_specs.PROPERTIES[feature]: "true"} | table_specs.ROW_ID_COLUMNS[feature]


@change(lambda builder: _is_enabled(builder) and builder.iceberg_version != 3)
def disable(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Disable row ids; new files still get them."""
    for name in revision_features.ROW_ID_FEATURES:
        if builder.is_enabled(table_specs.PROPERTIES[name]):
            metadata["configuration"][table_specs.PROPERTIES[name]] = "false"


def _can_suspend(builder: LogBuilder) -> bool:
    return builder.revision is Revision.CURRENT and "rowTracking" in builder.features and not _is_enabled(builder)


@change(_can_suspend, weight=4)
def suspend(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Suspend or resume the assignment of row ids."""
    metadata["configuration"][SUSPENDED] = "false" if builder.row_ids_suspended else "true"


def record_row_id_mark(builder: LogBuilder) -> None:
    """Record the row id high-water mark if it rose; in r1, in every commit that adds a file."""
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
    """Draw whether the commit states that copied rows kept their ids; always true without copied rows."""
    return not builder.copies_rows or bool(builder.draw(st.booleans()))
