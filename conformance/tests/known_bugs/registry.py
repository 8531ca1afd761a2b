"""Known bugs of real engines: the table that each leaves behind, and the expected findings.

A case is a small function that builds the table as the faulty writer left it, or as a correct writer would have. Its
docstring says what the writer did. Ids come from the project's collection of bugs; a bug that shows in several forms
has several cases. A bug of readers only is a sound table without findings, and the case gives the reason. A bug that
leaves no table is a `BugWithoutTable`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from deltaspec.scales import Level
from deltaspec_generators.table_files import TableFiles

Build = Callable[..., TableFiles]


@dataclass(frozen=True)
class Case:
    """A table that a known bug leaves behind."""

    id: str
    """Id of the bug."""
    area: str
    build: Build
    """Takes `is_sound`: False builds the broken table, True its sound twin. No parameter if there is no finding."""
    description: str
    level: Level
    expected_findings: dict[str, int]
    """Number of findings by rule; no other rule may find anything."""
    no_finding: str | None
    """Why no rule finds anything in this table; such a case has no sound twin."""
    unchecked: frozenset[str]
    """Rules that the ledger may report as not checked at this level."""

    @property
    def name(self) -> str:
        """Unique name: bug id and function name."""
        return f"{self.id}:{self.build.__name__}"

    def build_broken(self) -> TableFiles:
        """Build the table as the bug leaves it."""
        return self.build() if self.no_finding else self.build(is_sound=False)

    def build_sound(self) -> TableFiles:
        """Build the same table as a correct writer leaves it."""
        return self.build() if self.no_finding else self.build(is_sound=True)


@dataclass(frozen=True)
class BugWithoutTable:
    """A known bug that leaves no table to validate, with the reason."""

    id: str
    area: str
    reason: str


CASES: list[Case] = []
BUGS_WITHOUT_TABLE: list[BugWithoutTable] = []


def known_bug(
    bug: str, *, level: Level = "log", unchecked: tuple[str, ...] = (), **expected_findings: int
) -> Callable[[Build], Build]:
    """Register a function as a case of a bug that rules find."""
    return _register(bug, level, expected_findings, None, unchecked)


def no_finding(
    bug: str, reason: str, *, level: Level = "log", unchecked: tuple[str, ...] = ()
) -> Callable[[Build], Build]:
    """Register a function as a case of a bug whose table violates no requirement."""
    return _register(bug, level, {}, reason, unchecked)


def no_table(bug: str, reason: str) -> None:
    """Register a bug without table."""
    module = inspect.stack()[1].frame.f_globals["__name__"]
    BUGS_WITHOUT_TABLE.append(BugWithoutTable(bug, _area(module), reason))


def _register(
    bug: str, level: Level, expected_findings: dict[str, int], reason: str | None, unchecked: tuple[str, ...]
) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        description = inspect.getdoc(build) or ""
        area = _area(build.__module__)
        CASES.append(
            Case(
                bug, area, build, " ".join(description.split()), level, expected_findings, reason, frozenset(unchecked)
            )
        )
        return build

    return register


def _area(module: str) -> str:
    return module.rpartition("cases_")[2].replace("_", " ")
