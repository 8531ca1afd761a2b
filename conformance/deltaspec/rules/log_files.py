"""Rules over the log directory. Source: chapters Delta Log Entries, Checkpoints, Log Compaction Files."""

import polars as pl

from deltaspec.rules.fixes import (
    DELETE_CHECKSUM_OR_RESTORE,
    DELETE_COMPACTION_IF_READERS_FAIL,
    DELETE_COMPACTION_OR_RESTORE,
    WRITE_NEW_CHECKPOINT,
)
from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import listing


@rule(
    "LOG001",
    requires=(
        "log.versions-contiguous",
        "checkpoint.in-log-folder",
        "checkpoint.cleanup-keeps-a-base",
        "cleanup.keeps-later-commits",
    ),
    view=listing,
)
def commit_missing() -> pl.Expr:
    """Commits that are needed to read the version are missing.

    Readers cannot reconstruct the table, because the changes of the missing commits are unknown.
    Fix (restore): Restore the commit files from backup. Do not rename other commits or write empty ones to close
    the gap: rows would be lost or come back without an error.

    Conforms::
        missing_commits_before: 0
    Violates::
        missing_commits_before: 2
    """
    return pl.col("missing_commits_before") > 0


@rule("LOG002", requires="compaction.range-ascends", view=listing, fix=DELETE_COMPACTION_IF_READERS_FAIL)
def invalid_compaction_range() -> pl.Expr:
    """A log compaction does not end after its start version.

    Its name is not a range of commits. Readers that trust it replay the wrong commits.

    Conforms::
        kind: compaction, version: 4, end_version: 6
        kind: commit, version: 4, end_version: null
    Violates::
        kind: compaction, version: 4, end_version: 4
        kind: compaction, version: 6, end_version: 4
    """
    return (pl.col("kind") == "compaction") & (pl.col("end_version") <= pl.col("version"))


@rule("LOG003", requires="checkpoint.multipart-parts", view=listing, fix=WRITE_NEW_CHECKPOINT)
def multipart_checkpoint_with_one_part() -> pl.Expr:
    """A multipart checkpoint has only one part.

    A checkpoint in one file must have the classic name. Readers that count parts ignore this one.

    Conforms::
        kind: multipart checkpoint, parts: 2
        kind: classic checkpoint, parts: null
    Violates::
        kind: multipart checkpoint, parts: 1
    """
    return (pl.col("kind") == "multipart checkpoint") & (pl.col("parts") < 2)


@rule(
    "LOG004",
    requires=("checkpoint.after-commit", "catalog-managed.published-before-maintenance"),
    view=listing,
)
def checkpoint_beyond_the_log() -> pl.Expr:
    """A checkpoint has a later version than the latest commit.

    Its commit failed or was deleted, so readers may start from a state that was never committed.
    Fix (restore): Restore the missing commits from backup if they existed. Move the checkpoint out of the log only
    if no commit of its version ever succeeded: it may be the only copy of the state.

    Conforms::
        kind: classic checkpoint, version: 7, latest_commit: 7
        kind: commit, version: 8, latest_commit: 8
        kind: checksum, version: 8, latest_commit: 7
    Violates::
        kind: classic checkpoint, version: 8, latest_commit: 7
    """
    is_checkpoint = pl.col("kind").is_in(["classic checkpoint", "multipart checkpoint", "uuid checkpoint"])
    return is_checkpoint & (pl.col("version") > pl.col("latest_commit"))


@rule("LOG005", requires="checksum.after-commit", view=listing, fix=DELETE_CHECKSUM_OR_RESTORE)
def checksum_beyond_the_log() -> pl.Expr:
    """A version checksum has a later version than the latest commit.

    Either the commit was deleted or lost, and readers return the table without its changes. Or it never succeeded, and
    the next commit of that version will not match the checksum. (On catalog-managed tables a ratified commit may not be
    published yet; they are not checked.)

    Conforms::
        kind: checksum, version: 7, latest_commit: 7, catalog_managed: false
        kind: checksum, version: 8, latest_commit: 7, catalog_managed: true
    Violates::
        kind: checksum, version: 8, latest_commit: 7, catalog_managed: false
    """
    beyond = pl.col("version") > pl.col("latest_commit")
    return (pl.col("kind") == "checksum") & beyond & ~pl.col("catalog_managed")


@rule("LOG006", requires="checkpoint.no-multipart-with-v2", view=listing)
def multipart_checkpoint_in_v2_table() -> pl.Expr:
    """A multipart checkpoint was written although the table supports v2Checkpoint.

    Parts of concurrent writers can be mixed. V2 checkpoints exist to prevent that.
    Fix (rewrite): Write a new checkpoint with a corrected writer. It must write V2 checkpoints. Keep the parts
    until the new checkpoint exists; log cleanup deletes them.

    Conforms::
        kind: multipart checkpoint, v2_checkpoint_supported: false
        kind: uuid checkpoint, v2_checkpoint_supported: true
    Violates::
        kind: multipart checkpoint, v2_checkpoint_supported: true
    """
    return (pl.col("kind") == "multipart checkpoint") & pl.col("v2_checkpoint_supported")


@rule("LOG007", requires="checkpoint.v2-needs-feature", view=listing)
def uuid_checkpoint_without_feature() -> pl.Expr:
    """A checkpoint has a UUID name although the table does not support v2Checkpoint.

    Clients of this table need not understand V2 checkpoints. They may ignore it and read an older state, or fail.
    Fix (decide): Write a classic checkpoint with `DeltaTable.create_checkpoint()` (delta-rs), or run `ALTER TABLE t
    SET TBLPROPERTIES ('delta.feature.v2Checkpoint' = 'supported')`. Keep this checkpoint until another one exists.

    Conforms::
        kind: uuid checkpoint, v2_checkpoint_supported: true
        kind: classic checkpoint, v2_checkpoint_supported: false
    Violates::
        kind: uuid checkpoint, v2_checkpoint_supported: false
    """
    return (pl.col("kind") == "uuid checkpoint") & ~pl.col("v2_checkpoint_supported")


@rule(
    "LOG008",
    requires=(
        "log.commit-name",
        "catalog-managed.published-names",
        "checkpoint.version-in-name",
        "checkpoint.padding",
        "checkpoint.classic-name",
        "checkpoint.multipart-name",
        "checkpoint.uuid-name",
        "compaction.name",
        "checksum.name",
        "last-checkpoint.name",
        "log.staged-commits",
    ),
    view=listing,
    divergence="S36",
)
def misspelled_log_file_name() -> pl.Expr:
    """The name of a file resembles the name of a log file, but does not have its form.

    Clients ignore the file, which is rarely intended. A commit with a 19-digit version, for example, is not a commit.
    Fix (decide): Find out what wrote the file. If its content belongs to the table, write the changes again with a
    conforming writer. Do not rename a file into a commit that later commits did not see.

    Conforms::
        resembles: null
    Violates::
        resembles: "a commit whose version has 19 digits"
    """
    return pl.col("resembles").is_not_null()


@rule("LOG009", requires="log.cleanup-keeps-commit-of-checkpoint", view=listing)
def commit_of_first_checkpoint_missing() -> pl.Expr:
    """The log begins with a checkpoint whose commit, and with it the in-commit timestamp, was deleted.

    Checkpoints contain no commitInfo. Time travel by timestamp loses the version, and the next timestamp cannot be
    checked.
    Fix (restore): Restore the commit file from backup. Otherwise wait until a newer checkpoint is the oldest one;
    configure cleanup to keep the commit of the oldest checkpoint.

    Conforms::
        commit_cleaned_up: false, in_commit_timestamps_enabled: true
        commit_cleaned_up: true, in_commit_timestamps_enabled: false
        commit_cleaned_up: true, in_commit_timestamps_enabled: null
    Violates::
        commit_cleaned_up: true, in_commit_timestamps_enabled: true
    """
    return pl.col("commit_cleaned_up") & pl.col("in_commit_timestamps_enabled")


@rule("LOG024", requires="log.cleanup-keeps-commit-of-checkpoint", view=listing, divergence="S73")
def commit_of_first_checkpoint_missing_in_vain() -> pl.Expr:
    """The log begins with a checkpoint whose commit was deleted, although no feature is known to need the commit.

    The protocol says that the commit must be preserved, because features may need its commitInfo, in a list of steps
    that cleanup could use. Time travel by timestamp, history and the change data feed lose the version. (With in-commit
    timestamps, LOG009 reports a violation.)
    Fix (none): Configure cleanup to keep the commit of the oldest checkpoint. The table itself is complete.

    Conforms::
        commit_cleaned_up: false, in_commit_timestamps_enabled: false
        commit_cleaned_up: true, in_commit_timestamps_enabled: true
    Violates::
        commit_cleaned_up: true, in_commit_timestamps_enabled: false
        commit_cleaned_up: true, in_commit_timestamps_enabled: null
    """
    return pl.col("commit_cleaned_up") & ~pl.col("in_commit_timestamps_enabled").fill_null(False)


@rule("LOG010", requires="log.versions-contiguous", view=listing, divergence="E04")
def older_commits_missing() -> pl.Expr:
    """Commits are missing in the middle of the log, before the checkpoint that readers start from.

    Log cleanup deletes the oldest commits first, so something else deleted these. Time travel and the change data feed
    fail for the versions after the gap.
    Fix (restore): Restore the commit files from backup if these versions are needed. Otherwise let the next cleanup
    delete the older commits (`DeltaTable.cleanup_metadata()` in delta-rs).

    Conforms::
        older_missing_commits: null
    Violates::
        older_missing_commits: 1
    """
    return pl.col("older_missing_commits") > 0


@rule("LOG011", requires="compaction.equals-replay", view=listing, fix=DELETE_COMPACTION_OR_RESTORE)
def compaction_beyond_the_log() -> pl.Expr:
    """A log compaction ends after the latest commit.

    Commits of its range failed or were deleted, so it contains actions that were never committed. (On catalog-managed
    tables a ratified commit may not be published yet; another rule checks them.)

    Conforms::
        kind: compaction, end_version: 7, latest_commit: 7, catalog_managed: false
        kind: compaction, end_version: 8, latest_commit: 7, catalog_managed: true
    Violates::
        kind: compaction, end_version: 8, latest_commit: 7, catalog_managed: false
        kind: compaction, end_version: 10, latest_commit: 7, catalog_managed: false
    """
    beyond = pl.col("end_version") > pl.col("latest_commit")
    return (pl.col("kind") == "compaction") & beyond & ~pl.col("catalog_managed")


def _cleaned_up_by(*revisions: str) -> pl.Expr:
    """Return whether the cleanup followed one of these revisions: older revisions require less of a cleanup."""
    return pl.col("cleanup_revision").is_in(revisions)


@rule("LOG020", requires="cleanup.keeps-cutoff-checkpoint", view=listing)
def commits_before_first_checkpoint() -> pl.Expr:
    """Log cleanup left commits before the first checkpoint, so their versions cannot be reconstructed.

    Cleanup deleted the checkpoint that they need, or was interrupted. Time travel and the change data feed fail for
    these versions.
    Fix (restore): Restore the older checkpoint from backup if these versions are needed. Otherwise let the next
    cleanup delete the commits (`DeltaTable.cleanup_metadata()` in delta-rs).

    Conforms::
        unreachable_commits: 0, cleanup_revision: current
        unreachable_commits: 5, cleanup_revision: r1
        unreachable_commits: 5, cleanup_revision: null
    Violates::
        unreachable_commits: 5, cleanup_revision: r3
    """
    return (pl.col("unreachable_commits") > 0) & _cleaned_up_by("r3", "current")


@rule(
    "LOG021",
    requires="cleanup.deletes-compactions",
    view=listing,
    divergence="E51",
    fix=DELETE_COMPACTION_IF_READERS_FAIL,
)
def compaction_left_by_cleanup() -> pl.Expr:
    """A log compaction starts at a commit that was deleted by cleanup.

    Readers cannot use it, because the commits before its range are gone and the next checkpoint is within the range.

    Conforms::
        kind: compaction, version: 4, cleaned_up_to: 4, cleanup_revision: r3
        kind: compaction, version: 3, cleaned_up_to: 4, cleanup_revision: r1
        kind: classic checkpoint, version: 3, cleaned_up_to: 4, cleanup_revision: r3
    Violates::
        kind: compaction, version: 3, cleaned_up_to: 4, cleanup_revision: r3
    """
    remains = (pl.col("kind") == "compaction") & (pl.col("version") < pl.col("cleaned_up_to"))
    return remains & _cleaned_up_by("r3", "current")


@rule("LOG022", requires="cleanup.deletes-checksums", view=listing, divergence="E51")
def checksum_left_by_cleanup() -> pl.Expr:
    """A version checksum remains although cleanup deleted its commit.

    It cannot be compared with anything. Such files accumulate and make listing the log slower.
    Fix (none): No repair is needed. The `.crc` file can be deleted.

    Conforms::
        kind: checksum, version: 4, cleaned_up_to: 4, cleanup_revision: current
        kind: checksum, version: 3, cleaned_up_to: 4, cleanup_revision: r3
    Violates::
        kind: checksum, version: 3, cleaned_up_to: 4, cleanup_revision: current
    """
    remains = (pl.col("kind") == "checksum") & (pl.col("version") < pl.col("cleaned_up_to"))
    return remains & _cleaned_up_by("current")


@rule("LOG023", requires="cleanup.deletes-staged-commits", view=listing, divergence="E51")
def staged_commit_left_by_cleanup() -> pl.Expr:
    """A staged commit remains although cleanup deleted the published commit of its version.

    The version is decided and gone. Such files accumulate and make listing the log slower.
    Fix (none): No repair is needed. The staged file can be deleted.

    Conforms::
        kind: staged commit, version: 4, cleaned_up_to: 4, catalog_managed: true
        kind: staged commit, version: 3, cleaned_up_to: 4, catalog_managed: false
    Violates::
        kind: staged commit, version: 3, cleaned_up_to: 4, catalog_managed: true
    """
    remains = (pl.col("kind") == "staged commit") & (pl.col("version") < pl.col("cleaned_up_to"))
    return remains & pl.col("catalog_managed")
