"""The reference model: the protocol text made executable, one module a chapter.

Plain on purpose: no I/O, no clock, no Arrow, no caches. It is the oracle that the fast path is compared with.

Two of its answers are what readers are asked as well, and stand here by name: `compute_row_changes`, which rows changed between two
versions, and `can_skip`, whether a predicate lets a reader leave a file out.
"""

from deltaspec.model.rows.row_changes import compute_row_changes
from deltaspec.model.rows.skipping import can_skip

__all__ = ["can_skip", "compute_row_changes"]
