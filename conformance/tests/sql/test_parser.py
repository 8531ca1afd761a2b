"""Supported and rejected expressions, and input that is made to be harmful."""

import logging
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.sql.parser import (
    InvalidExpression,
    SupportedExpression,
    UnsupportedExpression,
    find_missing_columns,
    is_literal,
    list_columns,
    parse_expression,
)
from deltaspec.sql.tree import (
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    In,
    Is,
    Item,
    Like,
    Literal,
    Member,
    Not,
    Sign,
    render,
)

A, B, C = Column(("a",)), Column(("b",)), Column(("c",))
AB = Struct((Field("a", Primitive("timestamp"), True), Field("b", Primitive("timestamp"), True)))
ONE, TWO = Literal(1, "integer"), Literal(2, "integer")


def parse(text: str) -> Expression:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression), answer
    return answer.tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a > 1", Binary(">", A, ONE)),
        ("a == b", Binary("=", A, B)),
        ("a != b", Binary("<>", A, B)),
        ("a <=> null", Binary("<=>", A, Literal(None, "void"))),
        ("a is distinct from b", Not(Binary("<=>", A, B))),
        ("a IS NOT NULL", Not(Is(A, None))),
        ("a is true", Is(A, True)),
        ("a and b or not c", Binary("or", Binary("and", A, B), Not(C))),
        ("! a = b", Not(Binary("=", A, B))),
        ("a - b - c", Binary("-", Binary("-", A, B), C)),
        ("a - (b - c)", Binary("-", A, Binary("-", B, C))),
        ("a + b * c", Binary("+", A, Binary("*", B, C))),
        ("- a < 1", Binary("<", Sign("-", A), ONE)),
        ("a between 1 and b", Binary("and", Binary(">=", A, ONE), Binary("<=", A, B))),
        ("a not in (1, 2)", Not(In(A, (ONE, TWO)))),
        ("a like 'x%'", Like(A, Literal("x%", "string"))),
        ("a not rlike 'x'", Not(Like(A, Literal("x", "string"), is_regex=True))),
        ("case when a then 1 else 2 end", Case(None, ((A, ONE),), TWO)),
        ("case a when 1 then b end", Case(A, ((ONE, B),), None)),
        ("CAST(a AS decimal( 10 , 2 ))", Cast(A, "decimal(10,2)")),
        ("try_cast(a as int)", Cast(A, "integer", is_try_cast=True)),
        ("date(a)", Cast(A, "date")),
        ("Coalesce(a, 1)", Call("coalesce", (A, ONE))),
        ("a[1].b", Member(Item(A, ONE), "b")),
        ("1L", Literal(1, "long")),
        ("-2147483648", Literal(-(2**31), "integer")),
        ("- 2147483648", Literal(-(2**31), "integer")),
        ("-(2147483648)", Sign("-", Literal(2**31, "long"))),
        ("-2147483648L", Sign("-", Literal(2**31, "long"))),
        ("- -2147483648", Sign("-", Literal(-(2**31), "integer"))),
        ("-9223372036854775808", Literal(-(2**63), "long")),
        ("-9223372036854775808l", Literal(-(2**63), "long")),
        ("-9223372036854775808BD", Sign("-", Literal(Decimal(2**63), "decimal"))),
        ("-32768S", Literal(-(2**15), "short")),
        ("-128y", Literal(-(2**7), "byte")),
        ("-127Y", Sign("-", Literal(127, "byte"))),
        ("a - 2147483648", Binary("-", A, Literal(2**31, "long"))),
        ("(a) -2147483648", Binary("-", A, Literal(2**31, "long"))),
        ("a[1] -2147483648", Binary("-", Item(A, ONE), Literal(2**31, "long"))),
        ("null -2147483648", Binary("-", Literal(None, "void"), Literal(2**31, "long"))),
        ("1 -2147483648", Binary("-", ONE, Literal(2**31, "long"))),
        ("a - -2147483648", Binary("-", A, Literal(-(2**31), "integer"))),
        ("a and -2147483648 < b", Binary("and", A, Binary("<", Literal(-(2**31), "integer"), B))),
        ("case when a then -128Y end", Case(None, ((A, Literal(-128, "byte")),), None)),
        ("coalesce(a, -128Y)", Call("coalesce", (A, Literal(-128, "byte")))),
        ("a[-2147483648]", Item(A, Literal(-(2**31), "integer"))),
        ("3000000000", Literal(3_000_000_000, "long")),
        ("1e2", Literal(100.0, "double")),
        ("DATE '2020-01-01'", Literal("2020-01-01", "date")),
        ("x'0aF'", Literal(b"\x00\xaf", "binary")),
    ],
)
def test_expression_has_tree(text: str, tree: Expression) -> None:
    assert parse(text) == tree
    assert parse(render(tree)) == tree


def test_quoted_name_is_never_read_as_sql() -> None:
    names = [
        "a.b",
        "a`b",
        "--",
        "/* x */",
        "'",
        '"',
        "select 1",
        "int",
        "decimal(1,2)",
        "_n0",
        "_l0",
        "_p",
        "x\ty",
        "é",
        ")",
    ]
    for name in names:
        text = f"`{name.replace('`', '``')}`"
        assert parse(f"{text} > 1") == Binary(">", Column((name,)), ONE)
        assert parse(f"(a.{text} = {text})") == Binary("=", Column(("a", name)), Column((name,)))
        assert parse(render(Column((name, "b")))) == Column((name, "b"))


def test_types_and_keywords_can_be_column_names() -> None:
    assert list_columns(parse("date > '2020' and `and` and a.end and int = 1")) == (
        ("date",),
        ("and",),
        ("a", "end"),
        ("int",),
    )


@pytest.mark.parametrize("name", ["div", "AND", "or", "Not"])
@pytest.mark.parametrize("text", ["{} > 1", "a >= {}", "{}", "a > 1 and {}", "{} {} {}"])
def test_word_operators_can_be_column_names(name: str, text: str) -> None:
    """Without ANSI mode, Spark reserves none of them."""
    assert not isinstance(parse_expression(text.replace("{}", name)), InvalidExpression)
    assert not isinstance(parse_expression(text.replace("{}", f"`{name}`").replace("` `", "` + `")), InvalidExpression)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("datediff(DAY, a, b) < 3", []),
        ("dateadd(week, 1, a) > b", []),
        ("date_add(MONTH, 1, a) > b", []),
        ("timestampadd(HOUR, 1, z) > b", ["z"]),
        ("date_diff(dayofyear, a, z) > 1", ["z"]),
        ("TimestampDiff(Minute, a, b) > 1", []),
        ("timediff(SQL_TSI_DAY, a, b) > 1", []),
        ("datediff(`DAY`, a, b) < 3", ["DAY"]),
        ("datediff(day.x, a, b) < 3", ["day.x"]),
        ("datediff(day, a) < 3", ["day"]),
        ("date_trunc(month, a) < b", ["month"]),
    ],
)
def test_unit_of_time_is_not_a_column(text: str, missing: list[str]) -> None:
    answer = parse_expression(text)
    assert not isinstance(answer, InvalidExpression)
    assert answer.tree is not None
    assert find_missing_columns(answer.tree, AB) == missing


def test_expressions_with_a_unit_of_time_are_unsupported() -> None:
    for text in ("datediff(DAY, a, b) < 3", "date_add(DAY, 1, a) > b", "date_diff(HOUR, a, b) = 0"):
        answer = parse_expression(text)
        assert isinstance(answer, UnsupportedExpression), f"{text=}"
        assert answer.tree is not None, f"{text=}"
        assert render(answer.tree).startswith(f"({text.split(',')[0]}")


def test_array_with_brackets_is_unsupported() -> None:
    for text in ("a = ALL (ARRAY[1])", "array[0] > 1"):
        assert parse_expression(text) == UnsupportedExpression(
            "whether ARRAY[...] creates an array depends on the dialect"
        )
    assert list_columns(parse("`array`[0] > 1 and a.array[0] > 1")) == (("array",), ("a", "array"))


@pytest.mark.parametrize("text", ["", "  \n", "a >", "= a", "(a", "a)", "[a)", "'a", "`a", "a + (b", "a ="])
def test_text_is_not_sql(text: str) -> None:
    assert isinstance(parse_expression(text), InvalidExpression)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "(select 1)",
            "a in (select 1)",
            "exists(select 1)",
            "a -> b",
            "transform(a, x -> x)",
            "count(*)",
            "a b",
            "a, b",
        ),
        *(
            "a; drop table b",
            "drop table b",
            "current_date > a",
            "current_user = a",
            "a::int",
            "a:b",
            "{a}",
            "?",
            "@a",
            ":a",
        ),
        *(
            "a -- b",
            "a /* b */",
            "/* a */",
            "'a' 'b'",
            "'a''b'",
            '"a" = b',
            r"'a\nb' = c",
            "r'a' = b",
            "count(distinct a)",
        ),
        *(
            "cast(a as struct<b:int>)",
            "cast(a)",
            "cast(a as)",
            "interval 1 day < a",
            "sum(a) over ()",
            "a collate b = c",
        ),
        *("`reflect`('a')", "1.5f.5", "a like 'b' escape 'c'", "0x1F = a", "\x00a", "(a, b) = (1, 2)"),
    ],
)
def test_syntax_is_unsupported(text: str) -> None:
    answer = parse_expression(text)
    assert isinstance(answer, UnsupportedExpression)
    assert answer.tree is None


@pytest.mark.parametrize(
    "name", ["reflect", "java_method", "rand", "uuid", "current_date", "input_file_name", "my_udf", "now"]
)
def test_columns_of_unsupported_call_are_known(name: str) -> None:
    answer = parse_expression(f"{name}(a, b.c) > d")
    assert isinstance(answer, UnsupportedExpression)
    assert name in answer.reason
    assert answer.tree is not None
    assert list_columns(answer.tree) == (("a",), ("b", "c"), ("d",))


@pytest.mark.parametrize(
    "text",
    [
        "a = b < c",
        "a = b is null",
        "a is null = b",
        "a in (1) = b",
        "a between 1 and 2 = b",
        "a & b | c",
        "a || b + c",
        "a % b = c <=> d",
    ],
)
def test_precedence_that_differs_between_grammars_needs_parentheses(text: str) -> None:
    assert isinstance(parse_expression(text), UnsupportedExpression)


def test_parentheses_determine_precedence() -> None:
    assert parse("(a = b) is null") == Is(Binary("=", A, B), None)
    assert parse("a = (b is null)") == Binary("=", A, Is(B, None))


SCHEMA = parse_schema(
    '{"type":"struct","fields":['
    '{"name":"Id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"a.b","type":"long","nullable":true,"metadata":{}},'
    '{"name":"v","type":"variant","nullable":true,"metadata":{}},'
    '{"name":"m","type":{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true},'
    '"nullable":true,"metadata":{}},'
    '{"name":"s","type":{"type":"struct","fields":['
    '{"name":"X","type":"long","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}},'
    '{"name":"l","type":{"type":"array","elementType":{"type":"struct","fields":['
    '{"name":"y","type":"long","nullable":true,"metadata":{}}]},"containsNull":true},"nullable":true,"metadata":{}}]}'
)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("id > 0 and ID < 9 and `a.b` = 1", []),
        ("s.x = s.X and S.x = 1", []),
        ("m.anything = m['k'] and l.y[0] = l[0].y and v.x.y = 1", []),
        ("gone > 0 and a.b = 1 and s.z = 1", ["gone", "a.b", "s.z"]),
        ("id.x = 1 or m.k.x = 2 or l.z = 3", ["id.x", "m.k.x", "l.z"]),
        ("`id ` > 0", ["id "]),
    ],
)
def test_missing_columns(text: str, missing: list[str]) -> None:
    assert find_missing_columns(parse(text), SCHEMA) == missing


DEEP = [
    *("(" * 5000 + "a" + ")" * 5000, "(" * 12 + "a" + ")" * 12, "not " * 2000 + "a", "-" * 3000 + "a", "a[" * 3000),
    *(" and ".join(["a"] * 2000), " = ".join(["a"] * 150), ".".join(["a"] * 900), "case when " * 900),
    *("f(" * 12 + "a" + ")" * 12, "array(" * 12 + "a" + ")" * 12, "struct(map(decimal(" * 4 + "a" + ")" * 12),
    *("a" * 10_000_000, "`" + "x" * 9000 + "`", "1" * 9000, "{{" * 100, "/*" * 4000, "'" * 9999),
    *("a between " * 50 + "b", "a is " * 150 + "null", "a in (" * 12 + "1" + ")" * 12),
]


@pytest.mark.parametrize("text", DEEP, ids=range(len(DEEP)))
def test_long_and_deep_expressions_need_few_calls(text: str) -> None:
    """The largest needs 190,000 calls and returns; a parser that tries combinations needs millions."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    parse_expression("a")
    parse_expression.cache_clear()
    sys.setprofile(count)
    try:
        result = parse_expression(text)
    finally:
        sys.setprofile(None)
    assert isinstance(result, SupportedExpression | UnsupportedExpression | InvalidExpression)
    assert 0 < calls < 500_000


@given(st.text())
def test_any_string_is_parsed_without_error(text: str) -> None:
    assert isinstance(parse_expression(text), SupportedExpression | UnsupportedExpression | InvalidExpression)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1", True),
        ("- 1.5D", True),
        ("'a b'", True),
        ("NULL", True),
        ("X'00'", True),
        ("TIMESTAMP '2024-02-29 00:00:00'", True),
        ("CAST(-1 AS long)", True),
        ("1 + 1", False),
        ("uuid()", False),
        (" current_date ", False),
        ("current_timestamp", False),
        ("CAST(current_date AS string)", None),
        ("INTERVAL 1 DAY", None),
        ("f(", None),
    ],
)
def test_literals(text: str, answer: bool | None) -> None:
    assert is_literal(text) is answer


WORDS = """
    a b.c `x``y` 'text' "q" 1 2.5 1e3 5L .5 NULL TRUE ( ) [ ] , . + - * / % DIV || = <> < >= <=> ! NOT AND OR IS IN
    BETWEEN LIKE CASE WHEN THEN ELSE END CAST( AS int DATE '2020-01-01' DISTINCT FROM coalesce( x'f' & | ^ ~ :: -> ; --
    /* */ SELECT INTERVAL \\ { } @ $ ? : year( decimal(3,2) ARRAY STRUCT > OVER
"""
PIECES = st.sampled_from(WORDS.split())


@given(st.lists(PIECES, max_size=14).map(" ".join))
def test_any_token_sequence_is_parsed_and_supported_trees_round_trip(text: str) -> None:
    answer = parse_expression(text)
    if isinstance(answer, SupportedExpression):
        assert parse(render(answer.tree)) == answer.tree


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in ("DROP TABLE x", "SHOW x", "GRANT a", "CALL f()", "SET x = 1", "a @ b", "ALTER TABLE a", "{% x %}"):
            parse_expression(text)
    assert caplog.records == []
    assert capsys.readouterr() == ("", "")
