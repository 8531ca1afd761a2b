"""Predicates that reveal wrong skipping, and their form for engines that take only comparisons."""

import math
from pathlib import Path
from typing import Any

import pytest

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.model.rows.predicate_trees import build_tree, parse_predicate
from deltaspec.model.rows.predicates import Compare, In, NullSafeEqual, Operator, Predicate, StartsWith, evaluate
from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.suites.cases import Case, list_cases, run_case
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.predicate_forms import (
    Column,
    build_sql,
    iter_equal_predicates,
    iter_normal_form_predicates,
    iter_prefix_predicates,
    iter_zero_predicates,
)
from deltaspec.suites.predicates import list_readings, may_zeros_differ
from deltaspec.suites.subjects import build_subject

NAME, NUMBER = Column(("name",), Primitive("string")), Column(("number",), Primitive("double"))
SCHEMA = Struct((Field("name", Primitive("string"), True), Field("number", Primitive("double"), True)))
TEXTS = (
    *("", "a", "a\U0010ffff", "a\U0010ffffb", "ab", "b", "\ud7ff", "\ud7ffx"),
    *("\ue000", "\U0010ffff", "\U0010ffffz", None),
)


@pytest.mark.parametrize(
    "predicate",
    [
        *(StartsWith(NAME.path, each) for each in TEXTS),
        In(NAME.path, ("a", "b")),
        In(NAME.path, ("a", None)),
        In(NAME.path, ("",)),
    ],
    ids=repr,
)
def test_both_forms_of_a_tree_mean_the_same(predicate: Predicate) -> None:
    compared = parse_predicate(build_tree(predicate, SCHEMA), SCHEMA)
    assert not isinstance(compared, In | StartsWith)
    assert parse_predicate(build_tree(predicate, SCHEMA, ("in", "starts_with")), SCHEMA) == predicate
    wrong = [text for text in TEXTS if evaluate(compared, {"name": text}) is not evaluate(predicate, {"name": text})]
    assert wrong == []


def test_zeros_are_asked_for_where_there_are_some() -> None:
    rows: list[dict[str, Any]] = [{"name": "a", "number": -0.0}, {"name": None, "number": 1.0}]
    found = list(iter_zero_predicates([NAME, NUMBER], rows))
    assert Compare(NUMBER.path, Operator.EQUAL, 0.0) in found
    assert NullSafeEqual(NUMBER.path, 0.0) in found
    assert In(NUMBER.path, (0.0, 1.0)) in found
    assert [each for each in found if evaluate(each, rows[0]) is not True] == []
    assert list(iter_zero_predicates([NAME, NUMBER], rows[1:])) == []


def test_prefixes_lists_and_normal_forms_follow_from_the_rows() -> None:
    rows = [{"name": "abc", "number": 2.0}, {"name": "e\u0301", "number": None}, {"name": None, "number": 3.0}]
    assert list(iter_prefix_predicates([NAME], rows)) == [StartsWith(NAME.path, "a"), StartsWith(NAME.path, "abc")]
    assert list(iter_normal_form_predicates([NAME], rows)) == [Compare(NAME.path, Operator.EQUAL, "\u00e9")]
    first, second = list(iter_equal_predicates([NAME, NUMBER], rows, ["number"]))[:2]
    assert (first, second) == (Compare(NUMBER.path, Operator.EQUAL, 2.0), In(NUMBER.path, (3.0, 2.0)))
    assert build_sql(StartsWith(NAME.path, "a'b"), SCHEMA) == "(\"name\" LIKE 'a''b%')"
    assert build_sql(In(NAME.path, ("a", "b")), SCHEMA) == "(\"name\" IN ('a', 'b'))"


def test_zeros_differ_only_if_the_predicates_of_the_candidate_say_so() -> None:
    class OrdersZeros(Engine):
        def matches(self, condition: Predicate, row: Any) -> bool:
            if isinstance(condition, Compare) and condition.operator is Operator.EQUAL:
                return math.copysign(1, row[condition.column[0]]) > 0 and row[condition.column[0]] == condition.literal
            return super().matches(condition, row)

    assert not may_zeros_differ(InProcess(Engine()))
    assert may_zeros_differ(InProcess(OrdersZeros()))
    equal = Compare(NUMBER.path, Operator.EQUAL, 0.0)
    assert all(list_readings(equal, {"number": -0.0}, zeros_may_differ=False))
    assert {*list_readings(equal, {"number": -0.0})} == {True, False}


class LosesNegativeZeros(Engine):
    """Skips files whose bounds are -0.0 for 0.0."""

    def skips(self, condition: Any, add: Any, state: Any) -> bool:
        return condition is not None and '"double": -0.0' in (add.stats or "")


def test_lost_zeros_are_found(tmp_path: Path) -> None:
    subject = build_subject("rare.zeros-of-one-sign", tmp_path)
    results = {}
    for engine in (Engine(), LosesNegativeZeros()):
        candidate = InProcess(engine)
        cases: list[Case] = list(list_cases(candidate.capabilities, [subject], ("predicates",)))
        results[type(engine).__name__] = [run_case(candidate, each).outcome for each in cases]
    assert results == {"Engine": [Outcome.PASSED], "LosesNegativeZeros": [Outcome.FAILED]}
