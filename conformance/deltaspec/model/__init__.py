"""Reference model: the judgement of the protocol as executable code, on the facts of `deltaspec.protocol`.

It is deliberately simple: no I/O, no clock, no Arrow, no caches. Rules and validation do not import it, so that tests
which compare them with it see the errors of both.

Two functions answer questions that readers ask, so the package exports them: `compute_row_changes` returns the rows
that changed between two versions, and `can_skip` decides whether a predicate lets a reader skip a file.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltaspec.model.rows.row_changes import compute_row_changes
    from deltaspec.model.rows.skipping import can_skip

__all__ = ["can_skip", "compute_row_changes"]


def __getattr__(name: str) -> Any:
    """Import an exported function when it is used: a validation needs neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from deltaspec.model.rows import row_changes, skipping

    return {"can_skip": skipping.can_skip, "compute_row_changes": row_changes.compute_row_changes}[name]
