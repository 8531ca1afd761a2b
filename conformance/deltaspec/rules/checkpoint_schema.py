"""Rules over the Parquet columns of checkpoints. Source: chapters Checkpoints, Checkpoint Schema."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoint_contents import checkpoint_columns


@rule(
    "CKP060",
    requires=(
        "checkpoint-schema.add",
        "checkpoint-schema.metadata",
        "checkpoint-schema.protocol",
        "checkpoint-schema.transaction",
        "checkpoint-schema.remove",
    ),
    view=checkpoint_columns,
)
def action_column_type_differs() -> pl.Expr:
    """A column of a checkpoint is of another type than the field of its action.

    Readers that ask for the field's own type fail, or read other values.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        belongs_to: statistics, difference: "another type"
    Violates::
        belongs_to: action, difference: "another type"
    """
    return (pl.col("belongs_to") == "action") & (pl.col("difference") == "another type")


@rule("CKP061", requires="checkpoint-contents.parsed-partition-value-types", view=checkpoint_columns)
def parsed_partition_value_type_differs() -> pl.Expr:
    """A partition column is missing from partitionValues_parsed, or is of another type there.

    Readers that prune partitions by it read too much, or lose files.
    Fix: write the checkpoint anew with each partition column in the type that the schema gives it.

    Conforms::
        belongs_to: "partition values", difference: "logical name"
        belongs_to: statistics, difference: "another type"
    Violates::
        belongs_to: "partition values", difference: "another type"
        belongs_to: "partition values", difference: missing
    """
    return (pl.col("belongs_to") == "partition values") & pl.col("difference").is_in(["another type", "missing"])


@rule(
    "CKP062",
    requires=("checkpoint-schema.parsed-statistics", "statistics.variant-bounds-in-parquet"),
    view=checkpoint_columns,
)
def parsed_statistic_type_differs() -> pl.Expr:
    """A column of stats_parsed is of another type than the statistic or the data column.

    Readers that skip files by it fail, or skip files that they need.
    Fix: write the checkpoint anew with bounds in the types of their columns, and counts as long.

    Conforms::
        belongs_to: statistics, difference: "logical name"
        belongs_to: action, difference: "another type"
    Violates::
        belongs_to: statistics, difference: "another type"
    """
    return (pl.col("belongs_to") == "statistics") & (pl.col("difference") == "another type")


@rule("CKP063", requires="checkpoint-schema.physical-names", view=checkpoint_columns)
def parsed_column_by_logical_name() -> pl.Expr:
    """A typed column of a checkpoint goes by the logical name although column mapping gives it a physical one.

    Readers look for the physical name and find nothing; after a rename they may find another column.
    Fix: write the checkpoint anew with physical names.

    Conforms::
        difference: missing
    Violates::
        difference: "logical name"
    """
    return pl.col("difference") == "logical name"


@rule("CKP064", requires="checkpoint-schema.null-count", view=checkpoint_columns, divergence="E09")
def obsolete_null_counts_name() -> pl.Expr:
    """The null counts of stats_parsed are called nullCounts, as in the samples of earlier texts.

    Readers look for nullCount, which every text calls the statistic, and know no null counts.
    Fix: write the checkpoint anew with `nullCount`.

    Conforms::
        difference: "another type"
    Violates::
        difference: "older name"
    """
    return pl.col("difference") == "older name"
