"""Looks at row tracking: row ids that the log gives to files, and those that the files hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from deltaspec.model import row_tracking
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.model.file_names import commit_name
from deltaspec.model.protocol import supports
from deltaspec.model.revisions import Revision
from deltaspec.validate.commits import DATA_CHANGE
from deltaspec.validate.data import why_unread
from deltaspec.validate.row_id_history import history_is_whole, inserted_paths, look_at_row_id_history, suspended_since
from deltaspec.validate.stored_row_ids import HiddenColumns, NoIntegers, RowIds, read_row_ids
from deltaspec.views import table_state
from deltaspec.views.file_replay import live_at
from deltaspec.views.in_force import at_version, in_force_since
from deltaspec.views.row_id_history import new_row_ids, row_id_commits, row_id_rivals, row_id_states
from deltaspec.views.row_ids import (
    MAX_ID,
    gone_above_mark,
    may_lack_ids,
    ranges_of,
    row_id_columns,
    row_id_files,
    row_id_ranges,
    row_id_rewrites,
)
from deltaspec.wire.row_files import UnreadableRows
from deltaspec.wire.storage import LOG, FileGone, StorageError

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validate.base_run import Run
    from deltaspec.validate.data import DataRun

VIEWS_OF_THE_LOG = (row_id_ranges, row_id_columns, row_id_commits, row_id_states, new_row_ids, row_id_rivals)
_UPDATE = "UPDATE"
"""What engines call a commit that changes rows, and neither inserts nor deletes any."""
_OF_THE_MARK = ("RID002", "RID003", "RID009")
"""Rules that need the high-water mark."""


def asks_for_row_ids(run: Run) -> bool:
    """Whether the judged history has a version that supports row tracking, or may have one."""
    supported = any(supported for _, supported, _ in suspended_since(run))
    return supported or run.state.supports(row_tracking.feature_in(run.revision)) is not False


def look_at_row_id_ranges(run: Run, spanned: pl.DataFrame) -> None:
    """Look at what the log says of row ids, where the table supports row tracking or did in the judged history.

    Args:
        run: after its replay.
        spanned: its adds and removes, as `file_replay.spans` gives them.
    """
    state = run.state
    if not state.protocol_known or not state.metadata_known:
        if state.supports(row_tracking.feature_in(run.revision)) is not False:
            run.findings.doubt(VIEWS_OF_THE_LOG, "an action that row tracking depends on cannot be decoded")
        return
    look_at_row_id_history(run, spanned)
    if state.protocol is None or state.metadata is None:
        return
    if not row_tracking.assigns_row_ids(state.protocol, state.metadata, run.revision):
        return
    if run.files_in_doubt is not None:
        run.findings.doubt((row_id_ranges,), run.files_in_doubt)
        return
    mark, has_mark = state.high_water_mark
    if has_mark is None:
        for code in _OF_THE_MARK:
            run.findings.doubt_rule(code, "an action that may hold the high-water mark cannot be decoded")
    live = live_at(spanned, run.plan.version)
    # [Changed in r2] what is committed again keeps what it had, be it no ids
    exempt = () if run.revision is Revision.R1 else may_lack_ids(live, spanned, whole=history_is_whole(run))
    ranges = ranges_of(
        live,
        mark,
        has_mark=has_mark,
        enabled=row_tracking.is_enabled(state.protocol, state.metadata, run.revision),
        since=suspended_since(run),
        may_lack_ids=exempt,
    )
    run.findings.look(row_id_ranges, ranges)
    if mark is not None:
        run.findings.look(row_id_ranges, gone_above_mark(spanned, live, mark, suspended_since(run)))


def asks_for_stored_row_ids(run: Run | DataRun) -> bool:
    """Whether the table supports row tracking, and its state is known."""
    state = run.state
    if state.protocol is None or state.metadata is None:
        return False
    return supports(state.protocol, row_tracking.feature_in(state.revision))


def look_at_live_row_ids(run: DataRun) -> None:
    """Look at the row ids that live files hold."""
    state = run.state
    if not asks_for_stored_row_ids(run) or state.protocol is None or state.metadata is None:
        return
    enabled = row_tracking.is_enabled(state.protocol, state.metadata, state.revision)
    assigned = row_tracking.assigns_row_ids(state.protocol, state.metadata, state.revision)
    if not run.findings.wants(row_id_files) or not (enabled or assigned):
        return
    configuration = run.state.rows[table_state.configuration.name]
    hidden = HiddenColumns.at(configuration, run.version, run.state.revision) if enabled else HiddenColumns(None, None)
    mark, _ = run.state.high_water_mark
    inserted = inserted_paths(run) if enabled else frozenset()
    seen = RowIds()
    rows: list[dict[str, Any]] = []
    for number, file in enumerate(run.files):
        if number % 500 == 0:
            run.progress("row ids", number, len(run.files))
            run.findings.look_at_rows(row_id_files, rows)
            rows = []
        if file.base_row_id is None:
            continue  # a finding of the log
        try:
            ids = read_row_ids(run, file, hidden)
        except NoIntegers as fault:
            rows.append({**file.place, "stored_fault": str(fault)})
            run.findings.doubt((row_id_files,), why_unread(fault), file.path)
            continue
        except (StorageError, UnreadableRows, DeletionVectorError) as fault:
            run.findings.doubt((row_id_files,), why_unread(fault), file.path)
            continue
        shared = seen.fresh & ids.fresh
        repeated = seen.take(ids)
        row = {
            **file.place,
            "high_water_mark": mark,
            "table_version": run.version,
            "default_row_commit_version": file.default_row_commit_version,
            "inserted": file.path_key in inserted,
            "shared_fresh_ids": len(shared),
            "shared_fresh_id": shared.min() if len(shared) else None,
            "materialized_ids": ids.kept_rows,
            "materialized_own_ids": ids.own_rows,
            "highest_row_id": ids.highest_kept,
            "highest_row_commit_version": ids.highest_commit_version,
            "earlier_row_commit_versions": ids.earlier_versions,
            "repeated_ids": len(repeated),
            "repeated_id": min(repeated.min(), MAX_ID) if len(repeated) else None,
        }
        rows.append(row)
    run.findings.look_at_rows(row_id_files, rows)


def look_at_rewrites(run: DataRun) -> None:
    """Look at the row ids that rewritten rows had before."""
    if not asks_for_stored_row_ids(run) or not run.findings.wants(row_id_rewrites):
        return
    revision = run.state.revision
    rows = run.state.rows
    configuration = rows[table_state.configuration.name]
    feature, enabled_by = row_tracking.feature_in(revision), row_tracking.enabled_by(revision)
    since = in_force_since(rows[table_state.protocols.name], configuration, feature, enabled_by)
    for version in run.commits.rewriting:
        hidden = HiddenColumns.at(configuration, version, revision)
        steady = all((*at_version(since, version - 1), *at_version(since, version)))
        if not steady or hidden != HiddenColumns.at(configuration, version - 1, revision):
            continue
        row = _rewrite(run, version, hidden)
        run.findings.look_at_rows(row_id_rewrites, [] if row is None else [row])


def _rewrite(run: DataRun, version: int, hidden: HiddenColumns) -> dict[str, Any] | None:
    """A commit's row of `row_id_rewrites`; None where rows come or go, or its files are not all there."""
    name = f"{LOG}/{commit_name(version)}"
    ids = {"add": RowIds(), "remove": RowIds()}
    place = name
    try:
        moves = all(row[DATA_CHANGE] is False for row in run.commit(version).files.rows)
    except StorageError as fault:
        run.findings.doubt((row_id_rewrites,), str(fault), name)
        return None
    if not moves and run.operations.get(version) != _UPDATE:
        return None
    try:
        again = (replace(file, kind="remove") for file in run.commits.added_again(version))
        for file in chain(run.commits.files(version), again):
            if file.base_row_id is None:
                return None
            place = file.path
            ids[file.kind].take(read_row_ids(run, file, hidden, versions=True))
    except FileGone:
        return None
    except (StorageError, UnreadableRows, DeletionVectorError) as fault:
        run.findings.doubt((row_id_rewrites,), why_unread(fault), place)
        return None
    before, after = ids["remove"], ids["add"]
    if not moves and len(before.stable) != len(after.stable):
        return None  # whatever it calls itself, rows come or go
    lost, new = len(before.stable - after.stable), len(after.stable - before.stable)
    same = before.versions == after.versions if moves and lost == new == 0 else None
    claims = run.row_id_claims.get(version)
    return {
        "version": version,
        "file": name,
        "lost_ids": lost,
        "new_ids": new,
        "commit_versions_kept": same,
        "rows_preserved": claims.rows_preserved if claims else None,
    }
