"""Looks at row tracking: row ids that the log gives to files, and those that the files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from deltaspec.model import row_tracking
from deltaspec.views import table_state
from deltaspec.views.file_replay import live_at
from deltaspec.views.in_force import in_force_since
from deltaspec.views.row_ids import column_rows, ranges_of, row_id_columns, row_id_ranges

if TYPE_CHECKING:
    from deltaspec.validate.embedded import EmbeddedRun


def look_at_row_id_ranges(run: EmbeddedRun, spanned: pl.DataFrame) -> None:
    """Look at what the log says of row ids, where the table supports row tracking and has not suspended it.

    Args:
        run: after its replay.
        spanned: its adds and removes, as `file_replay.spans` gives them.
    """
    state = run.state
    views = (row_id_ranges, row_id_columns)
    if not state.protocol_known or not state.metadata_known:
        run.findings.doubt(views, "an action that row tracking depends on cannot be decoded")
        return
    if state.protocol is None or state.metadata is None or not state.supports(row_tracking.FEATURE):
        return
    if not row_tracking.assigns_row_ids(state.protocol, state.metadata):
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
    since = in_force_since(*rows, row_tracking.FEATURE, row_tracking.SUSPENDED)
    domain = state.domains.get(row_tracking.DOMAIN)
    live = live_at(spanned, run.plan.version)
    run.findings.look(row_id_ranges, ranges_of(live, domain, enabled=enabled, since=since))
