"""The catalogue against the inventory of the protocol's statements, and the rules against the catalogue.

The inventory has a row for every normative statement of four texts; whoever reads a text anew adds rows to it.
"""

import csv
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from deltaspec.requirement_coverage import coverage
from deltaspec.requirements import REVISIONS, Requirement, requirements
from deltaspec.rules import RULES
from deltaspec_generators.permissions.all_permissions import PERMISSIONS

HERE = Path(__file__).parent
with (HERE / "inventory.tsv").open(encoding="utf-8") as _file:
    INVENTORY = {row["id"]: row for row in csv.DictReader(_file, delimiter="\t")}
HEADINGS: dict[str, list[str]] = tomllib.loads((HERE / "headings.toml").read_text("utf-8"))
DROPPED: dict[str, str] = tomllib.loads((HERE / "dropped_statements.toml").read_text("utf-8"))
OF_THE_TEXT_ALONE: dict[str, str] = tomllib.loads((HERE / "text_only_errata.toml").read_text("utf-8"))
MOST_DROPPED = 25
ERRATA = [f"E{number:02}" for number in range(1, 56)]
SILENT_POINTS = [f"S{number:02}" for number in range(1, 42)]


def held_in(row: str) -> set[str]:
    """Revisions in which a statement of the inventory stands."""
    return set(INVENTORY[row]["revisions"].split(","))


def test_inventory_is_whole() -> None:
    assert len(INVENTORY) == 838
    assert {row["actor"] for row in INVENTORY.values()} == {"reader", "writer", "table"}
    assert {row["level"] for row in INVENTORY.values()} == {"must", "should", "may", "is"}
    assert {row["check"] for row in INVENTORY.values()} == {"log", "data", "behaviour"}
    assert all(held_in(row) <= set(REVISIONS) for row in INVENTORY)


def test_every_statement_is_in_the_catalogue_in_each_of_its_revisions() -> None:
    said: dict[str, set[str]] = defaultdict(set)
    for requirement in requirements().values():
        for row in requirement.sources:
            said[row] |= set(requirement.revisions)
    missing = {row: sorted(held_in(row) - said[row], key=REVISIONS.index) for row in INVENTORY}
    assert {row: revisions for row, revisions in missing.items() if revisions and row not in DROPPED} == {}


def test_few_statements_are_dropped_and_each_with_a_reason() -> None:
    assert len(DROPPED) <= MOST_DROPPED
    assert set(DROPPED) <= set(INVENTORY)
    assert all(len(reason) > 10 for reason in DROPPED.values())


def test_what_is_dropped_is_nowhere_in_the_catalogue() -> None:
    assert set(DROPPED) & {row for requirement in requirements().values() for row in requirement.sources} == set()


def of_each(what: Callable[[Requirement], object]) -> dict[str, object]:
    """What is wrong with requirements, by id; those with nothing wrong are left out."""
    return {identity: found for identity, each in requirements().items() if (found := what(each))}


def test_sources_exist() -> None:
    assert of_each(lambda each: set(each.sources) - set(INVENTORY)) == {}


def test_sources_are_of_the_same_actor_and_level() -> None:
    def others(each: Requirement) -> list[str]:
        kind = (each.actor, each.level)
        return [row for row in each.sources if (INVENTORY[row]["actor"], INVENTORY[row]["level"]) != kind]

    assert of_each(others) == {}


def test_only_behaviour_is_called_behaviour() -> None:
    def misnamed(each: Requirement) -> set[str]:
        checks = {INVENTORY[row]["check"] for row in each.sources}
        fits = checks == {"behaviour"} if each.check == "behaviour" else each.check in checks
        return set() if fits else checks

    assert of_each(misnamed) == {}


def test_requirements_hold_only_where_their_sources_do() -> None:
    assert of_each(lambda each: set(each.revisions) - set().union(*map(held_in, each.sources))) == {}


def test_sections_are_headings_of_their_texts() -> None:
    def strangers(each: Requirement) -> set[str]:
        sections = {re.sub(r" \(Requirements for Writers\)$", "", part) for part in each.section.split("; ")}
        own = {heading for revision in each.revisions for heading in HEADINGS[revision]}
        return sections - own or (set() if sections & set(HEADINGS[each.revisions[-1]]) else sections)

    assert of_each(strangers) == {}


def test_headings_are_known_of_every_revision() -> None:
    assert list(HEADINGS) == list(REVISIONS)
    assert all(len(set(headings)) == len(headings) > 60 for headings in HEADINGS.values())


def test_no_entry_hides_another() -> None:
    """A key that stands twice in one file is refused by TOML; this counts what was written against what was read."""
    written = Counter[str]()
    for chapter in files("deltaspec.requirements").iterdir():
        if chapter.name.endswith(".toml"):
            name = chapter.name.removesuffix(".toml")
            written.update(f"{name}.{each}" for each in re.findall(r"^\[(.+)\]$", chapter.read_text("utf-8"), re.M))
    assert written == Counter(requirements().keys())


def test_rules_check_what_holds_where_they_are_asked() -> None:
    idle = {
        (code, identity)
        for code, rule in RULES.items()
        for identity in rule.requires
        if not set(rule.revisions) & set(requirements()[identity].revisions)
    }
    assert idle == set()


def test_permissions_are_of_requirements_that_exist() -> None:
    assert {permission.requirement for permission in PERMISSIONS.values()} <= requirements().keys()


def uncovered_in(chapter: str) -> dict[str, tuple[str, ...]]:
    """What of a chapter a table can show and nothing covers, with the revisions."""
    return {
        identity.partition(".")[2]: each.uncovered
        for identity, each in coverage().items()
        if each.requirement.chapter == chapter and each.requirement.check != "behaviour" and each.uncovered
    }


@pytest.mark.parametrize("chapter", sorted({requirement.chapter for requirement in requirements().values()}))
def test_only_behaviour_is_uncovered(chapter: str) -> None:
    """By requirement and revision: a rule that was seen to catch its fault, or a sound table that uses it."""
    assert uncovered_in(chapter) == {}


def settled() -> set[str]:
    """Errata and silent points that a reading settles or a rule diverges for."""
    readings = {note for requirement in requirements().values() for note in requirement.notes}
    return readings | {rule.divergence for rule in RULES.values() if rule.divergence is not None}


def test_every_erratum_and_silent_point_is_settled() -> None:
    assert set(ERRATA + SILENT_POINTS) - settled() == set(OF_THE_TEXT_ALONE)


def test_what_concerns_the_text_alone_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in OF_THE_TEXT_ALONE.values())


def test_notes_are_known_and_have_a_reading() -> None:
    known = set(ERRATA + SILENT_POINTS)
    assert of_each(lambda each: set(each.notes) - known) == {}
    assert of_each(lambda each: set(re.findall(r"\b[ES]\d\d\b", each.reading or "")) - set(each.notes)) == {}
    assert of_each(lambda each: each.notes and not each.reading) == {}
