"""Rules over what a catalog-managed table shows beside its commits. Source: chapter Catalog-managed Tables."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import listing
from deltaspec.views.log.staged_commits import staged_commits


@rule("CAT001", requires="catalog-managed.staged-content", view=staged_commits)
def invalid_staged_commit() -> pl.Expr:
    """A staged commit holds a line that no commit can hold.

    If the catalog ratifies it readers fail, and nobody can publish the version. (A file that breaks off in its last
    line may be an attempt that was given up while it was written.)
    Fix: the writer of the file must stage what it would publish; delete the file if it was not ratified.

    Conforms::
        fault: null
    Violates::
        fault: "holds 2 actions"
    """
    return pl.col("fault").is_not_null()


@rule("CAT002", requires="catalog-managed.staged-names", view=staged_commits)
def reused_staged_commit_uuid() -> pl.Expr:
    """Staged commits of several versions have the same UUID in their names.

    Each attempt takes a random UUID of its own: what tells attempts apart no longer does, and a file that was staged
    for one version is no attempt at another.
    Fix: the writer of the files must draw a UUID for every commit.

    Conforms::
        versions_of_uuid: [8]
    Violates::
        versions_of_uuid: [8, 9]
    """
    return pl.col("versions_of_uuid").list.len() > 1


@rule("CAT003", requires="catalog-managed.published-copies-ratified", view=staged_commits)
def published_commit_differs_from_staged() -> pl.Expr:
    """A published commit is of the transaction of a staged one of its version, and holds other actions.

    Publishing copies what was ratified: readers who got the staged commit from the catalog have another table than
    those who read the published one.
    Fix: find out from the catalog which was ratified, and how the other came to be.

    Conforms::
        differs_from_published: false
        differs_from_published: null
    Violates::
        differs_from_published: true
    """
    return pl.col("differs_from_published")


@rule("CAT004", requires="catalog-managed.published-before-maintenance", view=listing)
def compaction_of_unpublished_commits() -> pl.Expr:
    """A log compaction of a catalog-managed table reaches beyond the latest published commit.

    Until they are published commits are the catalog's to give: readers of the compaction see what may be no version.
    Fix: delete the file, and compact what is published.

    Conforms::
        kind: compaction, end_version: 7, latest_commit: 7, catalog_managed: true
        kind: compaction, end_version: 8, latest_commit: 7, catalog_managed: false
    Violates::
        kind: compaction, end_version: 8, latest_commit: 7, catalog_managed: true
    """
    beyond = pl.col("end_version") > pl.col("latest_commit")
    return (pl.col("kind") == "compaction") & beyond & pl.col("catalog_managed")
