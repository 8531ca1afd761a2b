"""Looks at types of columns along the judged history, beside the files that are from before they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validate.sums import Sums
from deltaspec.views.type_widening import judged_changes, older_file_counts, recorded_type_changes, type_changes

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validate.base_run import Run


def look_at_type_changes(run: Run, sums: Sums) -> None:
    """Look at what schemas record of changed types, and at what changed between them.

    Args:
        run: after its replay.
        sums: what the shares of its files say.
    """
    history = run.state.widening
    run.findings.look_at_rows(recorded_type_changes, history.records)
    if run.files_in_doubt is not None:
        run.findings.doubt((recorded_type_changes, type_changes), run.files_in_doubt)
    elif run.findings.wants(type_changes):
        changes = judged_changes(history, run.operations)
        files = sums.older_files or [0] * len(changes)
        rows = [{**row, "older_files": number} for (row, _), number in zip(changes, files, strict=True)]
        run.findings.look_at_rows(type_changes, rows)


def older_files(run: Run, spanned: pl.DataFrame) -> list[int]:
    """Of each change of a type: files of a share from when the column had the type before.

    Args:
        run: after it read the judged history.
        spanned: adds and removes of the share, as `file_replay.spans` gives them.
    """
    changes = judged_changes(run.state.widening, run.operations)
    return older_file_counts(changes, spanned) if changes and run.findings.wants(type_changes) else []
