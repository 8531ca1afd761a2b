"""Looks at row tracking: row ids that the log gives to files, and those that the files hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from deltaspec.model import row_tracking
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.model.file_names import commit_name
from deltaspec.validate.commits import DATA_CHANGE
from deltaspec.validate.data import why_unread
from deltaspec.validate.stored_row_ids import HiddenColumns, RowIds, read_row_ids
from deltaspec.views import table_state
from deltaspec.views.file_replay import live_at
from deltaspec.views.in_force import at_version, in_force_since
from deltaspec.views.row_ids import (
    MAX_ID,
    column_rows,
    never_had_ids,
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

    from deltaspec.validate.data import DataRun
    from deltaspec.validate.embedded import EmbeddedRun

_OF_THE_MARK = ("RID002", "RID003", "RID009")
"""Rules that need the high-water mark."""


def look_at_row_id_ranges(run: EmbeddedRun, spanned: pl.DataFrame) -> None:
    """Look at what the log says of row ids, where the table supports row tracking and has not suspended it.

    Args:
        run: after its replay.
        spanned: its adds and removes, as `file_replay.spans` gives them.
    """
    state = run.state
    views = (row_id_ranges, row_id_columns)
    feature = row_tracking.feature_in(run.revision)
    if state.supports(feature) is False:
        return
    if not state.protocol_known or not state.metadata_known:
        run.findings.doubt(views, "an action that row tracking depends on cannot be decoded")
        return
    if state.protocol is None or state.metadata is None or not state.supports(feature):
        return
    if not row_tracking.assigns_row_ids(state.protocol, state.metadata, run.revision):
        return
    enabled = row_tracking.is_enabled(state.protocol, state.metadata)
    if enabled and state.schema is not None:
        last = state.rows[table_state.metadata.name][-1]
        place = {name: last[name] for name in ("version", "file", "line")}
        run.findings.look_at_rows(row_id_columns, column_rows(place, state.metadata, state.schema, state.mapping))
    if run.files_in_doubt is not None:
        run.findings.doubt((row_id_ranges,), run.files_in_doubt)
        return
    rows = (state.rows[table_state.protocols.name], state.rows[table_state.configuration.name])
    since = in_force_since(*rows, feature, row_tracking.SUSPENDED)
    mark, has_mark = state.high_water_mark
    if has_mark is None:
        for code in _OF_THE_MARK:
            run.findings.doubt_rule(code, "an action that may hold the high-water mark cannot be decoded")
    live = live_at(spanned, run.plan.version)
    ranges = ranges_of(
        live,
        mark,
        has_mark=has_mark,
        enabled=enabled,
        since=since,
        never_had_ids=never_had_ids(live, spanned),
    )
    run.findings.look(row_id_ranges, ranges)


def look_at_row_ids(run: DataRun) -> None:
    """Look at the row ids that live files hold, and at those that rewritten rows had before."""
    state = run.state
    if state.protocol is None or state.metadata is None or not state.supports(row_tracking.FEATURE):
        return
    if run.findings.wants(row_id_files) and row_tracking.is_enabled(state.protocol, state.metadata):
        _look_at_live_files(run)
    if run.findings.wants(row_id_rewrites):
        _look_at_rewrites(run)


def _look_at_live_files(run: DataRun) -> None:
    hidden = HiddenColumns.at(run.state.rows[table_state.configuration.name], run.version)
    mark, _ = run.state.high_water_mark
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
        except (StorageError, UnreadableRows, DeletionVectorError) as fault:
            run.findings.doubt((row_id_files,), why_unread(fault), file.path)
            continue
        repeated = seen.take(ids)
        row = {
            **file.place,
            "high_water_mark": mark,
            "table_version": run.version,
            "materialized_ids": ids.kept_rows,
            "highest_row_id": ids.highest_kept,
            "highest_row_commit_version": ids.highest_commit_version,
            "repeated_ids": len(repeated),
            "repeated_id": min(repeated.min(), MAX_ID) if len(repeated) else None,
        }
        rows.append(row)
    run.findings.look_at_rows(row_id_files, rows)


def _look_at_rewrites(run: DataRun) -> None:
    rows = run.state.rows
    configuration = rows[table_state.configuration.name]
    since = in_force_since(rows[table_state.protocols.name], configuration, row_tracking.FEATURE, row_tracking.ENABLED)
    for version in run.commits.rewriting:
        hidden = HiddenColumns.at(configuration, version)
        steady = all((*at_version(since, version - 1), *at_version(since, version)))
        if not steady or hidden != HiddenColumns.at(configuration, version - 1):
            continue
        row = _rewrite(run, version, hidden)
        run.findings.look_at_rows(row_id_rewrites, [] if row is None else [row])


def _rewrite(run: DataRun, version: int, hidden: HiddenColumns) -> dict[str, Any] | None:
    """A commit's row of the view `row_id_rewrites`; None where it changes data, or its files are not all there."""
    name = f"{LOG}/{commit_name(version)}"
    ids = {"add": RowIds(), "remove": RowIds()}
    place = name
    try:
        if any(row[DATA_CHANGE] is not False for row in run.commit(version).files.rows):
            return None
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
    lost, new = len(before.stable - after.stable), len(after.stable - before.stable)
    same = before.versions == after.versions if lost == new == 0 else None
    return {"version": version, "file": name, "lost_ids": lost, "new_ids": new, "commit_versions_kept": same}
