"""Registry of broken tables: each breaks one requirement in one place, and nothing else.

`PLANTED_FAULTS` maps a name to the broken requirement and a strategy for tables. This package does not know the rules:
the tests state which rule catches which planted fault.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st

from deltaspec.scales import Level
from deltaspec_generators.table_files import TableFiles

Breaker = Callable[[st.DrawFn], TableFiles]
_Breaker = TypeVar("_Breaker", bound=Breaker)


class PlantedFault(msgspec.Struct, frozen=True):
    """A way to break a requirement."""

    name: str
    requirement: str
    breaks: Breaker
    level: Level = "log"
    """Level at which the fault is visible: `log`, `files`, `footers` or `rows`. Tables of level `log` may have no data
    files."""
    revisions: tuple[str, ...] | None = None
    """Revisions in which this table has the fault; None for all revisions of the requirement."""
    drops_feature: bool = False
    """Whether the table also removes a feature from its protocol, about which the protocol contradicts itself (E41)."""

    def tables(self) -> st.SearchStrategy[TableFiles]:
        """Return a strategy for tables broken this way."""
        return _tables(self.breaks)


@st.composite
def _tables(draw: st.DrawFn, breaks: Breaker) -> TableFiles:
    draw(st.none())  # hypothesis needs at least one draw, and some planted faults have none
    return breaks(draw)


PLANTED_FAULTS: dict[str, PlantedFault] = {}
"""All planted faults by name. Filled when `planted_tables.faults.all_faults` is imported."""


def planted_fault(
    requirement: str,
    level: Level = "log",
    revisions: tuple[str, ...] | None = None,
    *,
    drops_feature: bool = False,
) -> Callable[[_Breaker], _Breaker]:
    """Register a function that draws a table which breaks a requirement; the function name is the key.

    `revisions` restricts the revisions of the requirement. For example, a table whose features an older revision does
    not define breaks nothing there.
    """

    def register(breaks: _Breaker) -> _Breaker:
        name = getattr(breaks, "__name__", "")
        if name in PLANTED_FAULTS:
            raise ValueError(f"planted fault {name} is registered twice")
        PLANTED_FAULTS[name] = PlantedFault(name, requirement, breaks, level, revisions, drops_feature)
        return breaks

    return register


def draw_one(draw: st.DrawFn, *choices: Any) -> Any:
    """Draw one of several ways to break the same requirement."""
    return draw(st.sampled_from(choices))
