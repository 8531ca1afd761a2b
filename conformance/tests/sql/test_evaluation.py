"""Values of expressions, by hand; that Spark gives the same is tested where there is a Spark."""

import time
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from helpers.expression_values import EDGE_CASE_ROWS, PLAIN_ROWS, build_schema, evaluate

T, F, N = True, False, None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("i32 > 2", [T, F, T, F, N]),
        ("i32 <=> null", [F, F, F, F, T]),
        ("b and c", [F, F, N, N, N]),
        ("b or c", [T, T, N, T, N]),
        ("not b", [F, T, N, F, N]),
        ("i32 in (3, null)", [T, N, N, N, N]),
        ("i32 not in (3, null)", [F, N, N, N, N]),
        ("i32 not between -1 and 3", [F, T, T, F, N]),
        ("d = 5", [T, F, F, F, N]),
        ("d * 2", [Decimal("10.00"), Decimal("-0.02"), Decimal("14.20"), Decimal("5.00"), N]),
        ("i64 % 3", [1, -1, 1, 0, N]),
        ("pmod(i64, 3)", [1, 2, 1, 0, N]),
        ("i64 div -2", [-2, 2**39, -3, -1, N]),
        ("day > '2000-01-01'", [T, F, F, T, N]),
        ("day = nz", [F, T, F, F, N]),
        ("at > timestamp '2000-01-01 00:00:00+05:00'", [T, F, T, T, N]),
        ("year(day)", [2020, 1999, 1970, 2024, N]),
        ("hour(nz)", [23, 0, 0, 12, N]),
        ("trim(s)", ["ab", "a b", "", "trim", N]),
        ("upper(t)", ["AB", "BA", "X_%Y", "TRIM", N]),
        ("s like 'a_'", [T, F, F, F, N]),
        ("t like 'x_%y'", [F, F, T, F, N]),
        ("s || t", ["abab", "a b ba", "x_%y", "  trim  tRIM", N]),
        ("concat(coalesce(s, 'x'), 'y')", ["aby", "a b y", "y", "  trim  y", "xy"]),
        ("substring(s, 2, 1)", ["b", " ", "", " ", N]),
        ("coalesce(c, b, true)", [F, T, T, T, T]),
        ("case when i32 > 2 then 'big' when b then 'yes' end", ["big", N, "big", "yes", N]),
        ("if(b, i8, i64)", [1, -(2**40), 7, 2, N]),
        ("nullif(i32, 7)", [3, -70_000, N, 2, N]),
        ("st.in", [3, N, N, 2, N]),
        ("st is null", [F, F, T, F, T]),
        ("li is null", [F, F, T, F, T]),
        ("cast(i64 as string)", ["4", "-1099511627776", "7", "3", N]),
    ],
)
def test_plain_rows(text: str, values: list[Any]) -> None:
    assert evaluate(text, PLAIN_ROWS) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("f = h", [T, F, T, F, N]),  # NaN is itself, the zeros are one
        ("f > g", [F, T, F, F, N]),
        ("f > 1e300", [T, T, F, F, N]),  # NaN is above all
        ("g = h", [T, F, T, F, N]),
        ("i32 = -2147483648", [F, T, F, F, N]),
        ("i8 = -128Y and i16 = -32768S and i64 = -9223372036854775808L", [F, T, F, F, N]),
        ("i32 > -(2147483648) - 1", [T, T, T, T, N]),
        ("i64 = 9007199254740993", [F, F, F, T, N]),
        ("i64 = 99999999999999999999", [F, F, F, F, N]),
        ("i64 > 9223372036854775806.5", [T, F, F, F, N]),
        ("e > 1234567890123456789012345678.0123456788", [T, F, F, F, N]),
        ("length(s)", [1, 1, 1, 1, N]),
        ("s < '\ufffd'", [T, F, T, T, N]),  # by bytes, not by UTF-16
        ("st.`te.xt` like 'a_b'", [T, T, F, N, N]),
        ("cast(nz as date) < '1970-01-01'", [F, T, T, T, N]),
        ("dayofyear(day)", [365, 1, 288, 365, N]),
    ],
)
def test_edges(text: str, values: list[Any]) -> None:
    assert evaluate(text, EDGE_CASE_ROWS) == values


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("i8 + i8 > 0", "in some rows, a result is beyond byte"),
        ("i32 > -2147483648 - 1", "in some rows, a result is beyond integer"),
        ("- -2147483648 > 0", "a result is beyond integer"),
        ("- -128Y > 0", "a result is beyond byte"),
        ("i8 > -(128Y)", "128Y is beyond its type"),
        ("i64 - 9223372036854775808L < 0", "9223372036854775808L is beyond its type"),
        ("- i64 < 0", "in some rows, a result is beyond long"),
        ("abs(i32) >= 0", "in some rows, a result is beyond integer"),
        ("1 / i32 > 0", "what / gives of integers differs between engines"),
        ("1e0 / i32 > 0", "in some rows, a divisor is zero"),
        ("concat(s, t) = s", "in some rows, concat has a null, which engines take differently"),
        ("i32 % i64 = 0", "in some rows, a divisor is zero"),
        ("upper(s) = s", "in some rows, letters beyond ASCII change case"),
        ("cast(d as int) = 0", "in some rows, a value is cut off as integer"),
        ("cast(i64 as int) = 0", "in some rows, a value is beyond integer"),
        ("cast(e as decimal(20,10)) = 0", "in some rows, a value is beyond decimal(20,10)"),
        ("s > 1", "string is compared with integer"),
        ("day > '2020-1-1'", "what '2020-1-1' is as date depends on settings"),
        ("at > '2020-01-01 00:00:00'", "what '2020-01-01 00:00:00' is as timestamp depends on settings"),
        ("year(at) = 1", "the day of a timestamp"),
        ("cast(at as date) = day", "timestamp is cast to date"),
        ("at = day", "timestamp is compared with date"),
        ("f = i32", "a float is compared with an integer"),
        ("g = d", "a decimal becomes a double"),
        ("gone = 1", "the schema has 0 columns gone"),
        ("li.x = 1", "li.x is within a array"),
        ("li[0] = 1", "Item is left to Spark"),
        ("i32 and b", "a condition is of type integer"),
        ("round(g) = 1", "what round gives is left to Spark"),
        ("x < x'00'", "binary values are put in order"),
        ("case when null then true else b end", "a condition of CASE is of type void"),
        ("case when b then c when coalesce(null, null) then true end", "a condition of CASE is of type void"),
        ("i32 < 99999999999999999999", "an integer is compared with a number beyond all integers"),
        ("-9223372036854775808.5 >= i64", "an integer is compared with a number beyond all integers"),
        ("s like t", "LIKE is given something else than a string and a constant without a backslash"),
    ],
)
def test_left_to_spark(text: str, why: str) -> None:
    assert evaluate(text, EDGE_CASE_ROWS) == why


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("s = 1", [T]),
        ("S = 1", [T]),
        ("`ſ` = 0", [T]),
        ("`É` = `é`", [T]),
        ("ss = 3", "the schema has 0 columns ss"),
        ("`in`.s = 1", "the schema has 2 columns in.s"),
        ("`in`.ss = 3", "the schema has 0 columns in.ss"),
        ("`in`.`ß` = 3", [T]),
    ],
)
def test_columns_are_the_same_in_lower_case_and_members_in_either(text: str, answer: list[Any] | str) -> None:
    names = ["ſ", "s", "é", "ß"]
    fields = [{"name": name, "type": "integer", "nullable": True, "metadata": {}} for name in names]
    schema = build_schema(
        {**dict.fromkeys(names, ("integer", None)), "in": ({"type": "struct", "fields": fields}, None)}
    )
    values = dict(zip(names, range(4), strict=True))
    table = pa.table({**{name: pa.array([value], pa.int32()) for name, value in values.items()}, "in": [values]})
    members = pa.struct([(name, pa.int32()) for name in names])
    table = table.set_column(4, "in", table["in"].cast(members))
    assert evaluate(text, table, schema) == answer


@pytest.mark.parametrize("text", ["day > nz", "nz in (day)", "cast(day as timestamp_ntz) > nz"])
def test_a_date_beyond_all_times_is_no_midnight(text: str) -> None:
    day = pa.array([200_000_000], pa.int32()).cast(pa.date32())
    table = pa.table({"day": day, "nz": pa.array([0], pa.int64()).cast(pa.timestamp("us"))})
    with pytest.raises(pl.exceptions.PolarsError, match="conversion from `i128` to `i64` failed"):
        evaluate(text, table, build_schema({"day": ("date", None), "nz": ("timestamp_ntz", None)}))


def test_null_rows_overflow_nothing_and_divide_by_nothing() -> None:
    nothing = pa.table([pa.array([None, None], each.type) for each in PLAIN_ROWS.schema], names=PLAIN_ROWS.column_names)
    assert evaluate("i8 + i8 > 0 or 1 % i32 > 0 or upper(s) = s", nothing) == [None, None]


def test_strings_that_are_no_utf_8_are_left_to_spark() -> None:
    bad = pa.array([b"\xff"] * 5, pa.binary())
    texts = pa.StringArray.from_buffers(5, bad.buffers()[1], bad.buffers()[2])
    table = PLAIN_ROWS.set_column(PLAIN_ROWS.column_names.index("s"), "s", texts)
    assert str(evaluate("s = 'a'", table)).startswith("values of string are no string: ")


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("at not in ('2020-02-29 23:30:00Z')", "string and timestamp"),
        ("at in (timestamp '2020-01-01 00:00:00Z', '2021-01-01 00:00:00Z')", "string and timestamp"),
        ("nz not in ('2020-02-29T23:30:00')", "string and timestamp_ntz"),
        ("nz in (date '2020-01-01', '2020-01-01')", "date and string and timestamp_ntz"),
        ("day in (nz, '2020-01-01')", "date and string and timestamp_ntz"),
        ("null in (i32, '1')", "integer and string"),
    ],
)
def test_strings_beside_others_in_a_list_are_left_to_spark(text: str, types: str) -> None:
    """Without ANSI mode the others become strings, with it the strings become others."""
    assert evaluate(text, PLAIN_ROWS) == f"IN compares {types}"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("day in ('2020-02-29', date '1970-01-01', null)", [T, N, T, N, N]),
        ("'2024-01-01' in (day, '2024-01-02')", [F, F, F, T, N]),
        ("'2024-1-1' in (day, '2024-01-02')", "what '2024-1-1' is as date depends on settings"),
        ("day in ('2024-1-1')", "what '2024-1-1' is as date depends on settings"),
        ("day in (day, s)", "strings of a column are compared with a date"),
    ],
)
def test_dates_in_a_list_of_dates_spelled_in_full(text: str, answer: list[Any] | str) -> None:
    assert evaluate(text, PLAIN_ROWS) == answer


def test_numbers_in_a_list_share_their_digits() -> None:
    """Of 38 digits before the point and one behind it, Spark drops some in every number of the list."""
    assert evaluate(f"i32 in ({'9' * 38}, 0.5)", PLAIN_ROWS) == "decimals with more than 38 digits are compared"
    assert evaluate(f"i32 in ({'9' * 37}, 2.0)", PLAIN_ROWS) == [F, F, F, T, N]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("day is null or date '1970-01-01' < cast('2020-01-01' as date)", T),
        ("1e0 >= -1", T),
        ("'a' <=> upper('a')", F),
        ("2 > if(b, -1, -2)", T),
        ("'a' > coalesce('b', s)", F),
        ("1 in (abs(-1), abs(1))", T),
    ],
)
def test_constants_beside_what_has_the_same_value_in_every_row(text: str, value: bool) -> None:
    assert evaluate(text, PLAIN_ROWS) == [value] * 5


HEAVY = [
    "i64" + " % 7" * 100 + " = 0",
    "(" * 10 + "i64 div 2" + ") div 2" * 10 + " = 0",
    "abs(" * 11 + "i32" + ")" * 11 + " >= 0",
    "pmod(" * 11 + "i32" + ", 5)" * 11 + " >= 0",
    "(" * 10 + "b" + " between false and true)" * 10,
    "i32 in (" + ", ".join(map(str, range(480))) + ")",
    "case " + " ".join(f"when i32 = {each} then {each}" for each in range(120)) + " end = 1",
    " or ".join(["b"] * 140),
    "s like '" + "%a" * 4000 + "'",
    "concat(" + ", ".join(["s"] * 400) + ") = s",
    " || ".join(["s"] * 140) + " = s",
    "coalesce(" + ", ".join(["i32"] * 98) + ") = 1",
    "cast(" * 11 + "i32" + " as bigint)" * 11 + " = 1",
]


@pytest.mark.parametrize("text", HEAVY, ids=range(len(HEAVY)))
def test_what_is_made_to_be_slow_is_answered_at_once(text: str) -> None:
    before = time.process_time()
    assert isinstance(evaluate(text, EDGE_CASE_ROWS), list | str)
    assert time.process_time() - before < 2
