"""Rules over staged and published commits. Source: chapter Catalog-managed Tables."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import listing
from deltaspec.views.log.staged_commits import staged_commits


@rule("CAT001", requires="catalog-managed.staged-content", view=staged_commits)
def invalid_staged_commit() -> pl.Expr:
    """A staged commit contains a line that is not a valid commit line.

    If the catalog ratifies the file, readers fail and no client can publish the version. (A file that ends within its
    last line may be an attempt that was abandoned while it was written.)
    Fix (restore): Ask the catalog whether it ratified the commit. If it did not, delete the file. If it did,
    restore the content from the writer; do not edit the file by hand.

    Conforms::
        fault: null
    Violates::
        fault: "holds 2 actions"
    """
    return pl.col("fault").is_not_null()


@rule("CAT002", requires="catalog-managed.staged-names", view=staged_commits)
def reused_staged_commit_uuid() -> pl.Expr:
    """Staged commits of different versions have the same UUID in their names.

    The UUID identifies one attempt at one version. With a reused UUID, clients can take the file of one version for an
    attempt at another.
    Fix (decide): Keep the files that the catalog ratified and delete the others. Change the writer so that it
    generates a new random UUID for every commit.

    Conforms::
        versions_of_uuid: [8]
    Violates::
        versions_of_uuid: [8, 9]
    """
    return pl.col("versions_of_uuid").list.len() > 1


@rule("CAT003", requires="catalog-managed.published-copies-ratified", view=staged_commits)
def published_commit_differs_from_staged() -> pl.Expr:
    """A published commit has different actions than the ratified commit, or than a staged one of its transaction.

    Publishing copies the ratified commit. Readers that got the staged file from the catalog see a different table from
    readers of the published file.
    Fix (restore): Ask the catalog which file it ratified, and keep copies of both. Publish the ratified content
    again; do not delete the staged file before that.

    Conforms::
        differs_from_published: false
        differs_from_published: null
    Violates::
        differs_from_published: true
    """
    return pl.col("differs_from_published")


@rule("CAT004", requires="catalog-managed.published-before-maintenance", view=listing)
def compaction_of_unpublished_commits() -> pl.Expr:
    """A log compaction of a catalog-managed table covers commits that are not published.

    Only the catalog can provide unpublished commits. Readers of the compaction see versions that may never be ratified.
    Fix (decide): Delete the compaction file; compactions are optional. Compact only published commits.

    Conforms::
        kind: compaction, end_version: 7, latest_commit: 7, catalog_managed: true
        kind: compaction, end_version: 8, latest_commit: 7, catalog_managed: false
    Violates::
        kind: compaction, end_version: 8, latest_commit: 7, catalog_managed: true
    """
    beyond = pl.col("end_version") > pl.col("latest_commit")
    return (pl.col("kind") == "compaction") & beyond & pl.col("catalog_managed")


@rule("CAT005", requires="catalog-managed.published-copies-ratified", view=listing)
def commit_published_out_of_order() -> pl.Expr:
    """A commit of a catalog-managed table was published before the commit of the version before it.

    A published commit shows that every version before it is ratified. Clients that list published commits find a gap,
    and cannot create checkpoints or compactions of later versions.
    Fix (restore): Ask the catalog which content it ratified for the version that is not published. Copy it to the name
    of the published commit, and do not overwrite a file. The writer must publish commits in the order of their versions.

    Conforms::
        unpublished_before: null
    Violates::
        unpublished_before: "commit 2 is ratified, but not published (3 is)"
    """
    return pl.col("unpublished_before").is_not_null()
