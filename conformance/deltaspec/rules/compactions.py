"""Rules over log compactions. Source: chapter Log Compaction Files."""

import polars as pl

from deltaspec.rules.fixes import DELETE_COMPACTION
from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import replay_differences


def _differs(difference: str) -> pl.Expr:
    return (pl.col("derived_file_kind") == "compaction") & (pl.col("difference") == difference)


@rule(
    "COP001",
    requires=("compaction.equals-replay", "compaction.removes-kept"),
    view=replay_differences,
    fix=DELETE_COMPACTION,
)
def action_missing_from_compaction() -> pl.Expr:
    """A log compaction does not contain an action that its commits leave.

    Engines that read compactions see another table than engines that read the commits.

    Conforms::
        derived_file_kind: checkpoint, difference: missing
    Violates::
        derived_file_kind: compaction, difference: missing
    """
    return _differs("missing")


@rule("COP002", requires="compaction.equals-replay", view=replay_differences, fix=DELETE_COMPACTION)
def unexpected_action_in_compaction() -> pl.Expr:
    """A log compaction contains an action that its commits do not leave.

    Engines that read compactions see another table than engines that read the commits.

    Conforms::
        derived_file_kind: checkpoint, kind: add, difference: extra
        derived_file_kind: compaction, kind: commitInfo, difference: extra
    Violates::
        derived_file_kind: compaction, kind: add, difference: extra
        derived_file_kind: compaction, kind: cdc, difference: extra
    """
    return _differs("extra") & (pl.col("kind") != "commitInfo")


@rule("COP003", requires="compaction.equals-replay", view=replay_differences, fix=DELETE_COMPACTION)
def action_differs_in_compaction() -> pl.Expr:
    """An action in a log compaction differs from the action that its commits leave.

    Engines that read compactions see another table than engines that read the commits.

    Conforms::
        derived_file_kind: checkpoint, difference: differs
    Violates::
        derived_file_kind: compaction, difference: differs
    """
    return _differs("differs")


@rule("COP006", requires="compaction.equals-replay", view=replay_differences, fix=DELETE_COMPACTION)
def repeated_action_in_compaction() -> pl.Expr:
    """A log compaction has several actions where reconciliation keeps only one.

    Two protocols, two metaData, or two actions of one application or domain. The actions of one file have no order, so
    engines that read the compaction choose different ones.

    Conforms::
        derived_file_kind: checksum, difference: repeated
        derived_file_kind: compaction, difference: differs
    Violates::
        derived_file_kind: compaction, difference: repeated
    """
    return _differs("repeated")


def _holds_commit_info() -> pl.Expr:
    return _differs("extra") & (pl.col("kind") == "commitInfo")


@rule(
    "COP004",
    requires=("compaction.commit-info-dropped", "compaction.example-without-commit-info"),
    view=replay_differences,
    since="current",
    fix=DELETE_COMPACTION,
)
def commit_info_in_compaction() -> pl.Expr:
    """A log compaction contains a commitInfo action.

    commitInfo belongs to one version. Readers that use it for the snapshot get the wrong timestamp.

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
    """A log compaction contains a commitInfo action, which the example of the protocol omits.

    The protocol does not say elsewhere how compactions treat commitInfo. Later revisions forbid it.
    Fix (none): No repair is needed; readers ignore the action. Use a writer that omits it.

    Conforms::
        derived_file_kind: checkpoint, kind: commitInfo, difference: extra
        derived_file_kind: compaction, kind: add, difference: extra
    Violates::
        derived_file_kind: compaction, kind: commitInfo, difference: extra
    """
    return _holds_commit_info()
