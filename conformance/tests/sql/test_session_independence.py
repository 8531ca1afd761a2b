"""Which expressions depend on the time zone of a session, by the types that Spark gives their parts."""

import pytest

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.session_independence import check_session_independence
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Column, Expression, Literal

KINDS = {"at": "timestamp", "nz": "timestamp_ntz", "day": "date", "b": "boolean"}
ZONED = "'2020-01-01 00:00:00Z'"


def type_of(node: Expression) -> str:
    """Of everything but columns and constants it tells no times: what is asked of those is asked of their parts too."""
    match node:
        case Column((name,)):
            return KINDS[name]
        case Literal(_, kind):
            return kind
    return "boolean"


def undecided(text: str) -> str | None:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression)
    try:
        check_session_independence(answer.tree, type_of)
    except Undecided as fault:
        return str(fault)
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
def test_what_is_alike_in_every_zone(text: str) -> None:
    assert undecided(text) is None


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
def test_beside_a_text_a_time_that_is_chosen_becomes_text_in_some_zone(text: str) -> None:
    assert undecided(text) == "string and timestamp meet in the time zone of a session"


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("at = '2020-01-01'", "string and timestamp"),
        ("at > day", "date and timestamp"),
        ("nullif(at, nz) is null", "timestamp and timestamp_ntz"),
        ("case at when day then b end", "date and timestamp"),
    ],
)
def test_what_names_no_zone_becomes_a_time_in_that_of_a_session(text: str, types: str) -> None:
    assert undecided(text) == f"{types} meet in the time zone of a session"
