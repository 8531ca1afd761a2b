"""Bounds of a double column in two copies, of which one may keep the text of a float."""

import pytest

from deltaspec.model.json_values import Number
from deltaspec.model.log.typed_copies import iter_differences
from deltaspec.model.rows.statistics import LeafColumn
from deltaspec.model.schema.data_types import Primitive

DOUBLE = LeafColumn("c", ("c",), Primitive("double"))


@pytest.mark.parametrize(
    ("text", "typed", "is_same"),
    [
        ("3.4", "3.4", True),
        ("3.4", "3.4000000953674316", True),  # the float 3.4 as a double
        ("3.4", "3.4000000000000004", False),
        ("3.4", "3.5", False),
        ("1e300", "2e300", False),
    ],
)
def test_bound_of_a_double(text: str, typed: str, is_same: bool) -> None:
    copies = ({"minValues": {"c": Number(text)}}, {"minValues": {"c": Number(typed)}})
    assert (list(iter_differences(*copies, [DOUBLE])) == []) is is_same
