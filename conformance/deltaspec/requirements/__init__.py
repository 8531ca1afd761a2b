"""The protocol's normative statements in our own words: one TOML file a chapter.

Rules, mutations, reports and `deltaspec explain` speak of requirements by id (`chapter.name`). Which rule checks which
requirement is computed from the rules, never stored here.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

Level = Literal["must", "should", "may", "is"]
Actor = Literal["reader", "writer", "table"]
Check = Literal["log", "data", "behaviour"]
REVISIONS = ("r1", "r2", "r3", "current")


@dataclass(frozen=True)
class Requirement:
    """One normative statement of the protocol."""

    id: str
    """`chapter.name`; the chapter is the name of the TOML file."""
    section: str
    """Heading of the protocol text the statement stands under."""
    revisions: tuple[str, ...]
    """Revisions the statement holds in, oldest first."""
    level: Level
    actor: Actor
    check: Check
    """Where it shows: in the log, in files beside it, or only in what an implementation does."""
    statement: str
    sources: tuple[str, ...]
    """Rows of the statement inventory that it covers."""
    reading: str | None = None
    """How we read the text where it allows two readings or is silent."""
    notes: tuple[str, ...] = ()
    """Numbers of the errata (`E..`) and silent points (`S..`) that the reading settles."""

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]


@cache
def requirements() -> dict[str, Requirement]:
    """Every requirement by id, in the order of chapters and then of the text.

    Raises:
        ValueError: a chapter file breaks the catalogue's own form.
    """
    found: dict[str, Requirement] = {}
    for chapter in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if chapter.name.endswith(".toml"):
            prefix = chapter.name.removesuffix(".toml")
            for name, entry in tomllib.loads(chapter.read_text("utf-8")).items():
                requirement = _requirement(f"{prefix}.{name}", entry)
                found[requirement.id] = requirement
    return found


def _requirement(identity: str, entry: dict[str, Any]) -> Requirement:
    requirement = Requirement(
        id=identity,
        section=entry.pop("section"),
        revisions=tuple(entry.pop("revisions")),
        level=entry.pop("level"),
        actor=entry.pop("actor"),
        check=entry.pop("check"),
        statement=entry.pop("statement"),
        sources=tuple(entry.pop("from")),
        reading=entry.pop("reading", None),
        notes=tuple(entry.pop("notes", ())),
    )
    if entry:
        raise ValueError(f"{identity}: unknown keys {sorted(entry)}")
    if requirement.level not in get_args(Level) or requirement.actor not in get_args(Actor):
        raise ValueError(f"{identity}: level {requirement.level!r}, actor {requirement.actor!r}")
    if requirement.check not in get_args(Check):
        raise ValueError(f"{identity}: check {requirement.check!r}")
    if not requirement.revisions or not set(requirement.revisions) <= set(REVISIONS):
        raise ValueError(f"{identity}: revisions {requirement.revisions}")
    return requirement
