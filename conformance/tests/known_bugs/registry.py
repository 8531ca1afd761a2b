"""Known bugs of real engines: which table each of them leaves behind, and what a validator says of it.

A case is one small function that lays the table down: as the wrong writer left it, or, asked for what is right, as a
sound writer would have. Its docstring says what the writer did. Ids are those of the project's collection of bugs; a
bug that shows in several shapes has a case each. What only readers get wrong is a sound table and stays silent, with
the reason why no rule speaks; what leaves no table behind at all is a `Reason` alone.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from deltaspec.views.base import Level
from deltaspec_generators.table_files import TableFiles

Build = Callable[..., TableFiles]


@dataclass(frozen=True)
class Case:
    """A table that a known bug leaves behind."""

    id: str
    """Of the bug."""
    area: str
    build: Build
    """With `right` False the broken table, with True its sound twin; of a silent case it takes nothing."""
    description: str
    level: Level
    expected_findings: dict[str, int]
    """Rule to the number of its findings, and no other rule finds anything."""
    no_finding: str | None
    """Why no rule finds anything in this table; such a case has no twin."""
    unchecked: frozenset[str]
    """Rules that cannot decide at this level and say so."""

    @property
    def name(self) -> str:
        """Id and shape, unique."""
        return f"{self.id}:{self.build.__name__}"

    def broken(self) -> TableFiles:
        """The table as the bug leaves it."""
        return self.build() if self.no_finding else self.build(right=False)

    def sound(self) -> TableFiles:
        """The same table as a right writer leaves it."""
        return self.build() if self.no_finding else self.build(right=True)


@dataclass(frozen=True)
class BugWithoutTable:
    """Why a known bug leaves no table that could be laid down."""

    id: str
    area: str
    reason: str


CASES: list[Case] = []
BUGS_WITHOUT_TABLE: list[BugWithoutTable] = []


def known_bug(
    bug: str, *, level: Level = "log", unchecked: tuple[str, ...] = (), **expected_findings: int
) -> Callable[[Build], Build]:
    """Enter a function as the case of a bug that rules find."""
    return _enter(bug, level, expected_findings, None, unchecked)


def no_finding(
    bug: str, because: str, *, level: Level = "log", unchecked: tuple[str, ...] = ()
) -> Callable[[Build], Build]:
    """Enter a function as the case of a bug whose table breaks nothing that the text demands."""
    return _enter(bug, level, {}, because, unchecked)


def no_table(bug: str, because: str) -> None:
    """Enter the reason why a bug has no table."""
    module = inspect.stack()[1].frame.f_globals["__name__"]
    BUGS_WITHOUT_TABLE.append(BugWithoutTable(bug, _area(module), because))


def _enter(
    bug: str, level: Level, expected_findings: dict[str, int], because: str | None, unchecked: tuple[str, ...]
) -> Callable[[Build], Build]:
    def enter(build: Build) -> Build:
        description = inspect.getdoc(build) or ""
        area = _area(build.__module__)
        CASES.append(
            Case(
                bug, area, build, " ".join(description.split()), level, expected_findings, because, frozenset(unchecked)
            )
        )
        return build

    return enter


def _area(module: str) -> str:
    return module.rpartition("cases_")[2].replace("_", " ")
