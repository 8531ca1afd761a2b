"""The catalogue covers the inventory of the protocol's statements, and the rules cover the catalogue.

The inventory has one row per normative statement of the four revisions. A new revision adds rows.
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
from deltaspec.requirements import REVISIONS, Requirement, load_requirements
from deltaspec.rules import RULES
from planted_tables.permissions.all_permissions import PERMISSIONS

HERE = Path(__file__).parent
with (HERE / "inventory.tsv").open(encoding="utf-8") as _file:
    INVENTORY = {row["id"]: row for row in csv.DictReader(_file, delimiter="\t")}
HEADINGS: dict[str, list[str]] = tomllib.loads((HERE / "headings.toml").read_text("utf-8"))
DROPPED: dict[str, str] = tomllib.loads((HERE / "dropped_statements.toml").read_text("utf-8"))
ERRATA_WITHOUT_CHECK: dict[str, str] = tomllib.loads((HERE / "text_only_errata.toml").read_text("utf-8"))
MAX_DROPPED = 25
ERRATA = [f"E{number:02}" for number in range(1, 56)]
SILENT_POINTS = [f"S{number:02}" for number in (*range(1, 45), *range(51, 56), *range(60, 75))]


def get_revisions(row: str) -> set[str]:
    """Return the revisions that contain a statement of the inventory."""
    return set(INVENTORY[row]["revisions"].split(","))


def test_inventory_is_complete() -> None:
    assert len(INVENTORY) == 907
    assert {row["actor"] for row in INVENTORY.values()} == {"reader", "writer", "table"}
    assert {row["strength"] for row in INVENTORY.values()} == {"must", "should", "may", "is"}
    assert {row["check"] for row in INVENTORY.values()} == {"log", "data", "behaviour"}
    assert [row for row in INVENTORY if not (get_revisions(row) <= set(REVISIONS))] == []


def test_every_statement_is_in_the_catalogue_in_each_of_its_revisions() -> None:
    cataloged: dict[str, set[str]] = defaultdict(set)
    for requirement in load_requirements().values():
        for row in requirement.sources:
            cataloged[row] |= set(requirement.revisions)
    missing = {row: sorted(get_revisions(row) - cataloged[row], key=REVISIONS.index) for row in INVENTORY}
    assert {row: revisions for row, revisions in missing.items() if revisions and row not in DROPPED} == {}


def test_few_statements_are_dropped_and_each_with_a_reason() -> None:
    assert len(DROPPED) <= MAX_DROPPED
    assert set(DROPPED) <= set(INVENTORY)
    assert {key: reason for key, reason in DROPPED.items() if len(reason) <= 10} == {}


def test_dropped_statements_are_not_in_the_catalogue() -> None:
    assert set(DROPPED) & {row for requirement in load_requirements().values() for row in requirement.sources} == set()


def find_faults(check: Callable[[Requirement], object]) -> dict[str, object]:
    """Return the result of a check by requirement id, without empty results."""
    return {identity: found for identity, each in load_requirements().items() if (found := check(each))}


def test_sources_exist() -> None:
    assert find_faults(lambda each: set(each.sources) - set(INVENTORY)) == {}


def test_sources_have_the_same_actor_and_level() -> None:
    def find_mismatches(each: Requirement) -> list[str]:
        kind = (each.actor, each.strength)
        return [row for row in each.sources if (INVENTORY[row]["actor"], INVENTORY[row]["strength"]) != kind]

    assert find_faults(find_mismatches) == {}


def test_behavior_requirements_have_only_behavior_sources() -> None:
    def find_misclassified(each: Requirement) -> set[str]:
        checks = {INVENTORY[row]["check"] for row in each.sources}
        fits = checks == {"behaviour"} if each.check == "behaviour" else each.check in checks
        return set() if fits else checks

    assert find_faults(find_misclassified) == {}


def test_requirements_hold_only_in_revisions_of_their_sources() -> None:
    assert find_faults(lambda each: set(each.revisions) - set().union(*map(get_revisions, each.sources))) == {}


def test_sections_are_headings_of_their_revisions() -> None:
    def find_unknown_sections(each: Requirement) -> set[str]:
        sections = {re.sub(r" \(Requirements for Writers\)$", "", part) for part in each.section.split("; ")}
        known = {heading for revision in each.revisions for heading in HEADINGS[revision]}
        return sections - known or (set() if sections & set(HEADINGS[each.revisions[-1]]) else sections)

    assert find_faults(find_unknown_sections) == {}


def test_headings_are_listed_for_every_revision() -> None:
    assert list(HEADINGS) == list(REVISIONS)
    assert {key: each for key, each in HEADINGS.items() if not (len(set(each)) == len(each) > 60)} == {}


def test_no_entry_hides_another() -> None:
    """Compare the entries in the files with the loaded ones. TOML itself rejects duplicates within one file."""
    written = Counter[str]()
    for chapter in files("deltaspec.requirements").iterdir():
        if chapter.name.endswith(".toml"):
            name = chapter.name.removesuffix(".toml")
            written.update(f"{name}.{each}" for each in re.findall(r"^\[(.+)\]$", chapter.read_text("utf-8"), re.M))
    assert written == Counter(load_requirements().keys())


def test_every_rule_shares_a_revision_with_its_requirements() -> None:
    idle = {
        (code, identity)
        for code, rule in RULES.items()
        for identity in rule.requires
        if not set(rule.revisions) & set(load_requirements()[identity].revisions)
    }
    assert idle == set()


def test_permissions_refer_to_existing_requirements() -> None:
    assert {permission.requirement for permission in PERMISSIONS.values()} <= load_requirements().keys()


def find_uncovered(chapter: str) -> dict[str, tuple[str, ...]]:
    """Return the uncovered requirements of a chapter that a table can show, with their revisions."""
    return {
        identity.partition(".")[2]: each.uncovered
        for identity, each in coverage().items()
        if each.requirement.chapter == chapter and each.requirement.check != "behaviour" and each.uncovered
    }


@pytest.mark.parametrize("chapter", sorted({requirement.chapter for requirement in load_requirements().values()}))
def test_only_behavior_is_uncovered(chapter: str) -> None:
    """Every other requirement has, in each revision, a rule that catches its planted fault or a table that uses it."""
    assert find_uncovered(chapter) == {}


def collect_settled_notes() -> set[str]:
    """Return the errata and silent points that a reading settles or that a divergence rule covers."""
    readings = {note for requirement in load_requirements().values() for note in requirement.notes}
    return readings | {rule.divergence for rule in RULES.values() if rule.divergence is not None}


def test_every_erratum_and_silent_point_is_settled() -> None:
    assert set(ERRATA + SILENT_POINTS) - collect_settled_notes() == set(ERRATA_WITHOUT_CHECK)


def test_errata_without_check_have_a_reason() -> None:
    assert {key: reason for key, reason in ERRATA_WITHOUT_CHECK.items() if len(reason) <= 20} == {}


def test_notes_are_known_and_have_a_reading() -> None:
    known = set(ERRATA + SILENT_POINTS)
    assert find_faults(lambda each: set(each.notes) - known) == {}
    assert find_faults(lambda each: set(re.findall(r"\b[ES]\d\d\b", each.reading or "")) - set(each.notes)) == {}
    assert find_faults(lambda each: each.notes and not each.reading) == {}
