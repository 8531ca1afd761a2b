"""Frames of views store every string that JSON can contain."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from deltaspec.rules import RULES

VIEWS = {rule.view.name: rule.view for rule in RULES.values()}


def put_text(text: str, dtype: Any) -> Any:
    """Return a value of a data type whose strings are all `text`."""
    if dtype == pl.String:
        return text
    if isinstance(dtype, pl.List):
        return [put_text(text, dtype.inner)]
    if isinstance(dtype, pl.Struct):
        return {field.name: put_text(text, field.dtype) for field in dtype.fields}
    return None


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_lone_surrogates_are_escaped(name: str) -> None:
    view = VIEWS[name]
    row = {column: put_text("a\ud800", dtype) for column, dtype in view.schema.items()}
    expected = {column: put_text("a\\ud800", dtype) for column, dtype in view.schema.items()}
    assert view.frame([row, {}]).row(0, named=True) == expected


def put_number(number: int, dtype: Any) -> Any:
    """Return a value of a data type whose strings and numbers are all `number`."""
    if dtype == pl.Int64:
        return number
    if dtype == pl.Boolean:
        return bool(number % 2)
    if dtype == pl.Binary:
        return str(number)
    if isinstance(dtype, pl.List):
        return None if number % 3 == 0 else [put_number(number, dtype.inner)] * (number % 3)
    return str(number)


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_few_rows_give_the_same_frame_as_many(name: str) -> None:
    view = VIEWS[name]
    rows = [{column: put_number(each, dtype) for column, dtype in view.schema.items()} for each in range(40)]
    rows[5] = {}
    many = view.frame(rows)
    assert_frame_equal(pl.concat(view.frame(rows[each : each + 3]) for each in range(0, 40, 3)), many)
    assert many["version" if "version" in many.columns else many.columns[0]].null_count() == 1


@pytest.mark.parametrize("value", [1.5, "1", 2**63])
def test_value_of_another_type_is_an_error(value: Any) -> None:
    """Polars would truncate a number or make it null, and its row would silently conform."""
    with pytest.raises(TypeError):
        VIEWS["commits"].frame([{"version": value}])
