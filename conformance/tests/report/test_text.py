"""A stranger's text made fit for a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.report.text import UNENCODABLE, count, escape_text, size, wrap_text


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
def test_what_a_terminal_would_obey_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert escape_text(text) == shown


@given(st.text(alphabet=st.characters()), st.integers(10, 60))
def test_safe_text_is_printable_and_no_wider_than_asked(text: str, width: int) -> None:
    shown = escape_text(text, width)
    assert len(shown) <= width
    assert not any(unicodedata.category(each)[0] == "C" for each in shown)


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    assert escape_text("begin" + "x" * 100_000 + "end", 20) == "beginxxxxxxxx…xxxend"


def test_a_stream_that_cannot_print_a_sign_gets_a_plain_spelling() -> None:
    assert "a · b…".encode("ascii", UNENCODABLE) == b"a - b..."
    assert "表".encode("latin-1", UNENCODABLE) == b"\\u8868"


def test_lines_keep_paths_whole_and_never_pass_the_width() -> None:
    assert wrap_text("at part-00000-aaaa-bbbb-cccc.parquet here and there", 38, indent="  ") == [
        "at part-00000-aaaa-bbbb-cccc.parquet",
        "  here and there",
    ]
    assert max(map(len, wrap_text("x" * 500, 40))) == 40


@pytest.mark.parametrize(("number", "text"), [(0, "0 rules"), (1, "1 rule"), (1204, "1,204 rules")])
def test_count(number: int, text: str) -> None:
    assert count(number, "rule") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**40, "1.0 TiB"), (2**63, "8,388,608.0 TiB")],
)
def test_size(number: int, text: str) -> None:
    assert size(number) == text
