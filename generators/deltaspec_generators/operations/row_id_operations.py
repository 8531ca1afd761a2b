"""Operations of logs on row ids in the designs of r1, r2 and later: backfill, enable, disable, suspend.

Tables with data assign and enable row ids in one commit.
"""

from deltaspec.protocol.property_names import ROW_TRACKING_SUSPENDED
from deltaspec.protocol.revisions import Revision
from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.operations.registry import SEEDS_KEEP_TABLES, can_change_metadata, operation
from deltaspec_generators.tables import features
from deltaspec_generators.tables.log_builder import LogBuilder
from deltaspec_generators.tables.log_files import add_again, assign_row_ids, count_rows

_AT_ONCE = "tables with data assign and enable row ids in one commit"


def _is_enabled(builder: LogBuilder) -> bool:
    return any(builder.is_enabled(features.ENABLING_PROPERTIES[name]) for name in features.ROW_ID_FEATURES)


def _list_files_without_ids(builder: LogBuilder) -> list[StoredFile]:
    return [stored for stored in builder.list_files() if "baseRowId" not in stored.add]


@operation(lambda builder: builder.tracks_rows and bool(_list_files_without_ids(builder)), log_only=_AT_ONCE, weight=8)
def backfill(builder: LogBuilder) -> None:
    """Assign row ids to files without any."""
    for stored in _list_files_without_ids(builder):
        add = {**stored.add, "dataChange": False}
        counted = count_rows(stored, add)
        assign_row_ids(builder, add, counted.row_count)
        add_again(builder, counted, add)


def _can_enable(builder: LogBuilder) -> bool:
    live = builder.state.live.values()
    return (
        can_change_metadata(builder)
        and builder.tracks_rows
        and not _is_enabled(builder)
        and all("baseRowId" in add for add in live)
    )


@operation(_can_enable, log_only=_AT_ONCE, weight=6)
def enable_row_ids(builder: LogBuilder) -> None:
    """Enable row ids; every file has them now."""
    feature = next(name for name in features.ROW_ID_FEATURES if name in builder.features)
    builder.write_properties(features.build_properties(feature))


@operation(
    lambda builder: can_change_metadata(builder) and _is_enabled(builder) and builder.iceberg_version != 3,
    log_only=SEEDS_KEEP_TABLES,
    weight=4,
)
def disable_row_ids(builder: LogBuilder) -> None:
    """Disable row ids; new files still get them."""
    names = [features.ENABLING_PROPERTIES[name] for name in features.ROW_ID_FEATURES]
    builder.write_properties({name: "false" for name in names if builder.is_enabled(name)})


def _can_suspend(builder: LogBuilder) -> bool:
    return (
        can_change_metadata(builder)
        and builder.revision is Revision.CURRENT
        and "rowTracking" in builder.features
        and not _is_enabled(builder)
    )


@operation(_can_suspend, log_only="tables with data do not support suspended row tracking", weight=8)
def suspend_row_ids(builder: LogBuilder) -> None:
    """Suspend or resume the assignment of row ids."""
    builder.write_properties({ROW_TRACKING_SUSPENDED: "false" if builder.row_ids_suspended else "true"})
