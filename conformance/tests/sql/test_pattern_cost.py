"""Estimated steps of an engine to match a pattern."""

import pytest

from deltaspec.sql.pattern_cost import PatternCost, compute_like_cost, compute_regex_cost
from deltaspec.sql.terms import Undecided


@pytest.mark.parametrize(
    ("pattern", "ways", "degree"),
    [
        ("", 1, 1),
        ("^abc$", 1, 0),
        ("^[A-Z]{2}-[0-9]+$", 1, 1),
        (r"^\S+@\S+$", 1, 2),
        (r"^\w+@\w{2,}$", 1, 2),
        ("a*a*b", 1, 3),
        ("a++b+?", 1, 3),
        ("^(new|open|closed)$", 3, 0),
        ("^(?:a|b)(?<name>c|d)(?i:e|f)(?=g|h)$", 16, 0),
        ("^((a|b)|c)$", 4, 0),
        ("a|b|c", 3, 1),
        ("^a|b", 2, 1),
        ("^a?b{1,3}c{2}$", 6, 0),
        (r"^\(\|\*[|(*+{]\]$", 1, 0),
        ("^[a[b|c]](d|e)$", 2, 0),
        ("(?i)abc", 1, 1),
        (r"^\p{L}+[\p{Lu}\d]{2}\P{IsAlphabetic}$", 1, 1),
    ],
)
def test_regex_cost(pattern: str, ways: int, degree: int) -> None:
    assert compute_regex_cost(pattern) == PatternCost(ways, degree)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|aa)*$",
        "(a?){40}",
        "(a|a)" * 40 + "b",
        "a{1,99}" * 6,
        "a?" * 40,
        "a*a*a*b",
        "|".join("a" * 5000),
        r"\Q[\E" + "(a|a)" * 40,
        "(?x)(a#|\n|a)",
        "a{",
        "(?#a)b",
    ],
)
def test_expensive_regex_is_undecided(pattern: str) -> None:
    with pytest.raises(Undecided, match="a regular expression may take too long"):
        compute_regex_cost(pattern)


def test_like_cost() -> None:
    assert compute_like_cost("a_b") == PatternCost(1, 0)
    assert compute_like_cost("%a%b%") == PatternCost(1, 3)
    with pytest.raises(Undecided, match="more than 4 wildcards"):
        compute_like_cost("%a%b%c%d%")
