"""Docs and the text of product code avoid habits that read like a translation.

Quotes from the protocol are exempt, because a habit in them is the protocol's own.
"""

import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.selection import ROOT

HABITS = {
    r"\b(that|those) of\b(?! which)": "name the noun",
    r"\bso many\b": "state the number",
    r"\bbecame of\b": "say what the value is",
    r"\btakes? away\b": "remove",
    r"\b(stops|ends) in order\b": "cleanly",
    r"\b(least|lowest possible) versions\b": "minimum versions",
    r"(?<!-)\banew\b": "again",
}
DOCS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / "conformance" / name for name in ("CANDIDATES.md", "SPARK.md")),
]
CODE = [
    ROOT / "noxfile.py",
    *(
        path
        for folder in ("conformance/deltaspec", "generators/deltaspec_generators", "generators/planted_tables")
        for path in (ROOT / folder).rglob("*.py")
    ),
]
REQUIREMENTS = sorted((ROOT / "conformance/deltaspec/requirements").glob("*.toml"))
QUOTE = re.compile(r'"[^"]*"|`[^`]*`')


def list_habits(text: str) -> list[str]:
    """Return each habit in a text, with the better wording."""
    plain = QUOTE.sub(" ", " ".join(text.split()))
    return [f"{found[0]!r}: {better}" for habit, better in HABITS.items() for found in re.finditer(habit, plain, re.I)]


def iter_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings and the blocks of comments of a module, with their lines."""
    comments: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            yield token.start[0], token.string.strip("\"'")
        elif token.type == tokenize.COMMENT:
            comments.append(token.string.lstrip("# "))
        elif token.type not in (tokenize.NL, tokenize.NEWLINE) and comments:
            yield token.start[0], " ".join(comments)
            comments = []


def list_strings(value: Any) -> list[str]:
    """Return the strings in a TOML value."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in list_strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in list_strings(each)]
    return [value] if isinstance(value, str) else []


def name_file(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    ("text", "habit"),
    [
        ("the size is that of the file", "that of"),
        ("read in so\nmany parts", "so many"),
        ("the run stops in order", "stops in order"),
        ("the type is `that of` the column", None),
        ('"that of the file", says the protocol', None),
    ],
)
def test_habit_is_found_outside_of_quotes(text: str, habit: str | None) -> None:
    assert [found.split("'")[1] for found in list_habits(text)] == ([habit] if habit else [])


@pytest.mark.parametrize("path", DOCS, ids=name_file)
def test_document_has_no_habit(path: Path) -> None:
    assert list_habits(path.read_text("utf-8")) == []


def test_unreleased_changes_have_no_habit() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert list_habits(text.partition("## [Unreleased]")[2].partition("\n## ")[0]) == []


@pytest.mark.parametrize("path", REQUIREMENTS, ids=name_file)
def test_requirements_have_no_habit(path: Path) -> None:
    texts = list_strings(tomllib.loads(path.read_text("utf-8")))
    assert [habit for text in texts for habit in list_habits(text)] == []


def test_code_has_no_habit() -> None:
    found = [
        f"{name_file(path)}:{line}: {habit}"
        for path in sorted(CODE)
        for line, text in iter_texts(path)
        for habit in list_habits(text)
    ]
    assert found == []
