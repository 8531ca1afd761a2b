"""Published copies of staged commits. Source: Publishing Commits (current)."""

from collections import Counter
from collections.abc import Hashable, Sequence

import msgspec


class CommitContent(msgspec.Struct, frozen=True):
    """The comparable content of one copy of a commit."""

    transaction: str | None
    """Its txnId."""
    actions: Sequence[Hashable]
    """All actions except commitInfo, in a form where equal actions compare equal."""


def is_illegal_copy(published: CommitContent, staged: CommitContent) -> bool:
    """Return whether a published commit has the transaction of a staged commit of its version but additional actions.

    A retry of a transaction at the same version commits the same actions, so only commitInfo may differ. Without a
    txnId the transactions cannot be compared. A staged commit may be incomplete if it was never proposed, so actions
    that it is missing are ignored.

    Source: Publishing Commits (current).
    """
    if published.transaction is None or published.transaction != staged.transaction:
        return False
    return bool(Counter(staged.actions) - Counter(published.actions))
