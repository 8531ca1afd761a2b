"""Constraints in metadata: names, invariant syntax, and keys without their feature."""

import json
from typing import Any

import pytest

from deltaspec.protocol.features.constraints import (
    InvariantError,
    InvariantTooDeep,
    find_constraint_fault,
    find_unsupported_keys,
    get_key_feature,
    read_check_constraints,
    read_invariant,
)
from deltaspec.protocol.json_values import Number
from deltaspec.protocol.revisions import Revision


def test_constraint_name_follows_the_prefix() -> None:
    configuration = {
        "delta.constraints.positive": "id > 0",
        "delta.constraints.a.b": "true",
        "delta.constraint.missed": "id > 1",
        "delta.appendOnly": "true",
    }
    assert read_check_constraints(configuration) == {"a.b": "true", "positive": "id > 0"}
    assert read_check_constraints({}) == {}


@pytest.mark.parametrize(
    ("name", "expression", "requirement"),
    [
        ("positive", "id > 0", None),
        ("positive", "certainly no SQL (", None),
        ("", "id > 0", "check-constraints.key"),
        (" ", "id > 0", "check-constraints.key"),
        ("positive", "", "check-constraints.value"),
        ("positive", " \n", "check-constraints.value"),
    ],
)
def test_constraint_requires_name_and_expression(name: str, expression: str, requirement: str | None) -> None:
    assert find_constraint_fault(name, expression) == requirement


def test_invariant_is_the_expression_within_its_json() -> None:
    assert read_invariant({"delta.invariants": '{"expression": { "expression": "x > 3"} }'}) == "x > 3"
    more = '{"expression": {"expression": "x > 3", "language": "SQL"}, "name": "large"}'
    assert read_invariant({"delta.invariants": more}) == "x > 3"
    assert read_invariant({"comment": "x > 3"}) is None
    assert read_invariant({"delta.invariants": None}) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("x > 3", "is not JSON: expecting value at character 0"),
        ("", "is not JSON: expecting value at character 0"),
        ({"expression": {"expression": "x > 3"}}, "is not a string"),
        (Number("7"), "is not a string"),
        (True, "is not a string"),
        ("7", "has nothing at expression.expression"),
        ("null", "has nothing at expression.expression"),
        ('["expression"]', "has nothing at expression.expression"),
        ('{"expression": "x > 3"}', "has nothing at expression.expression"),
        ('{"Expression": {"expression": "x > 3"}}', "has nothing at expression.expression"),
        ('{"expression": {"expression": null}}', "has no string at expression.expression"),
        ('{"expression": {"expression": 3}}', "has no string at expression.expression"),
        ('{"expression": {"expression": " "}}', "has an empty string at expression.expression"),
    ],
)
def test_malformed_invariant_is_refused(value: Any, words: str) -> None:
    with pytest.raises(InvariantError) as caught:
        read_invariant({"delta.invariants": value})
    assert str(caught.value) == words


def test_deeply_nested_invariant_is_undecided() -> None:
    invariant = json.dumps({"expression": {"expression": "x > 3"}, "more": "NESTED"})
    with pytest.raises(InvariantTooDeep):
        read_invariant({"delta.invariants": invariant.replace('"NESTED"', "[" * 300 + "]" * 300)})


@pytest.mark.parametrize(
    ("key", "feature"),
    [
        ("delta.invariants", "invariants"),
        ("delta.generationExpression", "generatedColumns"),
        ("CURRENT_DEFAULT", "allowColumnDefaults"),
        ("delta.identity.start", "identityColumns"),
        ("EXISTS_DEFAULT", None),
        ("comment", None),
    ],
)
def test_keys_belong_to_features(key: str, feature: str | None) -> None:
    assert get_key_feature(key) == feature


KEYS = {
    "delta.invariants": "{}",
    "delta.generationExpression": "1",
    "CURRENT_DEFAULT": "1",
    "delta.identity.start": Number("1"),
    "delta.identity.step": None,
    "comment": "a column",
}


def test_keys_have_no_effect_without_their_feature() -> None:
    assert find_unsupported_keys(KEYS, {"generatedColumns"}) == [
        "CURRENT_DEFAULT",
        "delta.identity.start",
        "delta.invariants",
    ]
    every = {"invariants", "generatedColumns", "identityColumns", "allowColumnDefaults"}
    assert find_unsupported_keys(KEYS, every) == []
    assert find_unsupported_keys({"comment": "a column"}, ()) == []


def test_preview_of_a_feature_is_accepted() -> None:
    assert find_unsupported_keys({"CURRENT_DEFAULT": "1"}, {"allowColumnDefaults-preview"}) == []


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
def test_older_revisions_have_no_defaults(revision: Revision) -> None:
    assert find_unsupported_keys({"CURRENT_DEFAULT": "1"}, (), revision) == []


@pytest.mark.parametrize(
    ("revision", "found"),
    [
        (Revision.R1, []),
        (Revision.R2, []),
        (Revision.R3, ["delta.invariants"]),
        (Revision.CURRENT, ["delta.invariants"]),
    ],
)
def test_older_revisions_use_another_name_for_invariants(revision: Revision, found: list[str]) -> None:
    assert find_unsupported_keys({"delta.invariants": "{}"}, {"columnInvariants"}, revision) == found
    assert find_unsupported_keys({"delta.invariants": "{}"}, {"invariants"}, revision) == []
