"""The catalogue of requirements keeps its own form, and rules and catalogue fit together."""

import re
import tomllib
from importlib.resources import files

import pytest

from deltaspec.requirements import REVISIONS, Requirement, requirements
from deltaspec.rules import RULES

each_requirement = pytest.mark.parametrize("requirement", requirements().values(), ids=requirements().keys())
CHAPTERS = [each for each in files("deltaspec.requirements").iterdir() if each.name.endswith(".toml")]
KEYS = {"from", "section", "revisions", "level", "actor", "check", "statement", "reading", "notes"}


@each_requirement
def test_id_is_chapter_and_name(requirement: Requirement) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.[a-z0-9]+(-[a-z0-9]+)*", requirement.id)
    assert f"{requirement.chapter}.toml" in {each.name for each in CHAPTERS}


@each_requirement
def test_sources_are_rows_of_the_inventory(requirement: Requirement) -> None:
    assert requirement.sources
    assert len(set(requirement.sources)) == len(requirement.sources)
    for source in requirement.sources:
        assert re.fullmatch(r"[A-Z0-9]+([._][A-Z0-9]+)+", source)


@each_requirement
def test_revisions_are_in_order(requirement: Requirement) -> None:
    assert list(requirement.revisions) == [each for each in REVISIONS if each in requirement.revisions]


@each_requirement
def test_words_are_sentences(requirement: Requirement) -> None:
    assert requirement.section
    assert requirement.statement.endswith(".")
    assert requirement.reading is None or requirement.reading.endswith(".")


@each_requirement
def test_statement_fits_two_lines(requirement: Requirement) -> None:
    assert len(requirement.statement) <= 200


def test_statements_are_unique() -> None:
    statements = [each.statement for each in requirements().values()]
    assert len(set(statements)) == len(statements)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=[each.name for each in CHAPTERS])
def test_chapter_has_known_keys_only(chapter) -> None:  # type: ignore[no-untyped-def]
    for entry in tomllib.loads(chapter.read_text("utf-8")).values():
        assert set(entry) <= KEYS
        assert KEYS - set(entry) <= {"reading", "notes"}


def test_every_chapter_is_loaded() -> None:
    assert {each.chapter for each in requirements().values()} == {each.name.removesuffix(".toml") for each in CHAPTERS}


def test_rules_do_not_rest_on_what_is_optional() -> None:
    for rule in RULES.values():
        assert rule.divergence is not None or rule.requirement.level != "may"
