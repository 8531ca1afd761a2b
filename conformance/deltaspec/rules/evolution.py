"""Rules over changes of the protocol between versions. Source: Table Features for New and Existing Tables."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import protocols


@rule(
    "EVO001",
    requires=("protocol.upgrade-assumes-use", "protocol.upgrade-lists-used"),
    view=protocols,
    divergence="E41",
)
def used_feature_not_listed() -> pl.Expr:
    """A table was upgraded to feature lists, but a feature that only an older version used is not listed.

    The old protocol versions implied the feature. Time travel needs it but readers do not know, and constraints or
    generated columns are no longer enforced. (The upgrading commit may also have dropped the feature on purpose; the
    log does not show that.)
    Fix (decide): If the feature was not dropped on purpose, run `ALTER TABLE t SET TBLPROPERTIES
    ('delta.feature.NAME' = 'supported')`. Then check the rows that were written in between.

    Conforms::
        unlisted_used_features: [], uses_without_feature: []
        unlisted_used_features: ["columnMapping"], uses_without_feature: ["columnMapping: property delta.columnMapping.mode"]
    Violates::
        unlisted_used_features: ["checkConstraints"], uses_without_feature: []
    """
    return (pl.col("unlisted_used_features").list.len() > 0) & (pl.col("uses_without_feature").list.len() == 0)
