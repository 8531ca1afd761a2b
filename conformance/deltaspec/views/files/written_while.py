"""Files that were certainly written while the table had some property."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping

import polars as pl

from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.views.files.file_replay import find_first_added_paths


def find_paths_written_while(
    intervals: pl.DataFrame,
    holds: Callable[[int], bool],
    operations: Mapping[int, str | None],
    *,
    begins_with_checkpoint: bool,
) -> pl.Series:
    """Return keys of the paths whose files were certainly written while a condition held.

    It holds in the commit that adds such a file and in the preceding version. No earlier action has the path, and the
    commit states an operation that does not reuse existing files.

    Args:
        intervals: every add and remove of the validated history.
        holds: whether the condition holds at a version.
        operations: version to commitInfo.operation, None if a commit has none.
        begins_with_checkpoint: whether versions before the validated history exist.
    """
    versions = [
        version
        for version, operation in operations.items()
        if holds(version)
        and (version == 0 or holds(version - 1))
        and not reuses_existing_files(operation)
        and not (operation is None and (begins_with_checkpoint or version == 0))
    ]
    return find_first_added_paths(intervals, versions)


def build_history(changes: Iterable[tuple[int, bool]]) -> Callable[[int], bool]:
    """Return whether a condition holds at a version, given each version at which it may have changed, ascending."""
    found = dict(changes)
    versions, values = list(found), list(found.values())

    def holds(version: int) -> bool:
        at = bisect_right(versions, version)
        return at > 0 and values[at - 1]

    return holds
