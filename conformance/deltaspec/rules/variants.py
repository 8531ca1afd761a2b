"""Rules over variant columns. Source: Variant Data Type, Variant Shredding (current)."""

import polars as pl

from deltaspec.rules.command_fixes import CLUSTER_BY_NONE, DROP_DEFAULT
from deltaspec.rules.registry import rule
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.data.variants import variant_columns, variant_uses

# Variant columns in the schema


@rule("VAR001", requires="variant.not-partitioning", view=variant_uses)
def partitioned_by_variant() -> pl.Expr:
    """A partition column is a variant.

    Variants cannot be compared and have no string format. Readers cannot tell partitions apart.
    Fix (rewrite): Copy the rows into a new table that is partitioned by a primitive column extracted from the
    variant.

    Conforms::
        is_partition_column: false
    Violates::
        is_partition_column: true
    """
    return pl.col("is_partition_column")


@rule("VAR002", requires="variant.not-clustering", view=variant_uses, fix=CLUSTER_BY_NONE)
def clustered_by_variant() -> pl.Expr:
    """A clustering column is a variant.

    Variants cannot be compared, so they cannot be clustered.

    Conforms::
        is_clustering_column: false
    Violates::
        is_clustering_column: true
    """
    return pl.col("is_clustering_column")


@rule("VAR003", requires="variant.not-generated", view=variant_uses)
def generated_variant() -> pl.Expr:
    """A generated column is a variant.

    Writers must compare inserted values with the expression, and variants cannot be compared.
    Fix (rewrite): Copy the rows into a table with an ordinary variant column. A generated column may be computed
    from a variant.

    Conforms::
        is_generated: false
    Violates::
        is_generated: true
    """
    return pl.col("is_generated")


@rule("VAR004", requires="variant.default-null", view=variant_uses, fix=DROP_DEFAULT)
def variant_with_default() -> pl.Expr:
    """A variant column has a default other than null.

    Engines insert null for rows without a value, or fail.

    Conforms::
        default_is_null: true
        default_is_null: null
    Violates::
        default_is_null: false
    """
    return ~pl.col("default_is_null")


# Variants in data files


@rule("VAR005", requires="variant.encoding", view=variant_columns)
def undecodable_variant() -> pl.Expr:
    """A variant value does not follow the variant encoding of Parquet.

    Readers fail, or decode another value.
    Fix (rewrite): Write the rows again from their source. Do not rewrite them through an engine that decodes
    another value.

    Conforms::
        encoding_fault: null
    Violates::
        encoding_fault: "a string is truncated"
    """
    return pl.col("encoding_fault").is_not_null()


@rule("VAR006", requires="variant-shredding.stored-once", view=variant_columns)
def variant_stored_twice() -> pl.Expr:
    """A part of a shredded variant is stored both in a typed column and in the binary value.

    Readers use one or the other, and the two may differ.
    Fix (decide): Find out from the source which value is right, and write the rows again. Do not let an engine
    choose.

    Conforms::
        stored_twice: null
    Violates::
        stored_twice: "field a"
    """
    return pl.col("stored_twice").is_not_null()


@rule(
    "VAR008",
    requires=(
        "variant-shredding.objects-typed",
        "variant-shredding.arrays-typed",
        "variant-shredding.present",
        "variant-shredding.names-in-metadata",
    ),
    view=variant_columns,
)
def variant_shredded_otherwise() -> pl.Expr:
    """The columns of a shredded variant do not follow the shredding specification of Parquet.

    Readers that use only the typed columns, as the specification allows, lose values or fail.
    Fix (rewrite): Write the rows again from their source. Do not rewrite them through an engine, which may lose
    values.

    Conforms::
        shredding_fault: null
    Violates::
        shredding_fault: "the value is an object, and typed_value is null"
    """
    return pl.col("shredding_fault").is_not_null()


@rule(
    "VAR007",
    requires=("variant-shredding.only-when-enabled", "variant-shredding.enabled"),
    view=file_columns,
)
def shredded_while_disabled() -> pl.Expr:
    """A new file has a shredded variant although delta.enableVariantShredding was not true.

    The table's owner did not permit shredding, so readers of the table may not support it.
    Fix (decide): Set `delta.enableVariantShredding` to true, or rewrite the file's rows with an engine that
    supports shredding and writes without it.

    Conforms::
        is_shredded: true, shredding_supported: true, written_without_shredding: false
        is_shredded: true, shredding_supported: false, written_without_shredding: true
        is_shredded: true, shredding_supported: true, written_without_shredding: null
        is_shredded: false, shredding_supported: true, written_without_shredding: true
        is_shredded: null, shredding_supported: true, written_without_shredding: true
    Violates::
        is_shredded: true, shredding_supported: true, written_without_shredding: true
    """
    return pl.col("is_shredded") & pl.col("shredding_supported") & pl.col("written_without_shredding")
