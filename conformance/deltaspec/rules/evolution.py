"""Rules over what changes from version to version. Source: Table Features for New and Existing Tables."""

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
    """A table was upgraded to feature lists, and a feature that an older version of it used is not listed.

    The old versions stood for it. Whoever travels back to them needs it and is not told, and what it protects, such
    as constraints or generated columns, is protected no more.
    (Where the feature was to be dropped, the commit that upgrades may drop it as well: the log does not tell.)
    Fix: commit a protocol that lists it.

    Conforms::
        unlisted_used_features: []
    Violates::
        unlisted_used_features: ["checkConstraints"]
    """
    return pl.col("unlisted_used_features").list.len() > 0
