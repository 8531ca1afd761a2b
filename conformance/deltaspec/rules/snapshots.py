"""Rules over the judged snapshot as a whole. Source: chapter Action Reconciliation."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.snapshot import snapshots


@rule("SNP001", requires="reconciliation.one-protocol", view=snapshots)
def snapshot_without_protocol() -> pl.Expr:
    """The snapshot has no protocol.

    Nobody knows what it takes to read the table.
    Fix: restore the part of the log that held it.

    Conforms::
        has_protocol: true, version: 4
        has_protocol: null, version: 4
        has_protocol: false, version: 0
    Violates::
        has_protocol: false, version: 4
    """
    return ~pl.col("has_protocol") & (pl.col("version") > 0)


@rule("SNP002", requires="reconciliation.one-metadata", view=snapshots)
def snapshot_without_metadata() -> pl.Expr:
    """The snapshot has no metaData.

    The table has no schema.
    Fix: restore the part of the log that held it.

    Conforms::
        has_metadata: true, version: 4
        has_metadata: null, version: 4
        has_metadata: false, version: 0
    Violates::
        has_metadata: false, version: 4
    """
    return ~pl.col("has_metadata") & (pl.col("version") > 0)
