"""Catalog-managed tables: names, and the commits that readers use. Source: Catalog-managed Tables (current)."""

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec

from deltaspec.protocol.log.file_names import (
    MAX_VERSION,
    STAGED_COMMITS,
    CommitName,
    StagedCommit,
    commit_name,
    parse_log_file_name,
)

FEATURE = "catalogManaged"
_Version = Annotated[int, msgspec.Meta(ge=0, le=MAX_VERSION)]


class RatifiedCommit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A ratified commit that the catalog returns: a staged file or the content, not both."""

    version: _Version
    staged: str | None = None
    """Name of a file in `_delta_log/_staged_commits`, such as `<version>.<uuid>.json`."""
    content: str | None = None
    """Content of an inline commit: one action as JSON in each line."""


class CatalogAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a catalog knows about a table. Its JSON is also a file of `deltaspec validate --catalog-commits`.

    Source: Getting Ratified Commits from the Catalog (current).
    """

    latest_version: _Version
    commits: tuple[RatifiedCommit, ...] = ()
    """With consecutive versions, ascending. Published commits may be left out."""

    @property
    def sources(self) -> dict[int, str | None]:
        """Name of each staged commit relative to `_delta_log`, by version; None for an inline commit."""
        return {
            each.version: None if each.staged is None else f"{STAGED_COMMITS}{each.staged}" for each in self.commits
        }

    @property
    def contents(self) -> dict[int, bytes]:
        """Content of each inline commit, by version."""
        return {each.version: each.content.encode() for each in self.commits if each.content is not None}


def group_versions_by_uuid(names: Iterable[str]) -> dict[str, list[int]]:
    """Return the versions of the staged commits, grouped by the UUID in their name; each commit needs a unique UUID.

    Source: Terminology: Commits (current).
    """
    found: dict[str, set[int]] = {}
    for name in map(parse_log_file_name, names):
        if isinstance(name, StagedCommit):
            found.setdefault(name.uuid, set()).add(name.version)
    return {uuid: sorted(versions) for uuid, versions in sorted(found.items())}


def list_published_versions(names: Iterable[str]) -> list[int]:
    """Return the versions of the published commits, ascending; names are relative to `_delta_log`.

    Source: Terminology: Commits (current).
    """
    return sorted(name.version for name in map(parse_log_file_name, names) if isinstance(name, CommitName))


def find_commits_to_read(
    names: Iterable[str], ratified: Mapping[int, str | None], latest: int
) -> dict[int, str | None]:
    """Return where a reader reads each commit, by version: a file below `_delta_log`, or None for the catalog's copy.

    Args:
        names: Listed names, relative to `_delta_log`. Staged commits among them are not used on their own.
        ratified: Commits that the catalog returns: the name of a staged commit, or None if it returns the content.
        latest: Latest version according to the catalog; later listed commits are ignored.

    Source: Reading Catalog-managed Tables; Reader Requirements for Catalog-managed tables (current).
    """
    sources: dict[int, str | None] = {version: commit_name(version) for version in list_published_versions(names)}
    sources |= ratified  # the catalog takes precedence over published commits
    return {version: sources[version] for version in sorted(sources) if version <= latest}
