"""Untrusted text: escapes, shortening, wrapping, and numbers with units."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.report.text import TEXT_LIMIT, UNENCODABLE, bound_text, count, escape_text, size, split_text, wrap_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe 表", "größe 表"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f"),
        ("\u202e\u2066\u200b\ufeff", "\\u202e\\u2066\\u200b\\ufeff"),
        ("\u2028", "\\u2028"),
        ("\x9b31m", "\\x9b31m"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_text(text) == shown


@given(st.text(alphabet=st.characters()), st.integers(10, 60))
def test_escaped_text_is_printable_and_at_most_as_wide_as_given(text: str, width: int) -> None:
    shown = escape_text(text, width)
    assert len(shown) <= width
    assert [each for each in shown if unicodedata.category(each)[0] == "C"] == []


def test_shortened_text_keeps_its_start_and_end() -> None:
    assert escape_text("begin" + "x" * 100_000 + "end", 20) == "beginxxxxxxxx…xxxend"


def test_unencodable_character_has_an_ascii_substitute() -> None:
    assert "a · b…".encode("ascii", UNENCODABLE) == b"a - b..."
    assert "表".encode("latin-1", UNENCODABLE) == b"\\u8868"


def test_lines_do_not_break_paths_at_hyphens_or_exceed_the_width() -> None:
    assert wrap_text("at part-00000-aaaa-bbbb-cccc.parquet here and there", 38, indent="  ") == [
        "at part-00000-aaaa-bbbb-cccc.parquet",
        "  here and there",
    ]
    assert max(map(len, wrap_text("x" * 500, 40))) == 40
    assert wrap_text("a " + "x" * 500, 40, break_words=False) == ["a", "x" * 500]


@given(st.text(alphabet="a b-", max_size=300), st.integers(30, 60))
def test_split_text_adds_up_to_the_value(text: str, width: int) -> None:
    lines = split_text(text, width)
    assert "".join(lines) == text
    assert max(map(len, lines)) <= width


def test_bounded_text_states_the_complete_length() -> None:
    assert bound_text("x" * TEXT_LIMIT) == "x" * TEXT_LIMIT
    assert bound_text("x" * (TEXT_LIMIT + 1)) == "x" * TEXT_LIMIT + "… (4,001 characters)"


@pytest.mark.parametrize(("number", "text"), [(0, "0 rules"), (1, "1 rule"), (1204, "1,204 rules")])
def test_count(number: int, text: str) -> None:
    assert count(number, "rule") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**40, "1.0 TiB"), (2**63, "8,388,608.0 TiB")],
)
def test_size(number: int, text: str) -> None:
    assert size(number) == text
