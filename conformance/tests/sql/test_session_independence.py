"""Expressions that depend on the session time zone, by the types that Spark derives for their parts."""

import pytest

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.session_independence import check_session_independence
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Column, Expression, Literal

KINDS = {"at": "timestamp", "nz": "timestamp_ntz", "day": "date", "b": "boolean"}
ZONED = "'2020-01-01 00:00:00Z'"


def get_type(node: Expression) -> str:
    """Return the type of a part; operations are taken for boolean, because their operands are checked as well."""
    match node:
        case Column((name,)):
            return KINDS[name]
        case Literal(_, kind):
            return kind
    return "boolean"


def get_reason(text: str) -> str | None:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression)
    try:
        check_session_independence(answer.tree, get_type)
    except Undecided as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "text",
    [
        f"at > {ZONED}",
        f"at <=> {ZONED}",
        f"at between {ZONED} and {ZONED}",
        f"case at when {ZONED} then b end",
        f"nullif(at, {ZONED}) is null",
        f"equal_null(at, {ZONED})",
        f"at in (at, timestamp {ZONED}, null)",
        "coalesce(at, null) is null",
        "nz in (day, '2020-01-01')",
    ],
)
def test_value_is_the_same_in_every_time_zone(text: str) -> None:
    assert get_reason(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"at in ({ZONED})",
        f"at not in (timestamp {ZONED}, {ZONED})",
        f"coalesce(at, {ZONED}) is null",
        f"nvl(at, {ZONED}) is null",
        f"if(b, at, {ZONED}) is null",
        f"nvl2(b, {ZONED}, at) is null",
        f"greatest(at, {ZONED}) is null",
        f"array(at, {ZONED}) is null",
        f"case when b then at else {ZONED} end is null",
    ],
)
def test_timestamp_next_to_a_string_becomes_a_string_in_the_session_time_zone(text: str) -> None:
    assert get_reason(text) == "string and timestamp are converted to one type in the session time zone"


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("at = '2020-01-01'", "string and timestamp"),
        ("at > day", "date and timestamp"),
        ("nullif(at, nz) is null", "timestamp and timestamp_ntz"),
        ("case at when day then b end", "date and timestamp"),
    ],
)
def test_value_without_zone_becomes_a_timestamp_in_the_session_time_zone(text: str, types: str) -> None:
    assert get_reason(text) == f"{types} are converted to one type in the session time zone"
