"""Rules over domain metadata. Source: chapters Domain Metadata and Clustered Table."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import clustering, domains


@rule("DOM001", requires="domain.needs-feature", view=domains)
def domain_without_feature() -> pl.Expr:
    """A domain was written although the protocol does not support domainMetadata.

    Writers of this table need not know domains and drop them.
    Fix: commit a protocol with minWriterVersion 7 that lists domainMetadata.

    Conforms::
        supported: true
    Violates::
        supported: false
    """
    return ~pl.col("supported")


@rule("DOM002", requires=("domain.reserved-prefix", "domain.demands-on-readers"), view=domains, divergence="S20")
def unknown_system_domain() -> pl.Expr:
    """A domain has a name of the reserved prefix `delta.` that neither the text nor a proposal defines.

    It may be that of a newer text, which clients pass over, or one that the writer made up: a later protocol may then
    give the name another meaning. What it asks of readers and writers no feature of the table tells.
    Fix: use a name without the prefix.

    Conforms::
        known_system_domain: true
        known_system_domain: null
    Violates::
        known_system_domain: false
    """
    return ~pl.col("known_system_domain")


@rule("DOM003", requires=("domain.system-configuration", "domain.clustering-format"), view=domains)
def malformed_system_domain() -> pl.Expr:
    """The configuration of a domain that the text defines is not of the form it prescribes.

    Writers cannot go on from the state that it should hold: row ids are assigned twice, clustering is lost.
    Fix: commit the domain with a sound configuration.

    Conforms::
        configuration_fault: null
    Violates::
        configuration_fault: "holds no integer rowIdHighWaterMark"
    """
    return pl.col("configuration_fault").is_not_null()


@rule("DOM010", requires="domain.pre-image", view=domains)
def domain_removed_without_pre_image() -> pl.Expr:
    """A domain was removed, and the action does not repeat the configuration that it had.

    Whoever follows the changes of a table, or undoes them, cannot tell what was removed.
    Fix: the writer should repeat the last configuration when it removes a domain.

    Conforms::
        removed: true, configuration: "{}", configuration_before: "{}"
        removed: true, configuration: "", configuration_before: null
        removed: false, configuration: "{}", configuration_before: "{\\"a\\":1}"
    Violates::
        removed: true, configuration: "", configuration_before: "{}"
    """
    return pl.col("removed") & (pl.col("configuration") != pl.col("configuration_before"))


@rule("DOM011", requires=("domain.demands-on-writers", "clustering.feature"), view=domains)
def system_domain_without_feature() -> pl.Expr:
    """A domain that asks something of writers was written although the table does not support the feature it is part of.

    Writers of this table need not know what the domain asks: they leave row ids or clustering behind.
    Fix: commit a protocol that lists the feature, or remove the domain.

    Conforms::
        unsupported_feature: null
    Violates::
        unsupported_feature: clustering
    """
    return pl.col("unsupported_feature").is_not_null()


@rule("DOM012", requires="domain.user-naming", view=domains)
def confusable_domain_name() -> pl.Expr:
    """The name of a user's domain is empty, or differs from that of another domain or of all system domains in case alone.

    Applications take one for the other and overwrite it.
    Fix: name the domain after its owner, such as com.example.settings.

    Conforms::
        confusable_with: null
    Violates::
        confusable_with: "app.settings"
        confusable_with: "delta."
    """
    return pl.col("confusable_with").is_not_null()


@rule("DOM004", requires="clustering.not-partitioned", view=clustering)
def clustered_and_partitioned() -> pl.Expr:
    """A table has clustering columns and partition columns at the same time.

    Engines refuse such a table, or lay out its files by one and skip them by the other.
    Fix: remove the clustering columns, or replace the table by one without partition columns.

    Conforms::
        clustering_columns: ["id"], partition_columns: []
        clustering_columns: [], partition_columns: ["day"]
    Violates::
        clustering_columns: ["id"], partition_columns: ["day"]
    """
    return (pl.col("clustering_columns").list.len() > 0) & (pl.col("partition_columns").list.len() > 0)


@rule(
    "DOM005",
    requires=("clustering.columns-by-physical-name", "column-mapping.clustering-physical", "clustering.physical-names"),
    view=clustering,
)
def unknown_clustering_column() -> pl.Expr:
    """A clustering column is no column of the table; under column mapping that is known by its physical name.

    After a rename the displayed name is that of no column or of another one: files are clustered by the wrong one.
    Fix: commit the domain delta.clustering with the physical names of its columns.

    Conforms::
        unknown_clustering_columns: []
    Violates::
        unknown_clustering_columns: ["region"]
    """
    return pl.col("unknown_clustering_columns").list.len() > 0
