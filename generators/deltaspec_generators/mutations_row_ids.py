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
FIRST_ENABLED = {"delta.enableRowIds": "true", "delta.rowIds.physicalColumnName": ROW_ID}
"""The same by the oldest text."""
PROTOCOL = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])
FIRST_PROTOCOL = protocol_action(1, 7, None, ["rowIds"])


def mark(highest: int, key: str = "rowIdHighWaterMark") -> dict[str, object]:
    """The domain of the high-water mark."""
    return domain_action("delta.rowTracking", json.dumps({key: highest}))


def preserving(version: int, preserved: Any = "true", **more: Any) -> dict[str, Any]:
    """A commitInfo that says that rows keep their ids."""
    return commit_info(version, tags={"delta.rowTracking.preserved": preserved}, **more)


def tracked(*, enabled: bool = True) -> TableFiles:
    """`bases.plain` with row tracking: a and b have the ids 0 to 19, c has 20 to 29; with the mark of every text."""
    files = bases.plain(protocol=PROTOCOL, configuration=ENABLED if enabled else {})
    for version in (1, 2):
        files.commits[version][0] = preserving(version)
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


def first_tracked(*, enabled: bool = False) -> TableFiles:
    """`tracked` as the oldest text has it: another feature, and no row commit versions."""
    settings = FIRST_ENABLED if enabled else {}
    files = bases.plain(protocol=FIRST_PROTOCOL, configuration=settings)
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        action(files, version, "add", which)["baseRowId"] = base
    action(files, 2, "remove")["baseRowId"] = 0
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
    ids: list[int | None] | None = None,
    versions: list[int | None] | None = None,
    *,
    data_change: bool = False,
    preserved: bool | None = None,
    oldest: bool = False,
) -> TableFiles:
    """A table whose files a (ids 0 to 4) and b (5 to 9) were compacted to c, and d (20 to 24) was added after.

    Args:
        ids: materialized row ids of c; those that its rows had before where None.
        versions: materialized row commit versions of c; 1, as before, where None.
        data_change: what the compaction says of itself; if true it is an update.
        preserved: whether it says that ids and versions were kept; the truth where None.
        oldest: the table is one of the oldest text, without row commit versions.
    """
    kept = (ids or [*range(10)]) == [*range(10)] and (versions or [1] * 10) == [1] * 10
    claim = kept if preserved is None else preserved
    files = TableFiles()
    protocol, settings = (FIRST_PROTOCOL, FIRST_ENABLED) if oldest else (PROTOCOL, ENABLED)
    files.commits[0] = [commit_info(0), protocol, metadata_action(FIELDS, configuration=settings)]
    a, b = file_of(files, "a.parquet", rows(0, 5), 0, 1, oldest), file_of(files, "b.parquet", rows(5, 5), 5, 1, oldest)
    files.commits[1] = [preserving(1), a, b, *marks(9, oldest)]
    table = rows().append_column(ROW_ID, pa.array(range(10) if ids is None else ids, pa.int64()))
    if not oldest:
        table = table.append_column(ROW_COMMIT_VERSION, pa.array(versions or [1] * 10, pa.int64()))
    c = file_of(files, "c.parquet", table, 10, 2, oldest)
    moves = [c, remove_action(a), remove_action(b)]
    for move in moves:
        next(iter(move.values()))["dataChange"] = data_change
    files.commits[2] = [preserving(2, str(claim).lower()), *moves, *marks(19, oldest, preserved=claim)]
    d = file_of(files, "d.parquet", rows(10, 5), 20, 3, oldest)
    files.commits[3] = [preserving(3), d, *marks(24, oldest)]
    return files


def marks(highest: int, oldest: bool = False, *, preserved: bool = True) -> list[Any]:
    """The high-water mark where each text looks for it."""
    return [old_mark(highest, preservedRowIds=preserved)] if oldest else [old_mark(highest), mark(highest)]


def file_of(
    files: TableFiles, path: str, table: pa.Table, base: int, version: int, oldest: bool = False, **more: Any
) -> dict[str, Any]:
    """An add of a stored file with row ids; of hidden columns its statistics say nothing."""
    visible = table.select([name for name in table.column_names if name not in (ROW_ID, ROW_COMMIT_VERSION)])
    ids = {"baseRowId": base} if oldest else {"baseRowId": base, "defaultRowCommitVersion": version}
    return stored(files, path, table, **{"stats": json.dumps(statistics(visible)), **ids, **more})


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
    return rewritten(versions=pick(draw, [None] * 10, [*[1] * 9, None], [0, *[1] * 9]))
