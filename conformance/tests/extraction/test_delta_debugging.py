"""Delta debugging finds small subsets."""

import pytest

from deltaspec.extraction.delta_debugging import minimize


@pytest.mark.parametrize("needed", [set(), {3}, {0, 19}, {4, 5, 6, 13}])
def test_only_needed_units_are_left_in_order(needed: set[int]) -> None:
    assert minimize(range(20), lambda units: needed <= {*units}) == sorted(needed)


def test_no_single_unit_can_be_left_out() -> None:
    def has_a_pair(units: list[int]) -> bool:
        return any(unit + 1 in units for unit in units)

    assert len(minimize(range(50), has_a_pair)) == 2


def test_a_test_that_stops_answering_ends_the_search_with_the_best_subset() -> None:
    answers = iter([False, True])
    assert len(minimize(range(16), lambda _: next(answers, False))) == 8
