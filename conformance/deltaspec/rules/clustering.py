"""Rules over clustered tables. Source: chapter Clustered Table."""

import polars as pl

from deltaspec.rules.command_fixes import CLUSTER_BY_NONE
from deltaspec.rules.registry import rule
from deltaspec.views.files.clustered_files import clustered_files
from deltaspec.views.files.file_actions import file_actions
from deltaspec.views.table.table_actions import clustering


@rule("CLU001", requires="clustering.provider", view=file_actions)
def empty_clustering_provider() -> pl.Expr:
    """A file has an empty clusteringProvider.

    A clustering implementation rewrites its own files and files without a provider. It never rewrites this one.
    Fix (rewrite): Rewrite the file's rows with a conforming writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark). The writer must store its name as the provider, or omit the field.

    Conforms::
        provider_is_empty: false
        provider_is_empty: null
    Violates::
        provider_is_empty: true
    """
    return pl.col("provider_is_empty")


@rule("CLU002", requires="clustering.physical-names", view=clustering, until="r3")
def clustered_by_logical_names() -> pl.Expr:
    """The clustering domain names a mapped column by its logical name instead of its physical name.

    After the column is renamed, the name refers to no column or to another one, so files are clustered by the wrong
    column.
    Fix (rewrite): Write the domain again with an engine that can load the table, before any column is renamed. Delta
    Spark fails to resolve the logical names, so its `ALTER TABLE t CLUSTER BY (...)` does not help.

    Conforms::
        logically_named_clustering_columns: []
    Violates::
        logically_named_clustering_columns: ["region"]
    """
    return pl.col("logically_named_clustering_columns").list.len() > 0


@rule("CLU003", requires="clustering.statistics-of-new-columns", view=clustered_files)
def older_file_without_statistics_of_clustering_column() -> pl.Expr:
    """A column was added to the clustering columns, but an older file has no statistics for it.

    Clustering cannot place the file, and no query can skip it.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    older files with a writer that collects statistics for the new column.

    Conforms::
        columns_without_statistics: []
        columns_without_statistics: null
    Violates::
        columns_without_statistics: ["day"]
    """
    return pl.col("columns_without_statistics").list.len() > 0


@rule("CLU004", requires="clustering.columns-by-physical-name", view=clustering, divergence="S52", fix=CLUSTER_BY_NONE)
def clustered_table_without_domain() -> pl.Expr:
    """A table supports clustering, but has no domain delta.clustering.

    Some engines treat the table as one without clustering columns, others refuse to cluster it.

    Conforms::
        has_domain: true
        has_domain: null
    Violates::
        has_domain: false
    """
    return ~pl.col("has_domain")
