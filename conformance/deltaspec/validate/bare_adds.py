"""Looks at adds whose statistics leave out what the table asks of them, once every path is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from deltaspec.views.bare_adds import bare_add_rows, bare_adds

if TYPE_CHECKING:
    from deltaspec.validate.embedded import EmbeddedRun


def look_at_bare_adds(run: EmbeddedRun, chain: pl.DataFrame) -> None:
    """Judge them, where every file action of the judged history is known.

    Args:
        run: after it has read the judged history.
        chain: its adds and removes.
    """
    if run.files_in_doubt or not run.bare_adds or not run.findings.wants(bare_adds):
        return
    rows = pl.concat(run.bare_adds)
    begins_later = run.plan.base is not None
    run.findings.look(bare_adds, bare_add_rows(rows, chain, run.operations, begins_with_checkpoint=begins_later))
