"""Rules over the paths of variant columns. Source: Statistics for Variant Columns."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.variant_paths import variant_paths


@rule("STA030", requires="statistics.variant-same-type-in-rows", view=variant_paths)
def variant_bound_of_mixed_types() -> pl.Expr:
    """A path of a variant column has a bound although its type differs between rows.

    Values of different types have no order. Readers that skip files by the bound lose rows of the other type.
    Fix: Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite the file's
    rows with a conforming writer. The writer must omit bounds of such paths. Read the rows without a filter on the
    column.

    Conforms::
        types: ["exact number"]
        types: []
    Violates::
        types: ["exact number", "string"]
    """
    return pl.col("types").list.len() > 1
