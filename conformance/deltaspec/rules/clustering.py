"""Rules over clustered tables. Source: chapter Clustered Table."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.clustered_files import clustered_files
from deltaspec.views.files.file_actions import file_actions
from deltaspec.views.table.table_actions import clustering


@rule("CLU001", requires="clustering.provider", view=file_actions)
def empty_clustering_provider() -> pl.Expr:
    """A file has a clusteringProvider that is empty: something clustered it, and nobody is named.

    An implementation clusters its own files again and those that nothing clustered: this one is left as it is for ever.
    Fix: commit the file again with the name of the implementation, or without the field.

    Conforms::
        provider_is_empty: false
        provider_is_empty: null
    Violates::
        provider_is_empty: true
    """
    return pl.col("provider_is_empty")


@rule("CLU002", requires="clustering.physical-names", view=clustering, until="r3")
def clustered_by_logical_names() -> pl.Expr:
    """Columns are mapped, and the domain of clustering has the displayed name of a column, not its physical one.

    After a rename the name is that of no column, or of another one: files are clustered by the wrong column.
    Fix: the writer should commit the domain delta.clustering with physical names.

    Conforms::
        logically_named_clustering_columns: []
    Violates::
        logically_named_clustering_columns: ["region"]
    """
    return pl.col("logically_named_clustering_columns").list.len() > 0


@rule("CLU003", requires="clustering.statistics-of-new-columns", view=clustered_files)
def older_file_without_statistics_of_clustering_column() -> pl.Expr:
    """A column was added to those of clustering, and a file that was there before has no statistics of it.

    Whoever clusters by the column cannot tell where the file belongs, and no query can skip it.
    Fix: commit the file again with statistics of the column, or rewrite it.

    Conforms::
        columns_without_statistics: []
        columns_without_statistics: null
    Violates::
        columns_without_statistics: ["day"]
    """
    return pl.col("columns_without_statistics").list.len() > 0
