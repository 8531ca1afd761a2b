"""Row-level changes of a commit, and how change data files record them. Source: Change Data Files, Add CDC File.

Rows are any hashable values; the caller decides when two rows are equal.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable

import msgspec

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.change_data import DELETE, DIRECTORY, FEATURE, INSERT, POSTIMAGE, PREIMAGE
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.property_names import CHANGE_DATA_FEED

Change = tuple[str, Hashable]
"""Change type and row."""


def is_enabled(protocol: Protocol, metadata: MetaData) -> bool:
    """Return whether writers must record row changes."""
    return supports(protocol, FEATURE) and is_property_true(metadata.configuration, CHANGE_DATA_FEED)


class ChangedFileCounts(msgspec.Struct, frozen=True):
    """Numbers of files with `dataChange=true` that a commit changes, by path."""

    new: int
    removed: int
    """Not added again in the same commit."""
    vectors_replaced: int
    """Removed and added again with another deletion vector."""


def count_changed_files(added: Collection[str], removed: Collection[str]) -> ChangedFileCounts:
    """Count the files that a commit changes.

    Args:
        added: Path keys of its adds with `dataChange=true`.
        removed: Path keys of its removes with `dataChange=true`.
    """
    added_paths, removed_paths = set(added), set(removed)
    replaced = added_paths & removed_paths
    return ChangedFileCounts(len(added_paths - replaced), len(removed_paths - replaced), len(replaced))


def needs_change_files(files: ChangedFileCounts, *, updates: bool | None = None) -> bool | None:
    """Return whether a commit on a table with change data feed needs change data; None if only updates need it.

    Commits that only insert or only delete rows need none, whether they change complete files or deletion vectors, or
    rewrite files. Rewriting leaves copied rows that readers see as deleted and inserted.

    Args:
        files: Files that the commit changes.
        updates: Whether it updates existing rows; None if unknown, because no action states it.

    Source: Change Data Files, Writer Requirements for AddCDCFile. One passage leaves everything to the writer (E39).
    """
    if not files.new or not (files.removed or files.vectors_replaced):
        return False
    return updates


def is_in_allowed_location(path: str, *, is_absolute: bool, is_added: bool) -> bool:
    """Return whether a change data file is below `_change_data`, or is a data file of the same commit.

    Absolute paths are accepted, because the path alone does not show whether the file is below the table.

    Args:
        path: Path as the log spells it.
        is_absolute: See `paths.is_absolute`.
        is_added: Whether the commit adds the same file.

    Source: Change Data Files; Add CDC File (current).
    """
    return is_absolute or is_added or path.startswith(DIRECTORY)


def compute_changes(
    recorded: list[Change] | None, added: Iterable[Hashable], removed: Iterable[Hashable]
) -> list[Change]:
    """Return the changes of a commit as readers see them.

    Args:
        recorded: Rows of its change data files; None if it has none.
        added: Rows of the files that it adds.
        removed: Rows of the files that it removes.
    """
    if recorded is not None:
        return recorded
    return [(INSERT, row) for row in added] + [(DELETE, row) for row in removed]


def is_consistent_with_files(
    recorded: Iterable[Change], added: Iterable[Hashable], removed: Iterable[Hashable]
) -> bool:
    """Return whether the recorded changes turn the rows before a commit into those after it.

    A row copied to another file is both added and removed; it is not a change.
    """
    balance: Counter[Hashable] = Counter()
    for kind, row in recorded:
        balance[row] += 1 if kind in (INSERT, POSTIMAGE) else -1
    balance.subtract(Counter(added))
    balance.update(Counter(removed))
    return not any(balance.values())


def has_paired_updates(recorded: Iterable[Change]) -> bool:
    """Return whether updates have as many preimages as postimages."""
    kinds = Counter(kind for kind, _ in recorded)
    return kinds[PREIMAGE] == kinds[POSTIMAGE]
