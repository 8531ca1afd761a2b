"""Rules over the log directory. Source: chapters Delta Log Entries, Checkpoints, Log Compaction Files."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import listing


@rule(
    "LOG001",
    requires=(
        "log.versions-contiguous",
        "checkpoint.in-log-folder",
        "checkpoint.cleanup-keeps-a-base",
        "cleanup.keeps-later-commits",
        "catalog-managed.published-copies-ratified",
    ),
    view=listing,
)
def commit_missing() -> pl.Expr:
    """Commits that the judged version needs are not in the log.

    No reader can reconstruct the table: what the missing commits added or removed is unknown.
    Fix: restore the files from a backup, or write a checkpoint that makes them unnecessary.

    Conforms::
        missing_commits_before: 0
    Violates::
        missing_commits_before: 2
    """
    return pl.col("missing_commits_before") > 0


@rule("LOG002", requires="compaction.range-ascends", view=listing)
def invalid_compaction_range() -> pl.Expr:
    """A log compaction does not end after the version it starts from.

    Its name stands for no range of commits, and readers that trust it replay the wrong ones.
    Fix: delete the file; compactions are optional.

    Conforms::
        kind: compaction, version: 4, end_version: 6
        kind: commit, version: 4, end_version: null
    Violates::
        kind: compaction, version: 4, end_version: 4
        kind: compaction, version: 6, end_version: 4
    """
    return (pl.col("kind") == "compaction") & (pl.col("end_version") <= pl.col("version"))


@rule("LOG003", requires="checkpoint.multipart-parts", view=listing)
def multipart_checkpoint_with_one_part() -> pl.Expr:
    """A multipart checkpoint claims to have one part.

    A checkpoint in one file has the classic name; readers that count parts pass this one over.
    Fix: write a classic checkpoint of the version and delete the part.

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
    """A checkpoint is of a later version than the latest commit.

    It was made of a commit that never succeeded, or that was deleted; readers start from a state that never was.
    Fix: delete the checkpoint if no commit of its version was ever made.

    Conforms::
        kind: classic checkpoint, version: 7, latest_commit: 7
        kind: commit, version: 8, latest_commit: 8
    Violates::
        kind: classic checkpoint, version: 8, latest_commit: 7
    """
    is_checkpoint = pl.col("kind").is_in(["classic checkpoint", "multipart checkpoint", "uuid checkpoint"])
    return is_checkpoint & (pl.col("version") > pl.col("latest_commit"))


@rule("LOG005", requires="checksum.after-commit", view=listing)
def checksum_beyond_the_log() -> pl.Expr:
    """A version checksum is of a later version than the latest commit.

    It may only be written once its commit has succeeded; the next commit of that version will not match it. (Commits
    of a catalog-managed table may be ratified and not published yet: a checksum may come before them.)
    Fix: delete the checksum file.

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

    Multipart checkpoints of concurrent writers can mix; V2 checkpoints exist to end that.
    Fix: write a checkpoint with a UUID name and delete the parts.

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

    UUID names stand for V2 content, which clients of this table need not understand: they may read an older state.
    Fix: write a classic checkpoint and delete this one, or add the feature v2Checkpoint.

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
    """A file is named nearly, but not quite, like a file of the log.

    Clients pass such files over, which is seldom what their writer meant: a commit of 19 digits is no commit.
    Fix: find out what wrote the file; rename or delete it.

    Conforms::
        resembles: null
    Violates::
        resembles: "a commit whose version has 19 digits"
    """
    return pl.col("resembles").is_not_null()


@rule("LOG009", requires="log.cleanup-keeps-commit-of-checkpoint", view=listing)
def commit_of_first_checkpoint_missing() -> pl.Expr:
    """The log begins with a checkpoint whose commit was cleaned up, and with it the in-commit timestamp of that version.

    Checkpoints hold no commitInfo: time travel loses the version, and the next timestamp cannot be told to be later.
    Fix: clean up only what lies before the checkpoint; for this table, nothing but a newer checkpoint and cleanup.

    Conforms::
        commit_cleaned_up: false, in_commit_timestamps_enabled: true
        commit_cleaned_up: true, in_commit_timestamps_enabled: false
        commit_cleaned_up: true, in_commit_timestamps_enabled: null
    Violates::
        commit_cleaned_up: true, in_commit_timestamps_enabled: true
    """
    return pl.col("commit_cleaned_up") & pl.col("in_commit_timestamps_enabled")


def _knew(*texts: str) -> pl.Expr:
    """Whoever cleaned up knew one of these texts: older ones ask less of a cleanup."""
    return pl.col("cleanup_revision").is_in(texts)


@rule("LOG020", requires="cleanup.keeps-cutoff-checkpoint", view=listing)
def commits_before_first_checkpoint() -> pl.Expr:
    """Cleanup left commits before the first checkpoint: no state leads to their versions.

    It deleted the checkpoint that they need, or broke off: nobody can travel to these versions, nor read their changes.
    Fix: delete the commits before the checkpoint, or restore the checkpoint before them from a backup.

    Conforms::
        unreachable_commits: 0, cleanup_revision: current
        unreachable_commits: 5, cleanup_revision: r1
        unreachable_commits: 5, cleanup_revision: null
    Violates::
        unreachable_commits: 5, cleanup_revision: r3
    """
    return (pl.col("unreachable_commits") > 0) & _knew("r3", "current")


@rule("LOG021", requires="cleanup.deletes-compactions", view=listing, divergence="E51")
def compaction_left_by_cleanup() -> pl.Expr:
    """A log compaction starts from a commit that was cleaned up.

    No reader can use it: what lies before its range is gone, and the checkpoint after that lies within it.
    Fix: delete the file.

    Conforms::
        kind: compaction, version: 4, cleaned_up_to: 4, cleanup_revision: r3
        kind: compaction, version: 3, cleaned_up_to: 4, cleanup_revision: r1
        kind: classic checkpoint, version: 3, cleaned_up_to: 4, cleanup_revision: r3
    Violates::
        kind: compaction, version: 3, cleaned_up_to: 4, cleanup_revision: r3
    """
    left = (pl.col("kind") == "compaction") & (pl.col("version") < pl.col("cleaned_up_to"))
    return left & _knew("r3", "current")


@rule("LOG022", requires="cleanup.deletes-checksums", view=listing, divergence="E51")
def checksum_left_by_cleanup() -> pl.Expr:
    """A version checksum outlived its commit, which was cleaned up.

    Nothing is left that it could be compared with; such files add up, and listing the log takes longer.
    Fix: delete the file.

    Conforms::
        kind: checksum, version: 4, cleaned_up_to: 4, cleanup_revision: current
        kind: checksum, version: 3, cleaned_up_to: 4, cleanup_revision: r3
    Violates::
        kind: checksum, version: 3, cleaned_up_to: 4, cleanup_revision: current
    """
    left = (pl.col("kind") == "checksum") & (pl.col("version") < pl.col("cleaned_up_to"))
    return left & _knew("current")


@rule("LOG023", requires="cleanup.deletes-staged-commits", view=listing, divergence="E51")
def staged_commit_left_by_cleanup() -> pl.Expr:
    """A staged commit is of a version whose published commit was cleaned up.

    Whatever became of the attempt, its version is decided and gone; such files add up.
    Fix: delete the file.

    Conforms::
        kind: staged commit, version: 4, cleaned_up_to: 4, catalog_managed: true
        kind: staged commit, version: 3, cleaned_up_to: 4, catalog_managed: false
    Violates::
        kind: staged commit, version: 3, cleaned_up_to: 4, catalog_managed: true
    """
    left = (pl.col("kind") == "staged commit") & (pl.col("version") < pl.col("cleaned_up_to"))
    return left & pl.col("catalog_managed")
