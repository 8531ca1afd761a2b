"""SQL of scans in the dialects of engines."""

from typing import Any

import pytest

from deltaspec.candidates.adapters.sql_text import Dialect

PLAIN = Dialect()
BACKTICKS = Dialect(quote="`", has_backslash_escapes=True, null_safe_equal="{} <=> {}")
NOT_NULL = ["not", ["is_null", ["col", "b"]]]
INDEXED = Dialect(access="{}[{}]".format, names_fields_by_text=True)


@pytest.mark.parametrize(
    ("dialect", "path", "expected"),
    [
        (PLAIN, ["a"], '"a"'),
        (PLAIN, ['a"b', "c.d"], '"a""b"."c.d"'),
        (BACKTICKS, ["a`b", "c"], "`a``b`.`c`"),
        (INDEXED, ["a", "it's", "c"], "\"a\"['it''s']['c']"),
    ],
)
def test_names_are_quoted(dialect: Dialect, path: list[str], expected: str) -> None:
    assert dialect.render_column(path) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("long", "-5", "-5"),
        ("boolean", "true", "true"),
        ("string", r"it's \n", r"'it''s \n'"),
        ("double", "NaN", "CAST('NaN' AS DOUBLE)"),
        ("decimal(5,2)", "1.50", "CAST('1.50' AS decimal(5,2))"),
        ("date", "2026-01-31", "CAST('2026-01-31' AS DATE)"),
        ("binary", "00ff", "X'00ff'"),
        ("string", None, "NULL"),
    ],
)
def test_literals_keep_their_type(kind: str, text: str | None, expected: str) -> None:
    assert PLAIN.render_literal(kind, text) == expected


def test_backslashes_are_escaped_where_they_have_a_meaning() -> None:
    assert BACKTICKS.render_literal("string", r"a\b'") == r"'a\\b\''"


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (["is_null", ["col", "a"]], '("a" IS NULL)'),
        (["not", ["is_not_null", ["col", "a"]]], '(NOT ("a" IS NOT NULL))'),
        (["!=", ["col", "a"], ["lit", "long", "1"]], '("a" <> 1)'),
        (["<=>", ["col", "a"], ["lit", "long", None]], '("a" IS NOT DISTINCT FROM NULL)'),
        (
            ["or", ["<", ["col", "a"], ["lit", "long", "1"]], ["and", [">=", ["col", "b"], ["col", "a"]], NOT_NULL]],
            '(("a" < 1) OR (("b" >= "a") AND (NOT ("b" IS NULL))))',
        ),
    ],
)
def test_predicates_are_conditions(tree: list[Any], expected: str) -> None:
    assert PLAIN.render_predicate(tree) == expected


def test_unknown_operators_are_an_error() -> None:
    with pytest.raises(ValueError, match="unknown operator in predicate: 'like'"):
        PLAIN.render_predicate(["like", ["col", "a"], ["lit", "string", "x"]])


@pytest.mark.parametrize(
    ("columns", "predicate", "expected"),
    [
        (None, None, "SELECT * FROM delta AS t"),
        ([], "a > 1", "SELECT count(*) AS num_rows FROM delta AS t WHERE a > 1"),
        ([["a"], ["b", "c"]], None, 'SELECT t."a" AS "a", t."b"."c" AS "b.c" FROM delta AS t'),
    ],
)
def test_scans_are_queries(columns: list[list[str]] | None, predicate: str | None, expected: str) -> None:
    assert PLAIN.render_scan("delta", columns, predicate, None) == expected


def test_the_tree_is_used_instead_of_the_text() -> None:
    tree = ["is_null", ["col", "a"]]
    assert PLAIN.render_scan("delta", None, "ignored", tree) == 'SELECT * FROM delta AS t WHERE (t."a" IS NULL)'
