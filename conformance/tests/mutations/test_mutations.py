"""Every rule has a mutation that this rule finds, and no other rule."""

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.selection import ROOT
from mutations.caught_by import CAUGHT_BY, EXPLICIT, find_only_rule
from mutations.kill_table import (
    NO_FINDINGS,
    compute_outcomes,
    count_outcomes,
    find_permitted_revisions,
    find_revisions,
    list_checked_pairs,
    list_planted_pairs,
)

from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES
from deltaspec_generators.mutations.all_mutations import MUTATIONS
from deltaspec_generators.permissions.all_permissions import PERMISSIONS

EXAMPLES = 4
"""Tables of a mutation for the current revision; older revisions validate the first of them."""


def list_sources(name: str) -> tuple[str, ...]:
    """Return the files that define a mutation and its rule, relative to the repository."""
    functions = MUTATIONS[name].breaks, RULES[CAUGHT_BY[name]].expression
    files = [Path(inspect.getfile(each)).resolve() for each in functions]
    return tuple(str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT))  # unless it is installed


def mark_slow(names: Iterable[str]) -> list[Any]:
    """Return mutations as parameters, each marked as slow."""
    return [pytest.param(name, marks=pytest.mark.slow(*list_sources(name))) for name in sorted(names)]


def assert_only_rule(name: str, examples: Mapping[str, int]) -> None:
    """Assert that tables of a mutation violate its rule alone; `examples` has their number by revision."""
    outcomes = count_outcomes(MUTATIONS[name], examples)
    assert {revision: set(found) for revision, found in outcomes.items()} == {
        revision: {(CAUGHT_BY[name],)} for revision in examples
    }


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_mutation_gives_exactly_its_rule(name: str) -> None:
    assert_only_rule(name, {find_revisions(MUTATIONS[name])[-1]: 1})


@pytest.mark.parametrize("name", mark_slow(MUTATIONS))
def test_more_tables_in_every_revision_give_exactly_the_rule(name: str) -> None:
    revisions = find_revisions(MUTATIONS[name])
    assert_only_rule(name, {each: EXAMPLES if each == "current" else 1 for each in revisions})


@pytest.mark.parametrize("name", sorted(PERMISSIONS))
def test_permitted_table_has_no_findings(name: str) -> None:
    revisions = find_permitted_revisions(PERMISSIONS[name])
    assert compute_outcomes(PERMISSIONS[name], revisions) == dict.fromkeys(revisions, NO_FINDINGS)


def test_every_rule_has_a_mutation() -> None:
    assert set(CAUGHT_BY.values()) == set(RULES)


def test_every_checked_requirement_is_planted_in_every_revision() -> None:
    assert list_checked_pairs() - list_planted_pairs() == set()


def test_every_mutation_has_a_rule() -> None:
    assert set(CAUGHT_BY) == set(MUTATIONS)


def test_explicit_entries_are_mutations_and_not_derivable() -> None:
    assert EXPLICIT.keys() <= MUTATIONS.keys()
    assert [name for name in EXPLICIT if find_only_rule(MUTATIONS[name].requirement)] == []


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_mutation_breaks_a_requirement_of_its_rule(name: str) -> None:
    requirement = MUTATIONS[name].requirement
    assert requirement in load_requirements()
    assert requirement in RULES[CAUGHT_BY[name]].requires
    assert find_revisions(MUTATIONS[name])


def test_permissions_name_optional_or_defining_requirements() -> None:
    for permission in PERMISSIONS.values():
        assert load_requirements()[permission.requirement].strength in ("may", "is")
