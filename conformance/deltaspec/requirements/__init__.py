"""Normative statements of the protocol in our own words, one TOML file per chapter.

Rules, mutations, reports and `deltaspec explain` refer to requirements by id (`chapter.name`). The rules declare which
requirements they check; it is not stored here.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

Level = Literal["must", "should", "may", "is"]
Actor = Literal["reader", "writer", "table"]
CheckKind = Literal["log", "data", "behaviour"]
REVISIONS = ("r1", "r2", "r3", "current")


@dataclass(frozen=True)
class Requirement:
    """One normative statement of the protocol."""

    id: str
    """`chapter.name`; the chapter is the name of the TOML file."""
    section: str
    """Heading of the section in the protocol."""
    revisions: tuple[str, ...]
    """Revisions that contain the statement, oldest first."""
    level: Level
    actor: Actor
    check: CheckKind
    """Where a violation is visible: in the log, in other files, or only in the behaviour of an implementation."""
    statement: str
    sources: tuple[str, ...]
    """Rows of the statement inventory that the requirement covers."""
    reading: str | None = None
    """Our interpretation if the protocol is ambiguous or silent."""
    notes: tuple[str, ...] = ()
    """Numbers of the errata (`E..`) and silent points (`S..`) that the interpretation resolves."""

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]


@cache
def load_requirements() -> dict[str, Requirement]:
    """Load every requirement by id, ordered by chapter and position in its file.

    Raises:
        ValueError: A chapter file is malformed.
    """
    found: dict[str, Requirement] = {}
    for chapter in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if chapter.name.endswith(".toml"):
            prefix = chapter.name.removesuffix(".toml")
            for name, entry in tomllib.loads(chapter.read_text("utf-8")).items():
                requirement = _parse_requirement(f"{prefix}.{name}", entry)
                found[requirement.id] = requirement
    return found


def _parse_requirement(identity: str, entry: dict[str, Any]) -> Requirement:
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
        raise ValueError(f"{identity}: invalid level {requirement.level!r} or actor {requirement.actor!r}")
    if requirement.check not in get_args(CheckKind):
        raise ValueError(f"{identity}: invalid check {requirement.check!r}")
    if not requirement.revisions or not set(requirement.revisions) <= set(REVISIONS):
        raise ValueError(f"{identity}: invalid revisions {requirement.revisions}")
    return requirement
