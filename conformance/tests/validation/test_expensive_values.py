"""Values on which an expression could take too much time or memory are replaced with null."""

import pyarrow as pa

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.resource_bounds import ResourceBounds, compute_resource_bounds
from deltaspec.validation.spark.constraint_tasks import ColumnUse, CostGuard


def compute_bounds(expression: str) -> ResourceBounds:
    parsed = parse_expression(expression)
    assert isinstance(parsed, SupportedExpression)
    return compute_resource_bounds(parsed.tree)


def build_strings(*lengths: int) -> pa.Array:
    return pa.array(["a" * length for length in lengths])


def test_column_is_masked_from_its_first_too_long_value_on() -> None:
    guard = CostGuard(
        [
            ColumnUse(frozenset({0, 1}), compute_bounds("repeat(s, 256) <> t")),
            ColumnUse(frozenset({2}), compute_bounds("u <> ''")),
        ]
    )
    short = {0: build_strings(1, 65_536), 1: build_strings(2, 2), 2: build_strings(1 << 20, 3)}
    values = dict(short)
    assert guard.mask_costly_columns(values) == {}
    assert values == short
    values = {0: build_strings(65_537, 1), 1: build_strings(2, 2), 2: build_strings(4, 4)}
    assert guard.mask_costly_columns(values) == {0: "a value is longer than 65536 bytes, the limit of this expression"}
    assert values == {0: pa.nulls(2, pa.string()), 1: build_strings(2, 2), 2: build_strings(4, 4)}
    values = dict(short)
    assert guard.mask_costly_columns(values) == {}
    assert values == {**short, 0: pa.nulls(2, pa.string())}


def test_pattern_columns_are_masked_after_too_many_steps() -> None:
    guard = CostGuard([ColumnUse(frozenset({3}), compute_bounds("s rlike 'a*a*b'"))])
    reported = []
    for number in range(3):
        values = {3: build_strings(2200, 2200)}
        reported.append(guard.mask_costly_columns(values))
        is_masked = values[3].null_count == 2
        assert is_masked == any(reported), f"{number=}"
    reason = "matching its patterns on values as long as these may take minutes"
    assert reported == [{}, {3: reason}, {}]
