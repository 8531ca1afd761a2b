"""Looks at adds whose statistics leave out what the table asks of them, once every path is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.views.bare_adds import bare_add_rows, bare_adds

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validate.base_run import Run


def look_at_bare_adds(run: Run, chain: pl.DataFrame, rows: pl.DataFrame | None) -> None:
    """Judge them, where every file action of the judged history is known.

    Args:
        run: after it has read the judged history.
        chain: adds and removes of a share.
        rows: of `bare_rows`, those of the share; None where there are none.
    """
    if run.files_in_doubt or rows is None or not run.findings.wants(bare_adds):
        return
    begins_later = run.plan.base is not None
    run.findings.look(bare_adds, bare_add_rows(rows, chain, run.operations, begins_with_checkpoint=begins_later))
