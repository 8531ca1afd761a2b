"""Rules over variant columns. Source: Variant Data Type, Variant Shredding (current)."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.data.variants import variant_columns, variant_uses

# what else a variant column is


@rule("VAR001", requires="variant.not-partitioning", view=variant_uses)
def partitioned_by_variant() -> pl.Expr:
    """A partition column is a variant.

    Variants cannot be compared, and have no form as text: readers cannot tell files of one value from those of another.
    Fix: partition by a column that is taken out of the variant.

    Conforms::
        is_partition_column: false
    Violates::
        is_partition_column: true
    """
    return pl.col("is_partition_column")


@rule("VAR002", requires="variant.not-clustering", view=variant_uses)
def clustered_by_variant() -> pl.Expr:
    """A clustering column is a variant.

    Variants cannot be compared, so nothing can be clustered by them.
    Fix: cluster by a column that is taken out of the variant.

    Conforms::
        is_clustering_column: false
    Violates::
        is_clustering_column: true
    """
    return pl.col("is_clustering_column")


@rule("VAR003", requires="variant.not-generated", view=variant_uses)
def generated_variant() -> pl.Expr:
    """A generated column is a variant.

    Writers have to compare what is written with what the expression gives, and variants cannot be compared.
    Fix: make the column an ordinary one; a generated column may be computed from a variant.

    Conforms::
        is_generated: false
    Violates::
        is_generated: true
    """
    return pl.col("is_generated")


@rule("VAR004", requires="variant.default-null", view=variant_uses)
def variant_with_default() -> pl.Expr:
    """A variant column has another default than null.

    Engines give rows without a value null, or fail.
    Fix: make the default NULL, or take it away.

    Conforms::
        default_is_null: true
        default_is_null: null
    Violates::
        default_is_null: false
    """
    return ~pl.col("default_is_null")


# what files hold


@rule("VAR005", requires="variant.encoding", view=variant_columns)
def undecodable_variant() -> pl.Expr:
    """A variant is not encoded as Parquet's encoding of variants says.

    Readers fail on it, or take other bytes for its value.
    Fix: rewrite the file from its source.

    Conforms::
        encoding_fault: null
    Violates::
        encoding_fault: "a string ends early"
    """
    return pl.col("encoding_fault").is_not_null()


@rule("VAR006", requires="variant-shredding.stored-once", view=variant_columns)
def variant_stored_twice() -> pl.Expr:
    """A part of a shredded variant stands in a column of its own and in the encoded value too.

    Which of them a reader takes depends on what it reads, and the two may differ.
    Fix: rewrite the file with what typed columns hold left out of value.

    Conforms::
        stored_twice: null
    Violates::
        stored_twice: "field a"
    """
    return pl.col("stored_twice").is_not_null()


@rule(
    "VAR007",
    requires=("variant-shredding.only-when-enabled", "variant-shredding.enabled"),
    view=file_columns,
)
def shredded_while_disabled() -> pl.Expr:
    """A new file has a shredded variant, and delta.enableVariantShredding was not true when it was written.

    Who did not enable shredding has readers that do not know it.
    Fix: enable it, or rewrite the file with variants that are not shredded.

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
