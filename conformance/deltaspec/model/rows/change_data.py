"""Row-level changes of a commit, and what its files say they are. Source: Change Data Files, Add CDC File.

Rows are any hashable values here: what makes two of them equal is for whoever reads them.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.features.protocol import supports
from deltaspec.model.features.table_properties import is_property_true

FEATURE = "changeDataFeed"
ENABLED = "delta.enableChangeDataFeed"
CHANGE_TYPE = "_change_type"
"""The column of a change data file that says what happened to a row."""
INSERT, PREIMAGE, POSTIMAGE, DELETE = "insert", "update_preimage", "update_postimage", "delete"
CHANGE_TYPES = (INSERT, PREIMAGE, POSTIMAGE, DELETE)
DIRECTORY = "_change_data/"
"""Where change data files are, below the table's root."""
COMMIT_COLUMNS = ("_commit_version", "_commit_timestamp")
"""What readers of changes add to each row; no file has to hold it."""

Change = tuple[str, Hashable]
"""Change type and row."""


def is_enabled(protocol: Protocol, metadata: MetaData) -> bool:
    """Whether writers have to record the changes of rows."""
    return supports(protocol, FEATURE) and is_property_true(metadata.configuration, ENABLED)


@dataclass(frozen=True)
class ChangedFileCounts:
    """What a commit does to files that change data: those with `dataChange=true`, counted by their paths."""

    new: int
    removed: int
    """Not added in the same commit."""
    vectors_replaced: int
    """Removed and added, each time with another deletion vector."""


def count_changed_files(added: Collection[str], removed: Collection[str]) -> ChangedFileCounts:
    """What a commit does to files.

    Args:
        added: path keys of its adds with `dataChange=true`.
        removed: path keys of its removes with `dataChange=true`.
    """
    came, went = set(added), set(removed)
    return ChangedFileCounts(len(came - went), len(went - came), len(came & went))


def needs_change_files(files: ChangedFileCounts, *, updates: bool | None = None) -> bool | None:
    """Whether a commit on a table with change data feed has to bring change data; None: only if it updates rows.

    What only adds rows, or only takes rows away, may go without: by whole files or by deletion vectors, or by files
    written anew without the rows that go. The last way leaves copied rows that readers take for deleted and inserted.

    Args:
        files: what it does to files.
        updates: it changes rows that were there; None where that is not known, since no action says so.

    Source: Change Data Files, Writer Requirements for AddCDCFile. One passage leaves all of it to the writer (E39).
    """
    if not files.new or not (files.removed or files.vectors_replaced):
        return False
    return updates


def is_in_allowed_location(path: str, *, is_absolute: bool, is_added: bool) -> bool:
    """Whether a change data file is where the text has it: below `_change_data`, or a data file of the same commit.

    Whether an absolute path lies below the table is not told by the path alone.

    Args:
        path: as the log spells it.
        is_absolute: see `paths.is_absolute`.
        is_added: the commit adds the file as well.

    Source: Change Data Files; Add CDC File (current).
    """
    return is_absolute or is_added or path.startswith(DIRECTORY)


def compute_changes(
    recorded: list[Change] | None, added: Iterable[Hashable], removed: Iterable[Hashable]
) -> list[Change]:
    """The changes of a commit as a reader takes them.

    Args:
        recorded: rows of its change data files; None where it has none.
        added: rows of the files that it adds.
        removed: rows of the files that it removes.
    """
    if recorded is not None:
        return recorded
    return [(INSERT, row) for row in added] + [(DELETE, row) for row in removed]


def is_consistent_with_files(
    recorded: Iterable[Change], added: Iterable[Hashable], removed: Iterable[Hashable]
) -> bool:
    """Whether the changes turn the rows that were there before a commit into those after it.

    A row that is copied to another file is added and removed, and not changed.
    """
    balance: Counter[Hashable] = Counter()
    for kind, row in recorded:
        balance[row] += 1 if kind in (INSERT, POSTIMAGE) else -1
    balance.subtract(Counter(added))
    balance.update(Counter(removed))
    return not any(balance.values())


def updates_are_paired(recorded: Iterable[Change]) -> bool:
    """Whether there are as many rows before an update as after one."""
    kinds = Counter(kind for kind, _ in recorded)
    return kinds[PREIMAGE] == kinds[POSTIMAGE]
