"""Looks at live files that are older than the clustering of their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model import clustering
from deltaspec.views.clustered_files import clustered_file_rows, clustered_files, clustered_since
from deltaspec.views.table_state import clustering as clustering_view

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun


def look_at_clustered_files(run: DataRun) -> None:
    """Ask the statistics of files for the columns that became clustering columns after they were added."""
    state = run.state
    if not state.supports(clustering.FEATURE) or not run.findings.wants(clustered_files):
        return
    named = clustering.clustering_columns(state.domains.get(clustering.DOMAIN))
    columns = clustering.known_columns(named, state.schema, state.mapping)
    since = clustered_since(state.rows[clustering_view.name], columns)
    if since:
        run.findings.look(clustered_files, clustered_file_rows(run.files.rows, since))
