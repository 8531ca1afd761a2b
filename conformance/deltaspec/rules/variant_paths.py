"""Rules over the paths of variant columns. Source: Statistics for Variant Columns."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.variant_paths import variant_paths


@rule("STA030", requires="statistics.variant-same-type-in-rows", view=variant_paths)
def variant_bound_of_mixed_types() -> pl.Expr:
    """A path of a variant column has a bound although its type differs between rows of the file.

    Values of two types have no order: readers that skip files by the bound lose rows of the other type.
    Fix: leave out the bounds of paths whose type differs between rows.

    Conforms::
        types: ["exact number"]
        types: []
    Violates::
        types: ["exact number", "string"]
    """
    return pl.col("types").list.len() > 1
