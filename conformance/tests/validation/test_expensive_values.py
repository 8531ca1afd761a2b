"""Values on which expressions may cost more than they are worth are kept from them."""

import pyarrow as pa

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.resource_bounds import ResourceBounds, compute_resource_bounds
from deltaspec.validation.spark.constraint_tasks import ColumnUse, CostGuard


def bounds_of(text: str) -> ResourceBounds:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression)
    return compute_resource_bounds(answer.tree)


def texts(*lengths: int) -> pa.Array:
    return pa.array(["a" * length for length in lengths])


def test_values_that_may_grow_too_long_are_null_from_there_on() -> None:
    guard = CostGuard(
        [
            ColumnUse(frozenset({0, 1}), bounds_of("repeat(s, 256) <> t")),
            ColumnUse(frozenset({2}), bounds_of("u <> ''")),
        ]
    )
    short = {0: texts(1, 65_536), 1: texts(2, 2), 2: texts(1 << 20, 3)}
    values = dict(short)
    assert guard.mask_costly_columns(values) == {}
    assert values == short
    values = {0: texts(65_537, 1), 1: texts(2, 2), 2: texts(4, 4)}
    assert guard.mask_costly_columns(values) == {0: "a value is longer than 65536 bytes, the limit of this expression"}
    assert values == {0: pa.nulls(2, pa.string()), 1: texts(2, 2), 2: texts(4, 4)}
    values = dict(short)
    assert guard.mask_costly_columns(values) == {}
    assert values == {**short, 0: pa.nulls(2, pa.string())}


def test_patterns_end_where_the_rows_of_a_file_have_taken_too_many_steps() -> None:
    guard = CostGuard([ColumnUse(frozenset({3}), bounds_of("s rlike 'a*a*b'"))])
    reported = []
    for _ in range(3):
        values = {3: texts(2200, 2200)}
        reported.append(guard.mask_costly_columns(values))
        is_masked = values[3].null_count == 2
        assert is_masked == any(reported)
    reason = "matching its patterns on so many long values may take minutes"
    assert reported == [{}, {3: reason}, {}]
