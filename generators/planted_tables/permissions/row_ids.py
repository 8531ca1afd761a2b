"""Valid tables of row ids: partly materialized, not preserved, restored."""

import pyarrow as pa

from deltaspec.protocol.property_names import ROW_TRACKING
from deltaspec_generators.small_tables import FIELDS, build_rows
from deltaspec_generators.table_files import TableFiles, get_action, metadata_action, remove_action
from planted_tables.bases.row_ids import (
    ENABLED,
    ROW_COMMIT_VERSION,
    ROW_ID,
    add_tracked_file,
    build_rewritten_table,
    preserving_commit_info,
    row_id_mark_actions,
)
from planted_tables.permissions.registry import permission


@permission("row-tracking.stored-ids-optional", level="rows")
def ids_stored_for_some_rows_and_in_some_files() -> TableFiles:
    return build_rewritten_table([*range(9), None], [*[1] * 9, None], data_change=True)


@permission("row-tracking.stored-ids-optional", level="rows")
def column_of_stored_ids_full_of_nulls() -> TableFiles:
    files = build_rewritten_table()
    empty = build_rows(20, 5)
    for name in (ROW_ID, ROW_COMMIT_VERSION):
        empty = empty.append_column(name, pa.nulls(5, pa.int64()))
    files.commits[4] = [
        preserving_commit_info(4),
        add_tracked_file(files, "e.parquet", empty, 25, 4),
        *row_id_mark_actions(29),
    ]
    return files


@permission("row-ids.stored-ids-optional", level="rows")
def first_ids_stored_for_some_rows_and_in_some_files() -> TableFiles:
    return build_rewritten_table([*range(9), None], data_change=True, oldest=True)


@permission("row-tracking.nothing-kept-before", level="rows")
def rewrite_before_row_tracking_is_enabled_keeps_nothing() -> TableFiles:
    files = build_rewritten_table([None] * 10, [None] * 10)
    get_action(files, 0, "metaData")["configuration"].update({ROW_TRACKING: "false"})
    files.commits[4] = [preserving_commit_info(4), metadata_action(FIELDS, configuration=ENABLED)]
    return files


@permission("row-tracking.ids-restored", level="rows")
def restored_files_bring_their_row_ids_back() -> TableFiles:
    """Version 4 restores version 1: files a and b have their old ids and versions, below the mark."""
    files = build_rewritten_table()
    live = [get_action(files, 2, "add"), get_action(files, 3, "add")]
    restored = [{"add": {**get_action(files, 1, "add", which), "dataChange": True}} for which in (0, 1)]
    removes = [remove_action({"add": body}) for body in live]
    files.commits[4] = [preserving_commit_info(4, operation="RESTORE"), *restored, *removes]
    files.commits[5] = [
        preserving_commit_info(5),
        add_tracked_file(files, "e.parquet", build_rows(20, 5), 25, 5),
        *row_id_mark_actions(29),
    ]
    return files
