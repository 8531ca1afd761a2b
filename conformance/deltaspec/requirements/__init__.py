"""Normative statements of the protocol in our own words, one TOML file per chapter.

Rules, planted faults, reports and `deltaspec explain` refer to requirements by id (`chapter.name`). The rules declare
which requirements they check; it is not stored here.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

import msgspec

Strength = Literal["must", "should", "may", "is"]
Actor = Literal["reader", "writer", "table"]
CheckKind = Literal["log", "data", "behaviour"]
_STRENGTHS, _ACTORS, _CHECK_KINDS = map(get_args, (Strength, Actor, CheckKind))
REVISIONS = ("r1", "r2", "r3", "current")


class Requirement(msgspec.Struct, frozen=True):
    """One normative statement of the protocol."""

    id: str
    """`chapter.name`; the chapter is the name of the TOML file."""
    section: str
    """Heading of the section in the protocol."""
    revisions: tuple[str, ...]
    """Revisions that contain the statement, oldest first."""
    strength: Strength
    """How binding the statement is; `is` for a definition."""
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
            for name, entry in parse_chapter(chapter.read_text("utf-8")).items():
                requirement = _parse_requirement(f"{prefix}.{name}", entry)
                found[requirement.id] = requirement
    return found


def parse_chapter(text: str) -> dict[str, dict[str, Any]]:
    """Parse the TOML of a chapter: tables of strings and lists of strings, by name.

    If each value is on the line of its key, TOML writes it as JSON does. Only other forms need `tomllib`, which is slow
    enough to add noticeably to the time of a small validation.

    Raises:
        tomllib.TOMLDecodeError: it is not TOML.
    """
    tables: dict[str, dict[str, Any]] = {}
    table: dict[str, Any] | None = None
    for line in text.split("\n"):
        if member := _MEMBER.fullmatch(line):
            name, value = member.groups()
            try:
                decoded = msgspec.json.decode(value)
            except msgspec.DecodeError:
                return parse_toml(text)
            if table is None or name in table:
                return parse_toml(text)
            table[name] = decoded
        elif (header := _HEADER.fullmatch(line)) and header[1] not in tables:
            table = tables[header[1]] = {}
        elif line and not line.startswith("#"):
            return parse_toml(text)
    return tables


_HEADER = re.compile(r"\[([A-Za-z0-9_-]+)\]")
_MEMBER = re.compile(r"""([A-Za-z0-9_-]+) *= *(["[].+)""")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse the TOML of any file; `load_requirements` needs it only if `_parse_tables` cannot read a file."""
    import tomllib

    return tomllib.loads(text)


def _parse_requirement(identity: str, entry: dict[str, Any]) -> Requirement:
    requirement = Requirement(
        id=identity,
        section=entry.pop("section"),
        revisions=tuple(entry.pop("revisions")),
        strength=entry.pop("strength"),
        actor=entry.pop("actor"),
        check=entry.pop("check"),
        statement=entry.pop("statement"),
        sources=tuple(entry.pop("from")),
        reading=entry.pop("reading", None),
        notes=tuple(entry.pop("notes", ())),
    )
    if entry:
        raise ValueError(f"{identity}: unknown keys {sorted(entry)}")
    if requirement.strength not in _STRENGTHS or requirement.actor not in _ACTORS:
        raise ValueError(f"{identity}: invalid strength {requirement.strength!r} or actor {requirement.actor!r}")
    if requirement.check not in _CHECK_KINDS:
        raise ValueError(f"{identity}: invalid check {requirement.check!r}")
    if not requirement.revisions or not set(requirement.revisions) <= set(REVISIONS):
        raise ValueError(f"{identity}: invalid revisions {requirement.revisions}")
    return requirement
