"""Looks at types of columns along the judged history, beside the files that are from before they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validation.aggregates import Aggregates
from deltaspec.views.table.type_widening import (
    collect_type_changes,
    count_older_files,
    recorded_type_changes,
    type_changes,
)

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validation.base_run import Run


def check_type_changes(run: Run, aggregates: Aggregates) -> None:
    """Look at what schemas record of changed types, and at what changed between them.

    Args:
        run: after its replay.
        sums: what the shares of its files say.
    """
    history = run.state.widening
    run.findings.evaluate_rows(recorded_type_changes, history.records)
    if run.replay_blocked_reason is not None:
        run.findings.mark_undecided((recorded_type_changes, type_changes), run.replay_blocked_reason)
    elif run.findings.has_rules_for(type_changes):
        changes = collect_type_changes(history, run.operations)
        files = aggregates.older_files or [0] * len(changes)
        rows = [{**row, "older_files": number} for (row, _), number in zip(changes, files, strict=True)]
        run.findings.evaluate_rows(type_changes, rows)


def older_files(run: Run, intervals: pl.DataFrame) -> list[int]:
    """Of each change of a type: files of a share from when the column had the type before.

    Args:
        run: after it read the judged history.
        spanned: adds and removes of the share, as `file_replay.spans` gives them.
    """
    changes = collect_type_changes(run.state.widening, run.operations)
    return count_older_files(changes, intervals) if changes and run.findings.has_rules_for(type_changes) else []
