"""Check the statistics of live files that are older than the clustering of their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.protocol.features import clustering
from deltaspec.views.files.clustered_files import build_clustered_file_rows, clustered_files

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket


def check_clustered_files(data: DataBucket) -> None:
    """Check statistics for the columns that became clustering columns after a file was added."""
    state = data.facts.state
    if not state.supports(clustering.FEATURE) or not data.findings.has_rules_for(clustered_files):
        return
    columns = state.clustering_columns
    since = state.clustered.clustered_since(columns)
    if not since:
        return
    rows, has_undecided_files = build_clustered_file_rows(
        data.files.rows,
        since,
        state.clustered.fields_since(columns),
        data.intervals,
        data.facts.operations,
        begins_with_checkpoint=data.facts.plan.base is not None,
    )
    data.findings.evaluate(clustered_files, rows)
    if has_undecided_files:
        reason = "files without statistics of a clustering column may be older than the column"
        data.findings.mark_undecided((clustered_files,), reason)
