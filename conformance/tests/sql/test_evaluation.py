"""Values of expressions, computed by hand. Tests marked `spark` compare them with Spark."""

import time
from decimal import Decimal
from typing import Any

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
        ("b is not true", [F, T, T, F, T]),
        ("i32 in (3, null)", [T, N, N, N, N]),
        ("i32 not in (3, null)", [F, N, N, N, N]),
        ("i32 not between -1 and 3", [F, T, T, F, N]),
        ("d = 5", [T, F, F, F, N]),
        ("d * 2", [Decimal("10.00"), Decimal("-0.02"), Decimal("14.20"), Decimal("5.00"), N]),
        ("d - 0.5", [Decimal("4.50"), Decimal("-0.51"), Decimal("6.60"), Decimal("2.00"), N]),
        ("- d", [Decimal("-5.00"), Decimal("0.01"), Decimal("-7.10"), Decimal("-2.50"), N]),
        ("i64 % 3", [1, -1, 1, 0, N]),
        ("i64 div -2", [-2, 2**39, -3, -1, N]),
        ("cast(i32 as decimal(9,1))", [Decimal("3.0"), Decimal("-70000.0"), Decimal("7.0"), Decimal("2.0"), N]),
        ("day > '2000-01-01'", [T, F, F, T, N]),
        ("year(day)", [2020, 1999, 1970, 2024, N]),
        ("month(day)", [2, 12, 1, 1, N]),
        ("dayofmonth(day)", [29, 31, 1, 1, N]),
        ("s like 'a_'", [T, F, F, F, N]),
        ("t like 'x_%y'", [F, F, T, F, N]),
        ("st.in", [3, N, N, 2, N]),
        ("st is null", [F, F, T, F, T]),
        ("li is null", [F, F, T, F, T]),
        ("at is not null and isnotnull(nz) and not isnull(f)", [T, T, T, T, F]),
        ("at <=> null or x = null", [N, N, N, N, T]),
    ],
)
def test_plain_rows(text: str, values: list[Any]) -> None:
    assert evaluate(text, PLAIN_ROWS) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("h = g", [T, F, T, F, N]),  # NaN equals itself, both zeros are equal
        ("h > g", [F, T, F, F, N]),
        ("g > 1e300", [T, F, F, F, N]),  # NaN is the greatest value
        ("g > -0.5", [T, F, T, T, N]),
        ("i32 = -2147483648", [F, T, F, F, N]),
        ("i8 = -128Y and i16 = -32768S and i64 = -9223372036854775808L", [F, T, F, F, N]),
        ("i32 > -(2147483648) - 1", [T, T, T, T, N]),
        ("i64 = 9007199254740993", [F, F, F, T, N]),
        ("i64 = 99999999999999999999", [F, F, F, F, N]),
        ("i64 > 9223372036854775806.5", [T, F, F, F, N]),
        ("e > 1234567890123456789012345678.0123456788", [T, F, F, F, N]),
        ("e > -1234567890123456789012345677.9999999999", [T, F, T, T, N]),
        ("e >= - 1234567890123456789012345678.0123456789BD", [T, T, T, T, N]),
        ("0.5 - 1234567890123456789012345678.012345678 < 0", [T, T, T, T, T]),
        ("- cast(d as decimal(38,2)) = -0.30", [F, F, F, T, N]),
        ("s < '\ufffd'", [T, F, T, T, N]),  # by bytes, not by UTF-16
        ("st.`te.xt` like 'a_b'", [T, T, F, N, N]),
        ("year(day)", [9999, 1, 1582, 1969, N]),
    ],
)
def test_edge_case_rows(text: str, values: list[Any]) -> None:
    assert evaluate(text, EDGE_CASE_ROWS) == values


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("i8 + i8 > 0", "in some rows, a result is outside the range of byte"),
        ("i32 > -2147483648 - 1", "in some rows, a result is outside the range of integer"),
        ("- -2147483648 > 0", "2147483648 is outside the range of integer"),
        ("- -128Y > 0", "128 is outside the range of byte"),
        ("i8 > -(128Y)", "128Y is outside the range of its type"),
        ("i64 - 9223372036854775808L < 0", "9223372036854775808L is outside the range of its type"),
        ("- i64 < 0", "in some rows, a result is outside the range of long"),
        ("1 / i32 > 0", "it applies / to integer and integer"),
        ("i32 % i64 = 0", "in some rows, a divisor is zero"),
        ("cast(d as int) = 0", "in some rows, a value loses digits as integer"),
        ("cast(i64 as int) = 0", "in some rows, a result is outside the range of integer"),
        ("cast(e as decimal(20,10)) = 0", "in some rows, a value is outside the range of decimal(20,10)"),
        ("- e < 0", "in some rows, Spark rounds - of a decimal to 34 digits"),
        ("e in (- e, 1.0)", "in some rows, Spark rounds - of a decimal to 34 digits"),
        ("e > -(1234567890123456789012345678.0123456789)", "Spark rounds - of a decimal to 34 digits"),
        ("e > - -1234567890123456789012345678.0123456789", "Spark rounds - of a decimal to 34 digits"),
        ("e * e > 0", "a decimal result has more than 38 digits"),
        ("s > 1", "it compares string with integer"),
        ("day > '2020-1-1'", "how '2020-1-1' is read as date depends on settings"),
        ("day > s", "it compares a string column with a date"),
        ("cast(at as date) = day", "it casts timestamp to date"),
        ("at = day", "it compares timestamp with date"),
        ("g = d", "it compares a decimal with a double"),
        ("gone = 1", "the schema has 0 columns gone"),
        ("li.x = 1", "li.x is inside the type array"),
        ("i32 and b", "a condition is of type integer"),
        ("i32 < 99999999999999999999", "it compares an integer with a number that no integer type holds"),
        ("-9223372036854775808.5 >= i64", "it compares an integer with a number that no integer type holds"),
        ("s like t", "LIKE has another operand than a string, or a pattern that is not constant or has a \\"),
        ("i32 + null > 0", "it applies + to integer and void"),
    ],
)
def test_uncertain_results_are_undecided(text: str, reason: str) -> None:
    assert evaluate(text, EDGE_CASE_ROWS) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("length(s) > 1", "it calls length"),
        ("upper(s) = 'A'", "it calls upper"),
        ("coalesce(s, '') = ''", "it calls coalesce"),
        ("if(b, 1, 2) = 1", "it calls if"),
        ("abs(i32) > 1", "it calls abs"),
        ("round(g) = 1", "it calls round"),
        ("date_add(day, 1) > day", "it calls date_add"),
        ("year(at) = 2020", "it calls year on a timestamp"),
        ("hour(nz) = 1", "it calls hour"),
        ("case when b then c end", "it uses CASE"),
        ("s || t = ''", "it applies || to string and string"),
        ("s rlike 'a'", "it uses RLIKE"),
        ("li[0] = 1", "it uses an element of an array or map"),
        ("g + 1 > 0", "it applies + to double and integer"),
        ("d / 2 > 0", "it applies / to decimal(10,2) and integer"),
        ("(i32 & 1) = 1", "it applies & to integer and integer"),
        ("(~i32) = 1", "it applies ~ to integer"),
        ("f > 0", "it compares float with integer"),
        ("x = x'00'", "it uses a value of type binary"),
        ("at > timestamp '2020-01-01 00:00:00Z'", "it uses a value of type timestamp"),
        ("nz > '2020-01-01'", "it compares timestamp_ntz with string"),
        ("day = nz", "it compares date with timestamp_ntz"),
        ("st = st", "it compares struct with struct"),
        ("cast(i64 as string) = '1'", "it casts long to string"),
        ("cast(b as int) = 1", "it casts boolean to integer"),
        ("cast(i32 as double) = 1", "it casts integer to double"),
        ("day in ('2020-01-01', nz)", "IN compares date and string and timestamp_ntz"),
        ("at in ('2020-02-29 23:30:00Z')", "IN compares string and timestamp"),
        ("null in (i32, '1')", "IN compares integer and string"),
    ],
)
def test_expressions_that_only_spark_evaluates_are_undecided(text: str, reason: str) -> None:
    assert evaluate(text, PLAIN_ROWS) == reason


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
def test_columns_are_resolved_in_lower_case_and_members_in_either_case(text: str, answer: list[Any] | str) -> None:
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


def test_year_outside_1_to_9999_is_undecided() -> None:
    table = pa.table({"day": pa.array([2_932_897], pa.int32()).cast(pa.date32())})
    reason = "in some rows, a date is outside the years 1 to 9999"
    assert evaluate("year(day) > 0", table, build_schema({"day": ("date", None)})) == reason


def test_null_rows_pass_guards() -> None:
    nulls = pa.table([pa.array([None, None], each.type) for each in PLAIN_ROWS.schema], names=PLAIN_ROWS.column_names)
    assert evaluate("i8 + i8 > 0 or 1 % i32 > 0 or year(day) > 0", nulls) == [None, None]


def test_strings_that_are_not_utf_8_are_undecided() -> None:
    bad = pa.array([b"\xff"] * 5, pa.binary())
    texts = pa.StringArray.from_buffers(5, bad.buffers()[1], bad.buffers()[2])
    table = PLAIN_ROWS.set_column(PLAIN_ROWS.column_names.index("s"), "s", texts)
    assert str(evaluate("s = 'a'", table)).startswith("cannot read string as string: ")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("day in ('2020-02-29', date '1970-01-01', null)", [T, N, T, N, N]),
        ("'2024-01-01' in (day, '2024-01-02')", [F, F, F, T, N]),
        ("'2024-1-1' in (day, '2024-01-02')", "how '2024-1-1' is read as date depends on settings"),
        ("day in ('2024-1-1')", "how '2024-1-1' is read as date depends on settings"),
        ("day in (day, s)", "it compares a string column with a date"),
    ],
)
def test_in_compares_dates_with_strings_in_full_form(text: str, answer: list[Any] | str) -> None:
    assert evaluate(text, PLAIN_ROWS) == answer


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("digits", "kind"), [("99", "decimal(2,0)"), ("9", "decimal(2,1)"), ("999999999", "decimal(9,0)")]
)
def test_power_of_ten_is_outside_the_range_of_a_decimal(sign: str, digits: str, kind: str) -> None:
    largest, power = (f"i64 * 0 + {sign}{number}" for number in (digits, int(digits) + 1))
    assert evaluate(f"cast({largest} as {kind}) = {sign}{digits}", PLAIN_ROWS) == [T, T, T, T, N]
    reason = f"in some rows, a value is outside the range of {kind}"
    assert evaluate(f"cast({power} as {kind}) = 0", PLAIN_ROWS) == reason


def test_in_converts_numbers_to_one_decimal_type() -> None:
    """With 38 digits before the point and one after it, Spark drops digits of every number."""
    assert evaluate(f"i32 in ({'9' * 38}, 0.5)", PLAIN_ROWS) == "it compares decimals with more than 38 digits"
    assert evaluate(f"i32 in ({'9' * 37}, 2.0)", PLAIN_ROWS) == [F, F, F, T, N]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("day is null or date '1970-01-01' < cast('2020-01-01' as date)", T),
        ("1e0 >= -1", T),
        ("'a' <=> 'b'", F),
        ("1 in (2 - 1, 3)", T),
        ("null is null", T),
    ],
)
def test_constant_expressions(text: str, value: bool) -> None:
    assert evaluate(text, PLAIN_ROWS) == [value] * 5


HEAVY = [
    "i64" + " % 7" * 100 + " = 0",
    "(" * 10 + "i64 div 2" + ") div 2" * 10 + " = 0",
    "(" * 10 + "b" + " between false and true)" * 10,
    "i32 in (" + ", ".join(map(str, range(480))) + ")",
    "case " + " ".join(f"when i32 = {each} then {each}" for each in range(120)) + " end = 1",
    " or ".join(["b"] * 140),
    "s like '" + "%a" * 4000 + "'",
    "coalesce(" + ", ".join(["i32"] * 98) + ") = 1",
    "cast(" * 11 + "i32" + " as bigint)" * 11 + " = 1",
]


@pytest.mark.parametrize("text", HEAVY, ids=range(len(HEAVY)))
def test_expensive_expressions_return_within_two_seconds(text: str) -> None:
    start = time.process_time()
    assert isinstance(evaluate(text, EDGE_CASE_ROWS), list | str)
    assert time.process_time() - start < 2
