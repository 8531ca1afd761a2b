"""Parsing example rows of docstrings."""

import pytest

from deltaspec.rules.examples import parse_row, parse_rows


def test_values_may_be_words_numbers_booleans_or_null() -> None:
    assert parse_row("kind: add, version: 4, live: true, vector: null, share: -1.5") == {
        "kind": "add",
        "version": 4,
        "live": True,
        "vector": None,
        "share": -1.5,
    }


def test_quoted_string_may_contain_commas_and_colons() -> None:
    assert parse_row('path: "a, b: c.parquet", kind: add') == {"path": "a, b: c.parquet", "kind": "add"}


def test_lists_and_objects_are_json() -> None:
    assert parse_row('names: ["a, b", "c"], stats: {"numRecords": 1}, empty: []') == {
        "names": ["a, b", "c"],
        "stats": {"numRecords": 1},
        "empty": [],
    }


def test_unquoted_string_may_have_several_words() -> None:
    assert parse_row("kind: classic checkpoint, version: 3") == {"kind": "classic checkpoint", "version": 3}


def test_blank_lines_are_skipped() -> None:
    assert parse_rows("\n  a: 1\n\n  a: 2\n") == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("line", ["version 4", ": 4", "two words: 4", 'path: "a" b', "a: 1, b"])
def test_malformed_line_raises(line: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_row(line)


def test_unterminated_string_raises() -> None:
    with pytest.raises(ValueError, match="Unterminated string"):
        parse_row('path: "a')
