"""Rules over domain metadata. Source: chapters Domain Metadata and Clustered Table."""

import polars as pl

from deltaspec.rules.command_fixes import CLUSTER_BY_NONE_OR_RESTORE
from deltaspec.rules.fixes import LIST_FEATURE, RESTORE_CLUSTERING_OR_DOMAIN, WRITE_KEYS_ONCE
from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import clustering, domains


@rule("DOM001", requires="domain.needs-feature", view=domains, without_feature=True, fix=LIST_FEATURE)
def domain_without_feature() -> pl.Expr:
    """A metadata domain was written although the protocol does not support domainMetadata.

    Writers of this table need not know metadata domains and may drop them.

    Conforms::
        supported: true
    Violates::
        supported: false
    """
    return ~pl.col("supported")


@rule("DOM002", requires=("domain.reserved-prefix", "domain.demands-on-readers"), view=domains, divergence="S20")
def unknown_system_domain() -> pl.Expr:
    """A metadata domain has the reserved prefix `delta.`, but neither the protocol nor a proposal defines it.

    A newer revision may define it, or the writer made it up and a later revision gives the name another meaning. No
    table feature tells what it requires.
    Fix (decide): If the domain belongs to your application, write it again under a name without the prefix and
    remove this one. If an engine wrote it, leave it.

    Conforms::
        known_system_domain: true
        known_system_domain: null
    Violates::
        known_system_domain: false
    """
    return ~pl.col("known_system_domain")


@rule(
    "DOM003",
    requires=("domain.system-configuration", "domain.clustering-format"),
    view=domains,
    fix=CLUSTER_BY_NONE_OR_RESTORE,
)
def malformed_system_domain() -> pl.Expr:
    """The configuration of a system domain does not have the prescribed format.

    Writers cannot continue from its state: they assign row ids twice or lose the clustering columns.

    Conforms::
        configuration_fault: null
        configuration_fault: "has a lone surrogate"
        configuration_fault: "is nested more than 200 levels deep"
    Violates::
        configuration_fault: "holds no integer rowIdHighWaterMark"
    """
    return ~pl.col("configuration_fault").is_in(["has a lone surrogate", "is nested more than 200 levels deep"])


@rule(
    "DOM013",
    requires=("domain.system-configuration", "domain.clustering-format"),
    view=domains,
    divergence="S21",
    fix=RESTORE_CLUSTERING_OR_DOMAIN,
)
def lone_surrogate_in_system_domain() -> pl.Expr:
    """The configuration of a system domain has an escaped lone surrogate.

    The grammar of JSON permits it, but no UTF-8 text can contain it. Parsers keep, replace or refuse it, so engines
    read different states or fail. The format of the configuration is not checked.

    Conforms::
        configuration_fault: null
        configuration_fault: "holds no integer rowIdHighWaterMark"
    Violates::
        configuration_fault: "has a lone surrogate"
    """
    return pl.col("configuration_fault") == "has a lone surrogate"


@rule("DOM010", requires="domain.pre-image", view=domains)
def domain_removed_without_pre_image() -> pl.Expr:
    """A metadata domain was removed, but the action does not repeat its last configuration.

    Consumers that follow or undo changes of the table cannot determine what was removed.
    Fix (none): No repair is needed; the configuration is in the previous version. The writer should repeat it when
    it removes a domain.

    Conforms::
        removed: true, configuration: "{}", configuration_before: "{}"
        removed: true, configuration: "", configuration_before: null
        removed: false, configuration: "{}", configuration_before: "{\\"a\\":1}"
    Violates::
        removed: true, configuration: "", configuration_before: "{}"
    """
    return pl.col("removed") & (pl.col("configuration") != pl.col("configuration_before"))


@rule(
    "DOM011",
    requires=("domain.demands-on-writers", "clustering.feature"),
    view=domains,
    without_feature=True,
    fix=LIST_FEATURE,
)
def system_domain_without_feature() -> pl.Expr:
    """A system domain was written although the protocol does not support the feature that it belongs to.

    Writers of this table need not know the domain. They do not maintain row ids or clustering.

    Conforms::
        unsupported_feature: null
    Violates::
        unsupported_feature: clustering
    """
    return pl.col("unsupported_feature").is_not_null()


@rule("DOM012", requires="domain.user-naming", view=domains)
def confusable_domain_name() -> pl.Expr:
    """The name of a user domain is empty, or differs from another domain only in case.

    Applications confuse the two domains and overwrite one with the other.
    Fix (decide): Write the domain under a name with the owner as prefix, such as com.example.settings, then remove
    this one. Copy its configuration first.

    Conforms::
        confusable_with: null
    Violates::
        confusable_with: "app.settings"
        confusable_with: "delta."
    """
    return pl.col("confusable_with").is_not_null()


@rule("DOM004", requires="clustering.not-partitioned", view=clustering)
def clustered_and_partitioned() -> pl.Expr:
    """A table that supports clustering has partition columns.

    "When the feature clustering exists in the table protocol's writerFeatures, then we say that the table is a
    clustered table": it needs no clustering columns. Engines refuse the table, or lay out files by one and skip files
    by the other.
    Fix (rewrite): Copy the rows into a new table without partition columns, or without the feature clustering.

    Conforms::
        partition_columns: []
    Violates::
        partition_columns: ["day"]
    """
    return pl.col("partition_columns").list.len() > 0


@rule(
    "DOM005",
    requires=("clustering.columns-by-physical-name", "column-mapping.clustering-physical", "clustering.physical-names"),
    view=clustering,
)
def unknown_clustering_column() -> pl.Expr:
    """A clustering column is not a column of the table. Mapped columns are named by their physical name.

    A logical name refers to no column, or to another one after a rename. Files are clustered by the wrong column.
    Fix (restore): Restore the version before the defect, or the log from backup: `ALTER TABLE t CLUSTER BY (...)`
    fails in Delta Spark, which resolves the present columns first. The writer must name existing columns, by their
    physical names.

    Conforms::
        unknown_clustering_columns: []
    Violates::
        unknown_clustering_columns: ["region"]
    """
    return pl.col("unknown_clustering_columns").list.len() > 0


@rule("DOM014", requires="log.embedded-json", view=domains, divergence="S19", fix=WRITE_KEYS_ONCE)
def repeated_key_in_system_domain() -> pl.Expr:
    """The configuration of a system domain has the same key twice in one object.

    JSON parsers keep the first value or the last one, or fail. Engines read different states, or cannot open the table.

    Conforms::
        repeated_key: null
    Violates::
        repeated_key: "/rowIdHighWaterMark"
    """
    return pl.col("repeated_key").is_not_null()


@rule("DOM015", requires="domain.system-configuration", view=domains, divergence="S55")
def further_key_in_row_tracking_domain() -> pl.Expr:
    """The configuration of delta.rowTracking has further keys next to the high-water mark.

    The protocol says that it contains a single pair, and does not say what readers do with others. Engines ignore them,
    or read the mark from the key of another revision and assign row ids twice.
    Fix (none): Find the writer that adds the key, and correct it. The next commit that assigns row ids writes the
    domain again.

    Conforms::
        further_key: null
    Violates::
        further_key: note
    """
    return pl.col("further_key").is_not_null()
