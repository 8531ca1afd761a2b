"""Frames of views store every string that JSON can contain."""

from typing import Any

import polars as pl
import pytest

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
