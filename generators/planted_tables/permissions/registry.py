"""Valid tables that use something that the protocol permits or defines: the opposite of planted faults.

`PERMISSIONS` maps a name to the requirement (of strength `may` or `is`) and a function that builds the table.
Validation finds nothing in the table in every revision in which the requirement holds, unless the permission names some
of them.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from deltaspec.scales import Level
from deltaspec_generators.table_files import TableFiles

_Builder = TypeVar("_Builder", bound=Callable[[], TableFiles])


class Permission(msgspec.Struct, frozen=True):
    """A table that uses what a requirement permits."""

    name: str
    requirement: str
    table: Callable[[], TableFiles]
    level: Level = "log"
    """Level at which the use is visible. Tables of level `log` may have no data files."""
    revisions: tuple[str, ...] | None = None
    """Revisions in which the table conforms; None for all revisions of the requirement."""


PERMISSIONS: dict[str, Permission] = {}
"""All permissions by name. Filled when `planted_tables.permissions.all_permissions` is imported."""


def permission(
    requirement: str, level: Level = "log", *, revisions: tuple[str, ...] | None = None
) -> Callable[[_Builder], _Builder]:
    """Register a function that builds a table which uses a permission; the function name is the key.

    `revisions` restricts the revisions of the requirement, if an older revision does not define a feature of the table.
    """

    def register(table: _Builder) -> _Builder:
        name = getattr(table, "__name__", "")
        if name in PERMISSIONS:
            raise ValueError(f"permission {name} is registered twice")
        PERMISSIONS[name] = Permission(name, requirement, table, level, revisions)
        return table

    return register
