"""Form of the requirement catalogue, and consistency of rules with it."""

import re
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from deltaspec import requirements
from deltaspec.requirements import REVISIONS, load_requirements, parse_chapter
from deltaspec.rules import RULES

CHAPTERS = [each for each in files("deltaspec.requirements").iterdir() if each.name.endswith(".toml")]
KEYS = {"from", "section", "revisions", "strength", "actor", "check", "statement", "reading", "notes"}


def test_ids_are_chapter_and_name() -> None:
    for requirement in load_requirements().values():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.[a-z0-9]+(-[a-z0-9]+)*", requirement.id)
        assert f"{requirement.chapter}.toml" in {each.name for each in CHAPTERS}


def test_sources_are_listed_once() -> None:
    for requirement in load_requirements().values():
        assert requirement.sources, requirement.id
        assert len(set(requirement.sources)) == len(requirement.sources), requirement.id


def test_revisions_are_in_order() -> None:
    for requirement in load_requirements().values():
        assert list(requirement.revisions) == [each for each in REVISIONS if each in requirement.revisions]


def test_statements_and_readings_are_sentences() -> None:
    for requirement in load_requirements().values():
        assert requirement.section
        assert re.fullmatch(r"[^ ].*[^ ]\.", requirement.statement), requirement.id
        assert requirement.reading is None or re.fullmatch(r"[^ ].*[^ ]\.", requirement.reading), requirement.id


def test_statements_fit_two_lines() -> None:
    assert {each.id: each.statement for each in load_requirements().values() if len(each.statement) > 200} == {}


def test_statements_are_unique() -> None:
    statements = [each.statement for each in load_requirements().values()]
    assert len(set(statements)) == len(statements)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=[each.name for each in CHAPTERS])
def test_chapter_has_known_keys_only(chapter) -> None:  # type: ignore[no-untyped-def]
    for entry in tomllib.loads(chapter.read_text("utf-8")).values():
        assert set(entry) <= KEYS
        assert KEYS - set(entry) <= {"reading", "notes"}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=[each.name for each in CHAPTERS])
def test_chapter_is_parsed_as_toml_line_by_line(chapter, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    text = chapter.read_text("utf-8")
    expected = tomllib.loads(text)
    monkeypatch.setattr(requirements, "parse_toml", lambda _: pytest.fail("another form of TOML"))
    assert parse_chapter(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# no table",
        "[a]\n[b]\nk = 'literal'",
        '[a]\nk = "x"  # comment',
        '[a]\nk = [\n"x",\n]',
        '[a]\nk = "\\e" # é',
        '[a]\nk = """x"""',
        '[a]\n"k" = "x"',
        '[a.b]\nk = "x"',
        '[a]\nk.l = "x"',
        "[a]\nk = 1",
        '[a]\n\n# comment\nk="\\u00e9\\n"\n[b]',
    ],
)
def test_other_chapters_are_parsed_as_toml(text: str) -> None:
    assert parse_or_error(parse_chapter, text) == parse_or_error(tomllib.loads, text)


@pytest.mark.parametrize("text", ['k = "x"\n[a]', '[a]\nk = "x"\nk = "y"', '[a]\nk = "x"\n[a]', "[a]\nk", "[a"])
def test_malformed_chapters_are_refused_or_parsed_as_toml(text: str) -> None:
    assert parse_or_error(parse_chapter, text) == parse_or_error(tomllib.loads, text)


def parse_or_error(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except tomllib.TOMLDecodeError as fault:
        return str(fault)


def test_every_chapter_is_loaded() -> None:
    assert {each.chapter for each in load_requirements().values()} == {
        each.name.removesuffix(".toml") for each in CHAPTERS
    }


def test_rules_do_not_check_optional_requirements() -> None:
    for rule in RULES.values():
        assert rule.divergence is not None or rule.requirement.strength != "may"
