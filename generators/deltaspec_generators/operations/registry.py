"""Registry of the operations of a commit. The modules of operations register theirs."""

from collections.abc import Callable
from typing import Any

import msgspec

from deltaspec_generators.tables.builder import TableBuilder

Apply = Callable[[Any], None]
"""Adds actions to the current commit of a builder."""
Applies = Callable[[Any], bool]
SEEDS_KEEP_TABLES = "one more operation would change the tables of every seed"
"""Why tables with data do not have operations that they could have."""


class Operation(msgspec.Struct, frozen=True):
    """An operation of a commit and its precondition."""

    name: str
    act: Apply
    applies: Applies
    extra: str
    """Member of `EXTRAS` that tables with data need for the operation; empty if it is always drawn."""
    log_only: str
    """Why tables with data do not have the operation; empty if they do."""
    data_only: str
    """Why logs without data do not have the operation; empty if they do."""

    weight: int
    log_weight: int


REGISTERED: list[Operation] = []
"""All operations, in the order in which their modules were imported; see `all_operations`."""


def operation(
    applies: Applies,
    *,
    weight: int = 1,
    log_weight: int | None = None,
    extra: str = "",
    log_only: str = "",
    data_only: str = "",
) -> Callable[[Apply], Apply]:
    """Register an operation.

    `weight` repeats it in the list of tables with data, and `log_weight`, by default the same, in the list of logs.
    Operations that few tables allow have higher weights.
    """

    def register(act: Apply) -> Apply:
        name = getattr(act, "__name__", "")
        more = weight if log_weight is None else log_weight
        REGISTERED.append(Operation(name, act, applies, extra, log_only, data_only, weight, more))
        return act

    return register


def always(builder: TableBuilder) -> bool:
    """Return True."""
    return True


def is_after_first_commit(builder: TableBuilder) -> bool:
    """Return whether the table exists."""
    return builder.version > 0


def can_change_metadata(builder: TableBuilder) -> bool:
    """Return whether protocol and metadata may still change in this commit; file actions depend on them."""
    return builder.version > 0 and not builder.action_kinds & {"metaData", "protocol", "add", "remove"}


def has_rows(builder: TableBuilder) -> bool:
    """Return whether the table exists, and has rows in files that the current commit has not touched."""
    return builder.version > 0 and any(stored.live_count for stored in builder.list_files())
