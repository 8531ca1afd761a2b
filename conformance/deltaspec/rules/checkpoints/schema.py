"""Rules over the Parquet columns of checkpoints. Source: chapters Checkpoints, Checkpoint Schema."""

import polars as pl

from deltaspec.rules.fixes import REWRITE_CHECKPOINT
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
    fix=REWRITE_CHECKPOINT,
)
def action_column_type_differs() -> pl.Expr:
    """A column of a checkpoint has another type than the action field that it stores.

    Readers that request the field's type fail, or read wrong values.

    Conforms::
        belongs_to: statistics, difference: "another type"
    Violates::
        belongs_to: action, difference: "another type"
    """
    return (pl.col("belongs_to") == "action") & (pl.col("difference") == "another type")


@rule(
    "CKP061",
    requires="checkpoint-contents.parsed-partition-value-types",
    view=checkpoint_columns,
    fix=REWRITE_CHECKPOINT,
)
def parsed_partition_value_type_differs() -> pl.Expr:
    """A partition column is missing from partitionValues_parsed, or has the wrong type there.

    Readers that prune partitions by it read too many files, or skip files that they need.

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
    fix=REWRITE_CHECKPOINT,
)
def parsed_statistic_type_differs() -> pl.Expr:
    """A column of stats_parsed has another type than its statistic or data column.

    Readers that skip files by it fail, or skip files that they need.

    Conforms::
        belongs_to: statistics, difference: "logical name"
        belongs_to: action, difference: "another type"
    Violates::
        belongs_to: statistics, difference: "another type"
    """
    return (pl.col("belongs_to") == "statistics") & (pl.col("difference") == "another type")


@rule("CKP063", requires="checkpoint-schema.physical-names", view=checkpoint_columns, fix=REWRITE_CHECKPOINT)
def parsed_column_by_logical_name() -> pl.Expr:
    """A typed column of a checkpoint uses the logical name although the column has a physical name.

    Readers look for the physical name and find nothing. After a rename they may use the values of another column.

    Conforms::
        difference: missing
    Violates::
        difference: "logical name"
    """
    return pl.col("difference") == "logical name"


@rule("CKP064", requires="checkpoint-schema.null-count", view=checkpoint_columns, divergence="E09")
def obsolete_null_counts_name() -> pl.Expr:
    """The null counts of stats_parsed are named nullCounts, as in the examples of older revisions.

    Readers look for nullCount, the name in every definition of the statistic, and find no null counts.
    Fix (rewrite): Write a new checkpoint with a corrected writer. It must write `nullCount`.

    Conforms::
        difference: "another type"
    Violates::
        difference: "older name"
    """
    return pl.col("difference") == "older name"


@rule("CKP082", requires="checkpoint-schema.parsed-statistics", view=checkpoint_columns, divergence="S60")
def unknown_statistic_in_checkpoint() -> pl.Expr:
    """The struct stats_parsed has a member that neither the protocol nor a proposal defines.

    The protocol does not say whether other members are allowed. If the name is a misspelling, such as `num_records` or
    `minVals`, readers find no statistics in the checkpoint.
    Fix (rewrite): Write a new checkpoint with a corrected writer. It must use numRecords, minValues, maxValues and
    nullCount.

    Conforms::
        difference: "older name"
    Violates::
        difference: "unknown name"
    """
    return pl.col("difference") == "unknown name"
