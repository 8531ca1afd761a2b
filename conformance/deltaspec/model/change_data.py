"""Row-level changes of a commit, and what its files say they are. Source: Change Data Files, Add CDC File.

Rows are any hashable values here: what makes two of them equal is for whoever reads them.
"""

from collections import Counter
from collections.abc import Hashable, Iterable

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.configuration import is_true
from deltaspec.model.protocol import supports

FEATURE = "changeDataFeed"
ENABLED = "delta.enableChangeDataFeed"
CHANGE_TYPE = "_change_type"
"""The column of a change data file that says what happened to a row."""
INSERT, PREIMAGE, POSTIMAGE, DELETE = "insert", "update_preimage", "update_postimage", "delete"
CHANGE_TYPES = (INSERT, PREIMAGE, POSTIMAGE, DELETE)
COMMIT_COLUMNS = ("_commit_version", "_commit_timestamp")
"""What readers of changes add to each row; no file has to hold it."""

Change = tuple[str, Hashable]
"""Change type and row."""


def is_enabled(protocol: Protocol, metadata: MetaData) -> bool:
    """Whether writers have to record the changes of rows."""
    return supports(protocol, FEATURE) and is_true(metadata.configuration, ENABLED)


def changes_of(recorded: list[Change] | None, added: Iterable[Hashable], removed: Iterable[Hashable]) -> list[Change]:
    """The changes of a commit as a reader takes them.

    Args:
        recorded: rows of its change data files; None where it has none.
        added: rows of the files that it adds.
        removed: rows of the files that it removes.
    """
    if recorded is not None:
        return recorded
    return [(INSERT, row) for row in added] + [(DELETE, row) for row in removed]


def changes_agree(recorded: Iterable[Change], added: Iterable[Hashable], removed: Iterable[Hashable]) -> bool:
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
