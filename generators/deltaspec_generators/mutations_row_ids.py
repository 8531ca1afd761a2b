"""Tables broken in row ids; level `log` shows it of the ids that the log gives, `rows` of those that files hold."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.action_bases import old_mark
from deltaspec_generators.bases import action, commit_info
from deltaspec_generators.builder import TableFiles, domain_action, metadata_action, protocol_action, remove_action
from deltaspec_generators.data_bases import FIELDS, rows, statistics, stored
from deltaspec_generators.mutations import mutation, pick

ROW_ID, ROW_COMMIT_VERSION = "_row-id-col-1", "_row-commit-version-col-1"
COLUMNS = {
    "delta.rowTracking.materializedRowIdColumnName": ROW_ID,
    "delta.rowTracking.materializedRowCommitVersionColumnName": ROW_COMMIT_VERSION,
}
ENABLED = {"delta.enableRowTracking": "true", **COLUMNS}
PROTOCOL = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])


def mark(highest: int, key: str = "rowIdHighWaterMark") -> dict[str, object]:
    """The domain of the high-water mark."""
    return domain_action("delta.rowTracking", json.dumps({key: highest}))


def tracked(*, enabled: bool = True) -> TableFiles:
    """`bases.plain` with row tracking: a and b have the ids 0 to 19, c has 20 to 29; with the mark of every text."""
    files = bases.plain(protocol=PROTOCOL, configuration=ENABLED if enabled else {})
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        action(files, version, "add", which).update(baseRowId=base, defaultRowCommitVersion=version)
    action(files, 2, "remove").update(baseRowId=0, defaultRowCommitVersion=1)
    files.commits[1] += [old_mark(19), mark(19)]
    files.commits[2] += [old_mark(29), mark(29)]
    return files


def _tracked(draw: st.DrawFn) -> TableFiles:
    return tracked(enabled=draw(st.booleans()))


@mutation("row-tracking.unique-default-ids")
def row_ids_given_twice(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    action(files, 2, "add")["baseRowId"] = draw(st.integers(1, 19))  # b has 10 to 19
    return files


@mutation("row-tracking.high-water-mark")
def high_water_mark_behind(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    files.commits[2][-1] = mark(draw(st.integers(0, 28)), pick(draw, "rowIdHighWaterMark", "highWaterMark"))
    return files


@mutation("row-tracking.mark-in-domain")
def high_water_mark_absent(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    for version in (1, 2):
        files.commits[version].pop()
    return files


@mutation("row-tracking.mark-of-action")
def older_high_water_mark_behind(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    files.commits[2][-2] = old_mark(draw(st.integers(0, 28)))
    return files


@mutation("row-tracking.mark-raised")
def older_high_water_mark_absent(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    for version in (1, 2):
        del files.commits[version][-2]
    return files


def first_tracked() -> TableFiles:
    """`tracked` as the oldest text has it: another feature, and no row commit versions."""
    files = bases.plain(protocol=protocol_action(1, 7, None, ["rowIds"]), last_remove=False)
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        action(files, version, "add", which)["baseRowId"] = base
    files.commits[1].append(old_mark(19, preservedRowIds=True))
    files.commits[2].append(old_mark(29, preservedRowIds=True))
    return files


@mutation("row-ids.mark-covers-ids")
def first_high_water_mark_behind(draw: st.DrawFn) -> TableFiles:
    files = first_tracked()
    files.commits[2][-1] = old_mark(draw(st.integers(0, 28)), preservedRowIds=draw(st.booleans()))
    return files


@mutation("row-ids.mark-with-new-files")
def first_high_water_mark_absent(_: st.DrawFn) -> TableFiles:
    files = first_tracked()
    for version in (1, 2):
        files.commits[version].pop()
    return files


@mutation("row-tracking.base-row-id")
def base_row_id_absent(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    del action(files, 2, "add")["baseRowId"]
    return files


@mutation("row-tracking.commit-version")
def default_row_commit_version_absent(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    del action(files, 2, "add")["defaultRowCommitVersion"]
    return files


@mutation("remove.row-ids")
def row_ids_left_out_of_remove(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    removed = action(files, 2, "remove")
    removed.update(pick(draw, {"baseRowId": None}, {"defaultRowCommitVersion": None}, {"baseRowId": 7}))
    return files


@mutation("row-tracking.column-names")
def hidden_column_without_a_name(draw: st.DrawFn) -> TableFiles:
    files = tracked()
    del action(files, 0, "metaData")["configuration"][pick(draw, *COLUMNS)]
    return files


@mutation("row-tracking.column-names-unique")
def hidden_column_of_a_taken_name(draw: st.DrawFn) -> TableFiles:
    files = tracked()
    action(files, 0, "metaData")["configuration"][pick(draw, *COLUMNS)] = pick(draw, "id", "name")
    return files


# row ids that files hold


def rewritten(
    ids: list[int | None] | None = None, versions: list[int | None] | None = None, *, data_change: bool = False
) -> TableFiles:
    """A table whose files a (ids 0 to 4) and b (5 to 9) were compacted to c, and d (20 to 24) was added after.

    Args:
        ids: materialized row ids of c; those that its rows had before where None.
        versions: materialized row commit versions of c; 1, as before, where None.
        data_change: what the compaction says of itself; if true it is an update.
    """
    files = TableFiles()
    files.commits[0] = [commit_info(0), PROTOCOL, metadata_action(FIELDS, configuration=ENABLED)]
    a = stored(files, "a.parquet", rows(0, 5), baseRowId=0, defaultRowCommitVersion=1)
    b = stored(files, "b.parquet", rows(5, 5), baseRowId=5, defaultRowCommitVersion=1)
    files.commits[1] = [commit_info(1), a, b, old_mark(9), mark(9)]
    table = rows().append_column(ROW_ID, pa.array(range(10) if ids is None else ids, pa.int64()))
    table = table.append_column(ROW_COMMIT_VERSION, pa.array(versions or [1] * 10, pa.int64()))
    moved = {"dataChange": data_change}
    c = _tracked_file(files, "c.parquet", table, baseRowId=10, defaultRowCommitVersion=2, **moved)
    files.commits[2] = [commit_info(2), c, remove_action(a, **moved), remove_action(b, **moved)]
    files.commits[2] += [old_mark(19), mark(19)]
    d = stored(files, "d.parquet", rows(10, 5), baseRowId=20, defaultRowCommitVersion=3)
    files.commits[3] = [commit_info(3), d, old_mark(24), mark(24)]
    return files


def _tracked_file(files: TableFiles, path: str, table: pa.Table, **more: Any) -> dict[str, Any]:
    """A file with hidden columns, of which statistics say nothing."""
    visible = table.drop_columns([ROW_ID, ROW_COMMIT_VERSION])
    return stored(files, path, table, stats=json.dumps(statistics(visible)), **more)


@mutation("row-tracking.unique-stable-ids", level="rows")
def row_id_kept_by_two_rows(draw: st.DrawFn) -> TableFiles:
    same = pick(draw, 1, 3, 9, 11, 19, 20, 24)  # of another row of c by either of its ids, or of a row of d
    return rewritten([same, *range(1, 10)], data_change=True)


@mutation("row-tracking.ids-kept", level="rows")
def row_id_from_nowhere(draw: st.DrawFn) -> TableFiles:
    return rewritten([draw(st.integers(25, 2**63 - 1)), *range(1, 10)], data_change=True)


@mutation("row-tracking.commit-versions-kept", level="rows")
def row_commit_version_from_nowhere(draw: st.DrawFn) -> TableFiles:
    return rewritten(versions=[draw(st.integers(4, 2**63 - 1)), *[1] * 9], data_change=True)


@mutation("row-tracking.ids-kept", level="rows")
def row_ids_not_kept(draw: st.DrawFn) -> TableFiles:
    return rewritten(pick(draw, [None] * 10, [*range(9), None]))


@mutation("row-tracking.commit-versions-kept", level="rows")
def row_commit_versions_not_kept(draw: st.DrawFn) -> TableFiles:
    return rewritten(versions=pick(draw, [None] * 10, [*[1] * 9, 2], [0, *[1] * 9]))
