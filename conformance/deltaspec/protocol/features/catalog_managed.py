"""Catalog-managed tables: names. Source: Catalog-managed Tables (current)."""

from collections.abc import Iterable

from deltaspec.protocol.log.file_names import StagedCommit, parse_log_file_name

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
