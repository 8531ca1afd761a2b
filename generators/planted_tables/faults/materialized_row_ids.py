"""Planted faults of materialized row ids: stored for new rows, missing, or of wrong types."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators.small_tables import build_rows
from deltaspec_generators.table_files import TableFiles, get_action
from planted_tables.bases.row_ids import (
    ROW_COMMIT_VERSION,
    ROW_ID,
    add_tracked_file,
    build_rewritten_table,
    preserving_commit_info,
    row_id_mark_actions,
)
from planted_tables.faults.registry import draw_one, planted_fault

SINCE_R2 = ("r2", "r3", "current")


def _build_table_with_inserted_rows(
    ids: list[Any] | None = None, versions: list[Any] | None = None, *, kind: Any = None, oldest: bool = False
) -> TableFiles:
    """Build the rewritten table with hidden columns in d, whose rows (ids 20 to 24) are inserted; the mark is 40.

    Args:
        ids: materialized row ids of d; no such column if None.
        versions: materialized row commit versions of d; no such column if None.
        kind: Arrow type of both columns; long if None.
        oldest: whether the table follows r1.
    """
    files = build_rewritten_table(oldest=oldest)
    table = build_rows(10, 5)
    for name, values in ((ROW_ID, ids), (ROW_COMMIT_VERSION, versions)):
        if values is not None:
            table = table.append_column(name, pa.array(values, kind or pa.int64()))
    d = add_tracked_file(files, "d.parquet", table, 20, 3, oldest)
    files.commits[3] = [preserving_commit_info(3), d, *row_id_mark_actions(40, oldest)]
    return files


def _build_sparse_column(draw: st.DrawFn, value: Any, count: int = 5) -> list[Any]:
    """Build a column that is null except at one drawn position."""
    position = draw(st.integers(0, count - 1))
    return [value if index == position else None for index in range(count)]


@planted_fault("row-tracking.inserted-ids", level="rows")
def id_stored_for_an_inserted_row(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_inserted_rows(_build_sparse_column(draw, draw(st.integers(25, 40))))


@planted_fault("row-ids.stored-where-preserved", level="rows")
def first_id_stored_for_an_inserted_row(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_inserted_rows(_build_sparse_column(draw, draw(st.integers(25, 40))), oldest=True)


@planted_fault("row-tracking.commit-versions-set", level="rows")
def version_stored_for_an_inserted_row(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_inserted_rows(versions=_build_sparse_column(draw, draw(st.integers(0, 2))))


@planted_fault("row-tracking.ids-stored", level="rows")
def fresh_id_stored(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table([draw_one(draw, 10, None), *range(1, 9), 19], data_change=True)


@planted_fault("row-ids.stored-where-preserved", level="rows")
def first_fresh_id_stored(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table([draw_one(draw, 10, None), *range(1, 9), 19], data_change=True, oldest=True)


@planted_fault("row-tracking.versions-stored", level="rows")
def version_stored_for_an_updated_row(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table(versions=[*[1] * 9, draw_one(draw, 2, 3)], data_change=True)


@planted_fault("row-tracking.stable-id", level="rows", revisions=SINCE_R2)
def stored_ids_that_are_texts(draw: st.DrawFn) -> TableFiles:
    kind, value = draw_one(draw, (pa.string(), "7"), (pa.float64(), 1.5), (pa.bool_(), True))
    return _build_table_with_inserted_rows(_build_sparse_column(draw, value), kind=kind)


@planted_fault("row-tracking.stable-id", level="rows", revisions=("r1",))
def first_stable_ids_that_are_texts(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_inserted_rows(_build_sparse_column(draw, "7"), kind=pa.string(), oldest=True)


@planted_fault("row-ids.stored-ids-first", level="rows")
def first_stored_ids_that_are_fractions(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_inserted_rows(_build_sparse_column(draw, 1.5), kind=pa.float64(), oldest=True)


@planted_fault("row-tracking.stable-version", level="rows")
def stored_versions_that_are_texts(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_inserted_rows(versions=_build_sparse_column(draw, "2"), kind=pa.string())


def _build_table_without_row_counts(first: int, *, oldest: bool = False) -> TableFiles:
    """Build the rewritten table with another file of five rows; neither it nor d has a row count."""
    files = build_rewritten_table(oldest=oldest)
    get_action(files, 3, "add")["stats"] = "{}"
    e = add_tracked_file(files, "e.parquet", build_rows(20, 5), first, 4, oldest, stats="{}")
    files.commits[4] = [preserving_commit_info(4), e, *row_id_mark_actions(30, oldest)]
    return files


@planted_fault("row-tracking.fresh-ids", level="rows", revisions=SINCE_R2)
def ids_given_twice_to_rows_that_nobody_counted(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_row_counts(draw(st.integers(20, 24)))


@planted_fault("row-tracking.fresh-ids", level="rows", revisions=("r1",))
def first_ids_given_twice_to_rows_that_nobody_counted(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_row_counts(draw(st.integers(20, 24)), oldest=True)


# preserved row ids


@planted_fault("row-tracking.unique-stable-ids", level="rows")
def row_id_kept_by_two_rows(draw: st.DrawFn) -> TableFiles:
    same = draw_one(draw, 1, 3, 9, 11, 19, 20, 24)  # id of another row of c, fresh or preserved, or of a row of d
    return build_rewritten_table([same, *range(1, 10)], data_change=True)


@planted_fault("row-tracking.ids-kept", level="rows")
def row_id_from_nowhere(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table([draw(st.integers(25, 2**63 - 1)), *range(1, 10)], data_change=True)


@planted_fault("row-tracking.commit-versions-kept", level="rows")
def row_commit_version_from_nowhere(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table(versions=[draw(st.integers(4, 2**63 - 1)), *[1] * 9], data_change=True)


@planted_fault("row-tracking.ids-kept", level="rows")
def row_ids_not_kept(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table(draw_one(draw, [None] * 10, [*range(9), None]))


@planted_fault("row-tracking.commit-versions-kept", level="rows")
def row_commit_versions_not_kept(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table(versions=draw_one(draw, [None] * 10, [*[1] * 9, None], [0, *[1] * 9]))


@planted_fault("row-tracking.unique-stable-row-ids", level="rows")
def first_row_id_kept_by_two_rows(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table([draw_one(draw, 1, 9, 19, 20, 24), *range(1, 10)], data_change=True, oldest=True)


@planted_fault("row-tracking.row-ids-kept", level="rows")
def first_row_id_from_nowhere(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table([draw(st.integers(25, 2**63 - 1)), *range(1, 10)], data_change=True, oldest=True)


@planted_fault("row-ids.preserved", level="rows")
def first_row_ids_not_kept(draw: st.DrawFn) -> TableFiles:
    return build_rewritten_table(draw_one(draw, [None] * 10, [*range(9), None]), oldest=True)


@planted_fault("row-tracking.ids-kept", level="rows")
def row_ids_not_kept_by_an_update(draw: st.DrawFn) -> TableFiles:
    files = build_rewritten_table(draw_one(draw, [None] * 10, [*range(9), None]), data_change=True)
    files.commits[2][0] = preserving_commit_info(2, "false", operation="UPDATE")
    return files


@planted_fault("row-tracking.preserved-tag", level="rows")
def kept_ids_denied(_: st.DrawFn) -> TableFiles:
    return build_rewritten_table(preserved=False)


@planted_fault("row-ids.preserved-flag", level="rows")
def first_kept_ids_denied(_: st.DrawFn) -> TableFiles:
    return build_rewritten_table(preserved=False, oldest=True)
