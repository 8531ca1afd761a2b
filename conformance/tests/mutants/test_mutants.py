"""A kit that cannot catch a planted fault is no evidence: every rule has a mutation that it, and it alone, finds."""

import pytest
from mutants.caught_by import CAUGHT_BY
from mutants.kill_table import SILENT, checked_pairs, outcome, outcomes, planted_pairs, revisions_of

from deltaspec.requirements import requirements
from deltaspec.rules import RULES
from deltaspec_generators.every_mutation import MUTATIONS
from deltaspec_generators.every_permission import PERMISSIONS

_PLANTED = [
    pytest.param(name, revision, id=f"{name}-{revision}")
    for name in sorted(MUTATIONS.keys() & CAUGHT_BY.keys())
    for revision in revisions_of(MUTATIONS[name])
]
_PERMITTED = [
    pytest.param(name, revision, id=f"{name}-{revision}")
    for name in sorted(PERMISSIONS)
    for revision in requirements()[PERMISSIONS[name].requirement].revisions
]


@pytest.mark.parametrize(("name", "revision"), _PLANTED)
def test_mutation_gives_exactly_its_rule(name: str, revision: str) -> None:
    found = outcomes(MUTATIONS[name], 4 if revision == "current" else 1, revision)
    assert set(found) == {(CAUGHT_BY[name],)}


@pytest.mark.parametrize(("name", "revision"), _PERMITTED)
def test_what_is_permitted_is_met_with_silence(name: str, revision: str) -> None:
    assert outcome(PERMISSIONS[name], revision) == SILENT


def test_every_rule_has_a_mutation() -> None:
    assert set(CAUGHT_BY.values()) == set(RULES)


def test_every_checked_requirement_is_planted_in_every_revision() -> None:
    assert checked_pairs() - planted_pairs() == set()


def test_every_mutation_is_expected() -> None:
    assert set(CAUGHT_BY) == set(MUTATIONS)


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_mutation_breaks_a_requirement_of_its_rule(name: str) -> None:
    requirement = MUTATIONS[name].requirement
    assert requirement in requirements()
    assert requirement in RULES[CAUGHT_BY[name]].requires
    assert revisions_of(MUTATIONS[name])


def test_permissions_name_what_is_permitted_or_defined() -> None:
    for permission in PERMISSIONS.values():
        assert requirements()[permission.requirement].level in ("may", "is")
