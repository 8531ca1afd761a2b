"""Expressions that an engine does not evaluate because their cost has no bound."""

import pyarrow as pa
import pytest

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.resource_bounds import compute_resource_bounds
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Expression


def parse(text: str) -> Expression:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression)
    return answer.tree


def nested(call: str, depth: int) -> str:
    """Return a call nested in itself at `{}`, compared with a string."""
    text = "s"
    for _ in range(depth):
        text = call.replace("{}", text)
    return f"{text} <> ''"


@pytest.mark.parametrize(
    "text",
    [
        "s rlike '^[A-Z]{2}-[0-9]+$'",
        "regexp_replace(s, '[^0-9]', '') = '1'",
        "split(s, ',')[0] = 'a'",
        "s like 'a%b%'",
        "repeat(s, 3) = t",
        "lpad(s, 10, '0') = t",
        "replace(replace(s, 'a', 'bb'), 'b', '') <> t",
        " and ".join(f"s <> '{number}'" for number in range(60)),
        "concat(s, '-', t, '-', u) = upper(v)",
    ],
)
def test_ordinary_expressions_are_bounded(text: str) -> None:
    compute_resource_bounds(parse(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s rlike '(a+)+$'", "a regular expression may take too long"),
        ("s rlike 'a*a*a*b'", "a regular expression may take too long"),
        ("regexp_like(s, '(a|aa)*$')", "a regular expression may take too long"),
        ("split(s, '(x{1,9}){1,9}y')[0] = 'a'", "a regular expression may take too long"),
        ("s rlike '" + "(a|a)" * 40 + "b'", "a regular expression may take too long"),
        ("s rlike t", "a pattern is not constant"),
        ("s like t", "a pattern is not constant"),
        ("s like '%a%a%a%a%'", "a pattern has more than 4 wildcards"),
        ("repeat(s, 2147483647) <> ''", "its values may become too large"),
        ("repeat('x', 2147483647) <> ''", "its values may become too large"),
        ("repeat(s, n) <> ''", "a length is not constant"),
        ("lpad(s, 2147483647, 'x') <> ''", "its values may become too large"),
        ("rpad(s, n) <> ''", "a length is not constant"),
        (nested("replace({}, 'a', 'aaaaaaaaaa')", 6), "its values may become too large"),
        (nested("regexp_replace({}, 'a', 'aaaaaaaaaa')", 6), "its values may become too large"),
        ("repeat(concat(s, s, repeat(s, 20)), 20) <> ''", "its values may become too large"),
        ("substring(s, 1, length(repeat(s, 2147483647))) <> ''", "its values may become too large"),
        ("btrim(s, repeat(s, 2147483647)) <> ''", "its values may become too large"),
        ("replace(s, 'a', t) <> ''", "the replacement of replace is not constant"),
    ],
)
def test_unbounded_cost_is_undecided(text: str, reason: str) -> None:
    with pytest.raises(Undecided, match=reason):
        compute_resource_bounds(parse(text))


@pytest.mark.parametrize(
    ("text", "longest"),
    [
        ("s <> ''", 16 << 20),
        ("repeat(s, 256) <> t", (16 << 20) // 256),
        ("concat(s, t) <> u", (16 << 20) // 2),
        ("upper(substring(s, 1, 3)) = 'ABC'", 16 << 20),
    ],
)
def test_longest_value_depends_on_growth(text: str, longest: int) -> None:
    assert compute_resource_bounds(parse(text)).longest == longest


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("s <> t", 0),
        ("s like 'a%'", 10 + 1000),
        ("s like '%a%b'", 10**2 + 1000**2),
        ("upper(s) rlike '^(a|b)$'", 2 * 2),
        ("repeat(s, 3) rlike 'a'", 3 * 1010 + 2 * 6 * 64),
        ("s rlike 'a+' or t like 'b%'", 10**2 + 1000**2 + 10 + 1000),
    ],
)
def test_pattern_steps_depend_on_string_length(text: str, steps: int) -> None:
    assert compute_resource_bounds(parse(text)).steps(pa.array([10, 1000], pa.int64())) == steps
    assert compute_resource_bounds(parse(text)).steps(pa.array([], pa.int64())) == 0
