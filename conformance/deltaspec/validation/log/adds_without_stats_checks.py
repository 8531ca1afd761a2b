"""Looks at adds whose statistics leave out what the table asks of them, once every path is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.views.files.adds_without_stats import adds_without_stats, build_adds_without_stats_rows

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validation.base_run import Run


def check_adds_without_stats(run: Run, chain: pl.DataFrame, rows: pl.DataFrame | None) -> None:
    """Judge them, where every file action of the judged history is known.

    Args:
        run: after it has read the judged history.
        chain: adds and removes of a share.
        rows: of `collect_adds_without_stats`, those of the share; None where there are none.
    """
    if run.replay_blocked_reason or rows is None or not run.findings.has_rules_for(adds_without_stats):
        return
    starts_after_version_0 = run.plan.base is not None
    run.findings.evaluate(
        adds_without_stats,
        build_adds_without_stats_rows(rows, chain, run.operations, begins_with_checkpoint=starts_after_version_0),
    )
