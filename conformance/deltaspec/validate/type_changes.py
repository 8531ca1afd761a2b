"""Looks at types of columns along the judged history, beside the files that are from before they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.views.type_widening import recorded_type_changes, type_change_rows, type_changes

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validate.embedded import EmbeddedRun


def look_at_type_changes(run: EmbeddedRun, spanned: pl.DataFrame) -> None:
    """Look at what schemas record of changed types, and at what changed between them.

    Args:
        run: after its replay.
        spanned: its adds and removes, as `file_replay.spans` gives them.
    """
    history = run.state.widening
    run.findings.look_at_rows(recorded_type_changes, history.records)
    if run.files_in_doubt is not None:
        run.findings.doubt((recorded_type_changes, type_changes), run.files_in_doubt)
    elif run.findings.wants(type_changes):
        run.findings.look_at_rows(type_changes, type_change_rows(history, spanned, run.operations))
