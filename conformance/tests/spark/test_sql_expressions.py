"""Spark returns the values that the embedded backend computes, and accepts the expressions that need it.

Spark runs in a time zone far from UTC, with and without ANSI mode: what depends on either is undecided.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from helpers.expression_values import EDGE_CASE_ROWS, PLAIN_ROWS, SCHEMA, build_parquet, evaluate
from spark.session import with_settings

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.tree import Expression, Is, render
from deltaspec.validation.spark.constraint_tasks import ConstraintContext
from deltaspec.validation.spark.expression_plans import ExpressionPlanner
from deltaspec.views.table.row_constraints import RowConstraint
from deltaspec.views.table.table_schema import TableSchema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXPRESSIONS = """
i8 > 1
i8 < i64
i64 >= 9007199254740993
i64 = 9007199254740993.0
i32 <=> null
i32 = null
i32 <> 7
i16 <=> i8
i32 > 2.5
i64 <= -0.5
i32 between 2 and 7
i32 not between -1 and 3
i32 in (1, 3, 7)
i32 in (1, null)
i32 not in (3, null)
i64 in (4, 7.0, 3)
d in (5, 7.1)
d = 5
d > i32
d <= e
e = 0.3
e > 1234567890123456789012345678.0123456788
d = 0.3 or d = 2.50
d + 1 > 3.5
d * 2 = 10
d * d > 25
-d < 0
- i32 > 0
+ i32
i8 + i8
i8 + 1 > 100
i16 * i32
i64 - 1
i32 * 2 + 1
i64 % 3
i64 % -3
i32 % i64 + 0
i64 div 2
i32 div -2
g > 0
g < 0.3
g >= h
g = h
g <=> h
g <> h
g > i32
i64 = g
s = 'ab'
s < t
s >= 'a'
s <=> t
s > 'Z'
s <> ''
s in ('ab', '')
x is null
s like 'a%'
s like '_'
t like 'x_%'
t like '%m'
`st`.`te.xt` like 'a_b'
st.`te.xt` like '%.%'
s not like '%b%'
b
not b
b and c
b or c
b and null
b or null
b = c
b <=> c
b is true
b is not false
b is null
! b or c
(b and c) is null
isnull(i8) or isnotnull(s)
day > '2000-01-01'
'1970-01-01' <= day
day = date '2020-02-29'
day in ('2020-02-29', '1970-01-01')
day between '1970-01-01' and '2000-01-01'
year(day)
month(day) = 12
day(day)
date(day)
cast(i8 as int)
cast(i32 as bigint) * 2
cast(i8 as decimal(10,2))
cast(d as decimal(20,5))
cast('2020-02-29' as date) = day
cast(null as int) is null
st is null
li is not null
st.in
ST.IN > 1
st.`te.xt` = 'ab'
st.in + i32
i32 > 0 and s <> '' or not b
null
true
1 = 1
'a' < 'b'
0.1 + 0.2 = 0.3
5 % 3 = 2
-7 % 3
-7 div 2
2147483648 > i32
-2147483648 <= i32
100Y + i8
""".strip().splitlines()
"""Evaluated on the plain rows; on the edge cases, some results are outside the range of their type."""
UNDECIDED_ON_EDGE_CASES = 8
EVALUATED_BY_SPARK = """
mod(i32, 4)
pmod(i32, 4)
abs(i32)
abs(d)
abs(g)
g + h
g * 2
g - 0.1
g / 2
f = 0.5
f > 0.1
f <= g
f < 7
f = f
isnan(g)
isnan(f) or b
g in (0.5, 7)
length(s)
char_length(t) > 1
octet_length(s)
length(x)
x = x'6162'
upper(t)
lower(t) = 'trim'
trim(s)
ltrim(s)
rtrim(s)
s || '-' || t
s || null
concat(coalesce(s, ''), '-', coalesce(t, ''))
substring(s, 1, 1)
substring(s, 2)
substr(t, 3, 5)
left(s, 1)
startswith(s, 'a')
endswith(t, 'M')
contains(t, '_%')
case when i32 > 2 then 'big' when b then 'yes' end
case i32 when 3 then 1 when 7 then 2L else 0 end
case when b then i32 else g end
case when b then 1.5 else i32 end > 1
if(b, i8, i64)
if(null, 1, 2)
coalesce(i8, i32, 5)
coalesce(c, b)
coalesce(s, 'none')
nvl(d, 1)
nvl2(b, s, t)
nullif(i32, 7)
nullif(s, '')
greatest(i8, i32, 4)
least(d, e)
greatest(day, date '2000-01-01')
equal_null(i8, i16)
day < nz
day = nz
nz > '2020-01-01'
nz = timestamp_ntz '1970-01-01 00:00:00.000001'
nz <= '1999-12-31 00:00:00'
at > timestamp '2000-01-01 00:00:00Z'
at = '2024-07-01 12:00:00.000001Z'
at < '2024-01-01T00:00:00-05:00'
at <=> at
dayofmonth(nz)
quarter(day)
dayofyear(day)
dayofweek(day)
weekday(day)
year(nz) > 2000
hour(nz)
minute(nz)
second(nz)
cast(nz as date)
to_date(nz) = day
cast(day as timestamp_ntz)
date_add(day, 0)
date_add(day, -1) < day
date_sub(day, i8)
datediff(day, date '2000-01-01')
unix_date(day)
cast(i64 as string)
cast(i32 as double)
cast(i64 as double)
cast(f as double)
cast(i8 as float)
cast(b as string)
cast(b as int)
cast(day as string)
length(st.`te.xt`) > 0
0.1D + 0.2D = 0.3D
1e0 / 3 > 0.33
""".strip().splitlines()
"""Undecided without Spark; the Spark backend evaluates them."""
UNDECIDED = """
d - e < 0
cast(d as int)
cast(i64 as int)
cast(s as int)
d / 3
i32 / 2
concat(s, null)
f + f
g = d
f = i32
s > 1
s > day
day > '2020-1-1'
at > '2020-01-01'
at > day
year(at)
cast(at as date)
substring(s, -2, 1)
s rlike 'a+'
s like t
round(g)
date_format(day, 'y')
li[0] = 1
i32 & 1
~i32 = 0
st = st
b > i32
case when b then day else s end = s
i32 in (1, 2.5D)
greatest(g, h)
cast(day as timestamp) = at
length(day)
1 / 0
upper(i32)
x < x'ff'
""".strip().splitlines()
"""Undecided without Spark; the Spark backend evaluates those that have one meaning in every session."""


def _is_same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours):
        return math.isnan(theirs)
    return type(ours) is type(theirs) and bool(ours == theirs)


@pytest.mark.parametrize(("rows", "ansi"), [("plain", "true"), ("edges", "false")])
def test_spark_returns_the_same_values(spark: "SparkSession", tmp_path: Path, rows: str, ansi: str) -> None:
    table = PLAIN_ROWS if rows == "plain" else EDGE_CASE_ROWS
    ours = {text: evaluate(text, table) for text in EXPRESSIONS}
    decided = [text for text, values in ours.items() if isinstance(values, list)]
    assert len(EXPRESSIONS) - len(decided) == (0 if rows == "plain" else UNDECIDED_ON_EDGE_CASES)
    (tmp_path / "a.parquet").write_bytes(build_parquet(table))
    texts = decided if rows == "plain" else [render(_parse(text)) for text in decided]
    columns = [f"{text} AS r{number}" for number, text in enumerate(texts)]
    with with_settings(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": "America/New_York"}):
        collected = spark.read.parquet(str(tmp_path)).selectExpr(*columns).collect()
    theirs = {text: [row[number] for row in collected] for number, text in enumerate(decided)}
    assert {text: (ours[text], theirs[text]) for text in decided if not _are_same(ours[text], theirs[text])} == {}


def _are_same(ours: Any, theirs: list[Any]) -> bool:
    return all(map(_is_same, ours, theirs)) and len(ours) == len(theirs)


def _parse(text: str) -> Expression:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression)
    return answer.tree


@pytest.mark.parametrize("text", [*EVALUATED_BY_SPARK, *UNDECIDED])
def test_expression_is_undecided_without_spark(text: str) -> None:
    assert isinstance(evaluate(text, PLAIN_ROWS), str)


def test_spark_backend_plans_expressions_that_need_spark(spark: "SparkSession") -> None:
    constraints = tuple((RowConstraint("CHECK", text, text), Is(_parse(text), None)) for text in EVALUATED_BY_SPARK)
    table = TableSchema(SCHEMA, None, [], {}, frozenset())
    planner = ExpressionPlanner(spark, ConstraintContext(cast("Any", None), table, constraints))
    planner.prepare(range(len(constraints)))
    plans = {text: planner.get_plan(number) for number, text in enumerate(EVALUATED_BY_SPARK)}
    assert {text: reason for text, reason in plans.items() if isinstance(reason, str)} == {}
