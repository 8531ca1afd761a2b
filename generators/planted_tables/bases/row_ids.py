"""Small tables with row ids in the designs of r1, r2 and later revisions."""

import json
from copy import deepcopy
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import (
    R1_ROW_ID_COLUMN,
    R1_ROW_IDS,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    ROWS_PRESERVED_TAG,
)
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows, compute_statistics
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.actions import legacy_row_id_mark_action

ROW_ID, ROW_COMMIT_VERSION = "_row-id-col-1", "_row-commit-version-col-1"
COLUMNS = {
    ROW_ID_COLUMN: ROW_ID,
    ROW_COMMIT_VERSION_COLUMN: ROW_COMMIT_VERSION,
}
ENABLED = {ROW_TRACKING: "true", **COLUMNS}
R1_ENABLED = {R1_ROW_IDS: "true", R1_ROW_ID_COLUMN: ROW_ID}
"""Properties that enable row ids in r1."""
PROTOCOL = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])
R1_PROTOCOL = protocol_action(1, 7, None, ["rowIds"])


def row_id_mark_domain(highest: int, key: str = "rowIdHighWaterMark") -> dict[str, object]:
    """Build the domain metadata of the row id high-water mark."""
    return domain_action("delta.rowTracking", json.dumps({key: highest}))


def preserving_commit_info(version: int, preserved: Any = "true", **more: Any) -> dict[str, Any]:
    """Build a commitInfo whose tag states whether row ids are preserved."""
    return commit_info_action(version, tags={ROWS_PRESERVED_TAG: preserved}, **more)


def build_tracked_table(*, enabled: bool = True) -> TableFiles:
    """Build a table with row tracking: a and b have ids 0 to 19, c has 20 to 29; marks as in r2 and later."""
    files = log_only.build_table(protocol=PROTOCOL, configuration=ENABLED if enabled else {})
    for version in (1, 2):
        files.commits[version][0] = preserving_commit_info(version)
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        get_action(files, version, "add", which).update(baseRowId=base, defaultRowCommitVersion=version)
    get_action(files, 2, "remove").update(baseRowId=0, defaultRowCommitVersion=1)
    files.commits[1] += [legacy_row_id_mark_action(19), row_id_mark_domain(19)]
    files.commits[2] += [legacy_row_id_mark_action(29), row_id_mark_domain(29)]
    return files


def build_r1_tracked_table(*, enabled: bool = False) -> TableFiles:
    """Build the tracked table as in r1: feature `rowIds`, no row commit versions."""
    settings = R1_ENABLED if enabled else {}
    files = log_only.build_table(protocol=R1_PROTOCOL, configuration=settings)
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        get_action(files, version, "add", which)["baseRowId"] = base
    get_action(files, 2, "remove")["baseRowId"] = 0
    files.commits[1].append(legacy_row_id_mark_action(19, preservedRowIds=True))
    files.commits[2].append(legacy_row_id_mark_action(29, preservedRowIds=True))
    return files


# materialized row ids


def build_rewritten_table(
    ids: list[int | None] | None = None,
    versions: list[int | None] | None = None,
    *,
    data_change: bool = False,
    preserved: bool | None = None,
    oldest: bool = False,
) -> TableFiles:
    """Build a table whose files a (ids 0 to 4) and b (5 to 9) are compacted to c before d (20 to 24) is added.

    Args:
        ids: materialized row ids of c; unchanged ids if None.
        versions: materialized row commit versions of c; 1 (unchanged) if None.
        data_change: value of `dataChange` in the compaction; if true, it is an update.
        preserved: stated preservation of ids and versions; the truth if None.
        oldest: whether the table follows r1, which has no row commit versions.
    """
    rows_unchanged = (ids or [*range(10)]) == [*range(10)] and (versions or [1] * 10) == [1] * 10
    stated = rows_unchanged if preserved is None else preserved
    files = TableFiles()
    protocol, settings = (R1_PROTOCOL, R1_ENABLED) if oldest else (PROTOCOL, ENABLED)
    files.commits[0] = [commit_info_action(0), deepcopy(protocol), metadata_action(FIELDS, configuration=settings)]
    a, b = (
        add_tracked_file(files, "a.parquet", build_rows(0, 5), 0, 1, oldest),
        add_tracked_file(files, "b.parquet", build_rows(5, 5), 5, 1, oldest),
    )
    files.commits[1] = [preserving_commit_info(1), a, b, *row_id_mark_actions(9, oldest)]
    table = build_rows().append_column(ROW_ID, pa.array(range(10) if ids is None else ids, pa.int64()))
    if not oldest:
        table = table.append_column(ROW_COMMIT_VERSION, pa.array(versions or [1] * 10, pa.int64()))
    c = add_tracked_file(files, "c.parquet", table, 10, 2, oldest)
    moves = [c, remove_action(a), remove_action(b)]
    for move in moves:
        next(iter(move.values()))["dataChange"] = data_change
    files.commits[2] = [
        preserving_commit_info(2, str(stated).lower()),
        *moves,
        *row_id_mark_actions(19, oldest, preserved=stated),
    ]
    d = add_tracked_file(files, "d.parquet", build_rows(10, 5), 20, 3, oldest)
    files.commits[3] = [preserving_commit_info(3), d, *row_id_mark_actions(24, oldest)]
    return files


def row_id_mark_actions(highest: int, oldest: bool = False, *, preserved: bool = True) -> list[Any]:
    """Build the actions that store the high-water mark in r1 (`oldest`) or in r2 and later."""
    return (
        [legacy_row_id_mark_action(highest, preservedRowIds=preserved)]
        if oldest
        else [legacy_row_id_mark_action(highest), row_id_mark_domain(highest)]
    )


def add_tracked_file(
    files: TableFiles, path: str, table: pa.Table, base: int, version: int, oldest: bool = False, **more: Any
) -> dict[str, Any]:
    """Add a data file with row ids and return its add action; statistics skip the hidden columns."""
    visible = table.select([name for name in table.column_names if name not in (ROW_ID, ROW_COMMIT_VERSION)])
    ids = {"baseRowId": base} if oldest else {"baseRowId": base, "defaultRowCommitVersion": version}
    return add_data_file(files, path, table, **{"stats": json.dumps(compute_statistics(visible)), **ids, **more})


def add_next_commit(
    files: TableFiles, path: str, base: int, rows: int = 10, version: int = 3, **more: Any
) -> dict[str, Any]:
    """Add a commit with one add that has row ids and with marks as in r2 and later; return the add's body."""
    ids = {"baseRowId": base, "defaultRowCommitVersion": version}
    add = add_action(path, rows=rows, **{**ids, **more})
    last = max(base + rows - 1, 29)
    files.commits[version] = [
        preserving_commit_info(version),
        add,
        legacy_row_id_mark_action(last),
        row_id_mark_domain(last),
    ]
    body: dict[str, Any] = add["add"]
    return body
