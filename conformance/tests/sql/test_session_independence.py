"""Expressions that depend on the session time zone, by the types that Spark derives for their parts."""

import pytest

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.session_independence import ZoneDependent, check_session_independence
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


def parse(text: str) -> Expression:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression)
    return answer.tree


def get_reason(text: str) -> str | None:
    try:
        check_session_independence(parse(text), get_type)
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


@pytest.mark.parametrize(
    "text",
    [
        "CAST(at AS DATE) = day",
        "YEAR(at) = 2020",
        "DATE_FORMAT(at, 'yyyy-MM-dd HH:mm') = 'x'",
        "date_trunc('DAY', at) = at",
        "hour(at) < 24",
        "at > '2020-01-01 00:00:00'",
        "at > day",
    ],
)
def test_known_time_zone_decides(text: str) -> None:
    tree = parse(text)
    with pytest.raises(ZoneDependent):
        check_session_independence(tree, get_type)
    check_session_independence(tree, get_type, zone_is_known=True)


@pytest.mark.parametrize("text", ["DATE_FORMAT(at, 'E') = 'x'", "exp(b) > 1", "date '2020' < day"])
def test_time_zone_does_not_decide_everything(text: str) -> None:
    with pytest.raises(Undecided) as fault:
        check_session_independence(parse(text), get_type, zone_is_known=True)
    assert not isinstance(fault.value, ZoneDependent)
