"""Registry of the operations of a commit. The modules of operations register theirs."""

from collections.abc import Callable
from dataclasses import dataclass

from deltaspec_generators.tables.builder import DataTableBuilder

Apply = Callable[[DataTableBuilder], None]
Applies = Callable[[DataTableBuilder], bool]


@dataclass(frozen=True)
class Operation:
    """An operation of a commit and its precondition."""

    name: str
    act: Apply
    applies: Applies
    extra: str
    """Member of `EXTRAS` that the operation needs; empty if it is always drawn."""


REGISTERED: list[Operation] = []
"""All operations, in the order in which their modules were imported; see `all_operations`."""


def operation(applies: Applies, *, weight: int = 1, extra: str = "") -> Callable[[Apply], Apply]:
    """Register an operation; `weight` repeats it in the list, for operations that few tables allow."""

    def register(act: Apply) -> Apply:
        REGISTERED.extend([Operation(getattr(act, "__name__", ""), act, applies, extra)] * weight)
        return act

    return register


def always(builder: DataTableBuilder) -> bool:
    """Return True."""
    return True


def is_after_first_commit(builder: DataTableBuilder) -> bool:
    """Return whether the table exists."""
    return builder.version > 0


def has_rows(builder: DataTableBuilder) -> bool:
    """Return whether the table exists and has rows."""
    return builder.version > 0 and builder.has_rows
