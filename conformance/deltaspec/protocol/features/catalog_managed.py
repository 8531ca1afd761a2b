"""Catalog-managed tables: names, and the commits that readers use. Source: Catalog-managed Tables (current)."""

from collections.abc import Iterable, Mapping

from deltaspec.protocol.log.file_names import CommitName, StagedCommit, commit_name, parse_log_file_name

FEATURE = "catalogManaged"


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
