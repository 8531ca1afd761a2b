"""Reference model: the protocol as executable code, one module per chapter.

It is deliberately simple: no I/O, no clock, no Arrow, no caches. The fast path is tested against it.

Two functions answer questions that readers ask, so the package exports them: `compute_row_changes` returns the rows
that changed between two versions, and `can_skip` decides whether a predicate lets a reader skip a file.
"""

from deltaspec.model.rows.row_changes import compute_row_changes
from deltaspec.model.rows.skipping import can_skip

__all__ = ["can_skip", "compute_row_changes"]
