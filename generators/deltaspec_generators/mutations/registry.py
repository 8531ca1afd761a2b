"""Broken tables: each breaks one requirement in one place, and nothing else.

`MUTATIONS` maps a name to the requirement it breaks and a strategy of tables. Rules are not known here: which rule
catches which mutation is for the tests to say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from deltaspec_generators.table_files import Level, TableFiles

Breaker = Callable[[st.DrawFn], TableFiles]
_Breaker = TypeVar("_Breaker", bound=Breaker)


@dataclass(frozen=True)
class Mutation:
    """A way to break a requirement."""

    name: str
    requirement: str
    breaks: Breaker
    level: Level = "log"
    """What has to be opened to see the fault: `log`, `files`, `footers` or `rows`. Tables of level `log` may lack
    the data files that their log speaks of."""
    revisions: tuple[str, ...] | None = None
    """Revisions in which this table shows the fault; None: all in which the requirement holds."""

    def tables(self) -> st.SearchStrategy[TableFiles]:
        """Tables broken this way."""
        return _tables(self.breaks)


@st.composite
def _tables(draw: st.DrawFn, breaks: Breaker) -> TableFiles:
    draw(st.none())  # not every mutation has a choice to draw, and hypothesis asks for one
    return breaks(draw)


MUTATIONS: dict[str, Mutation] = {}
"""Every mutation by name. Filled when `deltaspec_generators.mutations.all_mutations` is imported."""


def mutation(
    requirement: str, level: Level = "log", revisions: tuple[str, ...] | None = None
) -> Callable[[_Breaker], _Breaker]:
    """Register a function that draws a table which breaks a requirement; its name says how.

    `revisions`: those in which it does, where they are not all that the requirement holds in: a table whose features
    an older text does not know breaks nothing there.
    """

    def register(breaks: _Breaker) -> _Breaker:
        name = getattr(breaks, "__name__", "")
        if name in MUTATIONS:
            raise ValueError(f"mutation {name} stands twice")
        MUTATIONS[name] = Mutation(name, requirement, breaks, level, revisions)
        return breaks

    return register


def draw_one(draw: st.DrawFn, *choices: Any) -> Any:
    """One of several ways to do the same wrong."""
    return draw(st.sampled_from(choices))
