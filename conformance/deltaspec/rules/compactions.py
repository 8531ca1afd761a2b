"""Rules over log compactions. Source: chapter Log Compaction Files."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.checkpoints import checkpoint_rows


def _differs(difference: str) -> pl.Expr:
    return (pl.col("claim") == "compaction") & (pl.col("difference") == difference)


@rule("COP001", requires=("compaction.equals-replay", "compaction.removes-kept"), view=checkpoint_rows)
def action_missing_from_compaction() -> pl.Expr:
    """A log compaction lacks an action of the commits it stands for.

    Engines that read compactions get another table than those that read the commits.
    Fix: delete the file; compactions are optional.

    Conforms::
        claim: checkpoint, difference: missing
    Violates::
        claim: compaction, difference: missing
    """
    return _differs("missing")


@rule("COP002", requires="compaction.equals-replay", view=checkpoint_rows)
def foreign_action_in_compaction() -> pl.Expr:
    """A log compaction holds an action that the commits it stands for do not leave.

    Engines that read compactions get another table than those that read the commits.
    Fix: delete the file; compactions are optional.

    Conforms::
        claim: checkpoint, difference: extra
    Violates::
        claim: compaction, difference: extra
    """
    return _differs("extra")


@rule("COP003", requires="compaction.equals-replay", view=checkpoint_rows)
def action_differs_in_compaction() -> pl.Expr:
    """A log compaction says something else in an action than the commits it stands for.

    Engines that read compactions get another table than those that read the commits.
    Fix: delete the file; compactions are optional.

    Conforms::
        claim: checkpoint, difference: differs
    Violates::
        claim: compaction, difference: differs
    """
    return _differs("differs")
