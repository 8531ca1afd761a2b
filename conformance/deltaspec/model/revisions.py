"""The revisions of the protocol text that a table can be judged by."""

from enum import StrEnum


class Revision(StrEnum):
    """A state of the protocol text, oldest first; `CURRENT` is the newest text the kit carries.

    A revision is an input of a run. What a table itself enables is asked of its `protocol` action.
    """

    R1 = "r1"
    """Row ids as a draft (`rowIds`), about Delta 2.3."""
    R2 = "r2"
    """Row tracking with the `rowIdHighWaterMark` action, about Delta 2.4."""
    R3 = "r3"
    """V2 checkpoints, log compaction, clustering, about Delta 3.1."""
    CURRENT = "current"
    """The newest text."""

    def since(self, first: "Revision") -> bool:
        """Whether this revision is `first` or a later one."""
        order = list(Revision)
        return order.index(self) >= order.index(first)
