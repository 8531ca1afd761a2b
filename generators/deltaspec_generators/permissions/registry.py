"""Sound tables that use a freedom the protocol gives, or show what it defines: the mirror image of mutations.

`PERMISSIONS` maps a name to the requirement (of level `may` or `is`) and a function that makes the table. Whoever
judges the table finds nothing, in every revision in which the requirement holds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from deltaspec_generators.table_files import Level, TableFiles

_Builder = TypeVar("_Builder", bound=Callable[[], TableFiles])


@dataclass(frozen=True)
class Permission:
    """A table that does what a requirement permits."""

    name: str
    requirement: str
    table: Callable[[], TableFiles]
    level: Level = "log"
    """What has to be opened to see that it is used. Tables of level `log` may lack their data files."""


PERMISSIONS: dict[str, Permission] = {}
"""Every permission by name. Filled when `deltaspec_generators.permissions.all_permissions` is imported."""


def permission(requirement: str, level: Level = "log") -> Callable[[_Builder], _Builder]:
    """Register a function that makes a table which uses a permission; its name says how."""

    def register(table: _Builder) -> _Builder:
        name = getattr(table, "__name__", "")
        if name in PERMISSIONS:
            raise ValueError(f"permission {name} stands twice")
        PERMISSIONS[name] = Permission(name, requirement, table, level)
        return table

    return register
