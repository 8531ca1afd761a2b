"""Valid tables that use what the protocol permits or defines: the opposite of mutations.

`PERMISSIONS` maps a name to the requirement (of level `may` or `is`) and a function that builds the table. Validation
finds nothing in the table in every revision in which the requirement holds.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from deltaspec_generators.table_files import Level, TableFiles

_Builder = TypeVar("_Builder", bound=Callable[[], TableFiles])


class Permission(msgspec.Struct, frozen=True):
    """A table that uses what a requirement permits."""

    name: str
    requirement: str
    table: Callable[[], TableFiles]
    level: Level = "log"
    """Level at which the use is visible. Tables of level `log` may have no data files."""


PERMISSIONS: dict[str, Permission] = {}
"""All permissions by name. Filled when `deltaspec_generators.permissions.all_permissions` is imported."""


def permission(requirement: str, level: Level = "log") -> Callable[[_Builder], _Builder]:
    """Register a function that builds a table which uses a permission; the function name is the key."""

    def register(table: _Builder) -> _Builder:
        name = getattr(table, "__name__", "")
        if name in PERMISSIONS:
            raise ValueError(f"permission {name} is registered twice")
        PERMISSIONS[name] = Permission(name, requirement, table, level)
        return table

    return register
