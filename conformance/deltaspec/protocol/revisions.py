"""Revisions of the protocol that a table can be validated against."""

from enum import StrEnum


class Revision(StrEnum):
    """A revision of the protocol, oldest first; `CURRENT` is the newest one that the kit supports.

    The revision is an input of a run. What a table itself enables comes from its `protocol` action.
    """

    R1 = "r1"
    """Draft of row ids (`rowIds`), about Delta 2.3."""
    R2 = "r2"
    """Row tracking with the `rowIdHighWaterMark` action, about Delta 2.4."""
    R3 = "r3"
    """V2 checkpoints, log compaction, clustering, about Delta 3.1."""
    CURRENT = "current"
    """The newest revision."""

    def since(self, first: "Revision") -> bool:
        """Return whether this revision is `first` or a later one."""
        order = list(Revision)
        return order.index(self) >= order.index(first)
