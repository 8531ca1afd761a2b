"""A kit that cannot catch a planted fault is no evidence: every rule has a mutation that it, and it alone, finds."""

import pytest
from mutations.caught_by import CAUGHT_BY
from mutations.kill_table import (
    NO_FINDINGS,
    compute_outcome,
    count_outcomes,
    find_revisions,
    list_checked_pairs,
    list_planted_pairs,
)

from deltaspec.requirements import requirements
from deltaspec.rules import RULES
from deltaspec_generators.mutations.all_mutations import MUTATIONS
from deltaspec_generators.permissions.all_permissions import PERMISSIONS

_PLANTED = [
    pytest.param(name, revision, id=f"{name}-{revision}")
    for name in sorted(MUTATIONS.keys() & CAUGHT_BY.keys())
    for revision in find_revisions(MUTATIONS[name])
]
_PERMITTED = [
    pytest.param(name, revision, id=f"{name}-{revision}")
    for name in sorted(PERMISSIONS)
    for revision in requirements()[PERMISSIONS[name].requirement].revisions
]


@pytest.mark.parametrize(("name", "revision"), _PLANTED)
def test_mutation_gives_exactly_its_rule(name: str, revision: str) -> None:
    found = count_outcomes(MUTATIONS[name], 4 if revision == "current" else 1, revision)
    assert set(found) == {(CAUGHT_BY[name],)}


@pytest.mark.parametrize(("name", "revision"), _PERMITTED)
def test_what_is_permitted_is_met_with_silence(name: str, revision: str) -> None:
    assert compute_outcome(PERMISSIONS[name], revision) == NO_FINDINGS


def test_every_rule_has_a_mutation() -> None:
    assert set(CAUGHT_BY.values()) == set(RULES)


def test_every_checked_requirement_is_planted_in_every_revision() -> None:
    assert list_checked_pairs() - list_planted_pairs() == set()


def test_every_mutation_is_expected() -> None:
    assert set(CAUGHT_BY) == set(MUTATIONS)


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_mutation_breaks_a_requirement_of_its_rule(name: str) -> None:
    requirement = MUTATIONS[name].requirement
    assert requirement in requirements()
    assert requirement in RULES[CAUGHT_BY[name]].requires
    assert find_revisions(MUTATIONS[name])


def test_permissions_name_what_is_permitted_or_defined() -> None:
    for permission in PERMISSIONS.values():
        assert requirements()[permission.requirement].level in ("may", "is")
