"""Rules over log compactions. Source: chapter Log Compaction Files."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import replay_differences


def _differs(difference: str) -> pl.Expr:
    return (pl.col("derived_file_kind") == "compaction") & (pl.col("difference") == difference)


@rule("COP001", requires=("compaction.equals-replay", "compaction.removes-kept"), view=replay_differences)
def action_missing_from_compaction() -> pl.Expr:
    """A log compaction lacks an action of the commits it stands for.

    Engines that read compactions get another table than those that read the commits.
    Fix: delete the file; compactions are optional.

    Conforms::
        derived_file_kind: checkpoint, difference: missing
    Violates::
        derived_file_kind: compaction, difference: missing
    """
    return _differs("missing")


@rule("COP002", requires="compaction.equals-replay", view=replay_differences)
def unexpected_action_in_compaction() -> pl.Expr:
    """A log compaction holds an action that the commits it stands for do not leave.

    Engines that read compactions get another table than those that read the commits.
    Fix: delete the file; compactions are optional.

    Conforms::
        derived_file_kind: checkpoint, kind: add, difference: extra
        derived_file_kind: compaction, kind: commitInfo, difference: extra
    Violates::
        derived_file_kind: compaction, kind: add, difference: extra
        derived_file_kind: compaction, kind: cdc, difference: extra
    """
    return _differs("extra") & (pl.col("kind") != "commitInfo")


@rule("COP003", requires="compaction.equals-replay", view=replay_differences)
def action_differs_in_compaction() -> pl.Expr:
    """A log compaction says something else in an action than the commits it stands for.

    Engines that read compactions get another table than those that read the commits.
    Fix: delete the file; compactions are optional.

    Conforms::
        derived_file_kind: checkpoint, difference: differs
    Violates::
        derived_file_kind: compaction, difference: differs
    """
    return _differs("differs")


def _holds_commit_info() -> pl.Expr:
    return _differs("extra") & (pl.col("kind") == "commitInfo")


@rule(
    "COP004",
    requires=("compaction.commit-info-dropped", "compaction.example-without-commit-info"),
    view=replay_differences,
    since="current",
)
def commit_info_in_compaction() -> pl.Expr:
    """A log compaction holds a commitInfo.

    It belongs to one version alone; readers that take it for that of the snapshot see another's timestamp.
    Fix: delete the file; compactions are optional.

    Conforms::
        derived_file_kind: checkpoint, kind: commitInfo, difference: extra
        derived_file_kind: compaction, kind: add, difference: extra
    Violates::
        derived_file_kind: compaction, kind: commitInfo, difference: extra
    """
    return _holds_commit_info()


@rule(
    "COP005",
    requires="compaction.example-without-commit-info",
    view=replay_differences,
    divergence="S26",
    until="r3",
)
def unneeded_commit_info_in_compaction() -> pl.Expr:
    """A log compaction holds a commitInfo, which the text's example leaves out.

    The text says nowhere else what becomes of it; later texts forbid it.
    Fix: none is needed; the writer should leave it out.

    Conforms::
        derived_file_kind: checkpoint, kind: commitInfo, difference: extra
        derived_file_kind: compaction, kind: add, difference: extra
    Violates::
        derived_file_kind: compaction, kind: commitInfo, difference: extra
    """
    return _holds_commit_info()
