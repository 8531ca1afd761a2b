"""Every rule has a mutation that this rule finds, and no other rule."""

import inspect
from pathlib import Path

import pytest
from helpers.selection import ROOT, is_selected
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
"""Tables that a selected mutation draws for the current revision; older revisions validate the first of them."""
PARTS = 12
"""Each commit selects one mutation or permission in so many, and all whose sources it touches."""


def list_sources(name: str) -> tuple[str, ...]:
    """Return the files that define a mutation and its rule, relative to the repository."""
    functions = MUTATIONS[name].breaks, RULES[CAUGHT_BY[name]].expression
    files = [Path(inspect.getfile(each)).resolve() for each in functions]
    return tuple(str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT))  # unless it is installed


@pytest.mark.parametrize("name", sorted(MUTATIONS.keys() & CAUGHT_BY.keys()))
def test_mutation_gives_exactly_its_rule(name: str) -> None:
    """A selected mutation draws several tables and is validated against every revision, the others one table."""
    revisions = find_revisions(MUTATIONS[name])
    examples = {revisions[-1]: 1}
    if is_selected(name, PARTS, list_sources(name)):
        examples = {each: EXAMPLES if each == "current" else 1 for each in revisions}
    outcomes = count_outcomes(MUTATIONS[name], examples)
    assert {revision: set(found) for revision, found in outcomes.items()} == {
        revision: {(CAUGHT_BY[name],)} for revision in examples
    }


@pytest.mark.parametrize("name", sorted(PERMISSIONS))
def test_permitted_table_has_no_findings(name: str) -> None:
    revisions = find_permitted_revisions(PERMISSIONS[name])
    chosen = revisions if is_selected(name, PARTS) else revisions[-1:]
    assert compute_outcomes(PERMISSIONS[name], chosen) == dict.fromkeys(chosen, NO_FINDINGS)


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
        assert load_requirements()[permission.requirement].level in ("may", "is")
