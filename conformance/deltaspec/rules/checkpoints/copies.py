"""Rules over typed columns of checkpoints that differ from the text that they repeat. Source: chapter Checkpoints."""

import polars as pl

from deltaspec.rules.fixes import REWRITE_CHECKPOINT
from deltaspec.rules.registry import rule
from deltaspec.views.files.typed_copies import typed_copies


@rule("CKP080", requires="checkpoint-contents.struct-statistics-equal", view=typed_copies, fix=REWRITE_CHECKPOINT)
def typed_statistic_differs() -> pl.Expr:
    """A statistic in stats_parsed differs from the JSON statistics of the same file.

    Readers that use stats_parsed skip files that have matching rows, or count other rows than readers of the JSON.

    Conforms::
        typed_column: partitionValues_parsed
    Violates::
        typed_column: stats_parsed
    """
    return pl.col("typed_column") == "stats_parsed"


@rule("CKP081", requires="checkpoint-contents.parsed-partition-values-equal", view=typed_copies, fix=REWRITE_CHECKPOINT)
def typed_partition_value_differs() -> pl.Expr:
    """A value in partitionValues_parsed differs from the partition value of the same file.

    Readers that prune partitions by the typed column lose rows, or return them with another partition value.

    Conforms::
        typed_column: stats_parsed
    Violates::
        typed_column: partitionValues_parsed
    """
    return pl.col("typed_column") == "partitionValues_parsed"
