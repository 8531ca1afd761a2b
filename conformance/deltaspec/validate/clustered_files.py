"""Looks at live files that are older than the clustering of their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model import clustering
from deltaspec.views.clustered_files import clustered_file_rows, clustered_files

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun


def look_at_clustered_files(run: DataRun) -> None:
    """Ask the statistics of files for the columns that became clustering columns after they were added."""
    state = run.state
    if not state.supports(clustering.FEATURE) or not run.findings.wants(clustered_files):
        return
    columns = state.clustering_columns
    since = state.clustered.clustered_since(columns)
    if not since:
        return
    rows, are_in_doubt = clustered_file_rows(
        run.files.rows,
        since,
        state.clustered.fields_since(columns),
        run.spanned,
        run.operations,
        begins_with_checkpoint=run.begins_later,
    )
    run.findings.look(clustered_files, rows)
    if are_in_doubt:
        reason = "files without statistics of a clustering column may be older than the column"
        run.findings.doubt((clustered_files,), reason)
