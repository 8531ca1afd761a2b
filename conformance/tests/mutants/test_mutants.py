"""A kit that cannot catch a planted fault is no evidence: every rule has a mutation that it, and it alone, finds."""

import pytest
from mutants.caught_by import CAUGHT_BY
from mutants.kill_table import outcomes

from deltaspec.requirements import requirements
from deltaspec.rules import RULES
from deltaspec_generators.every_mutation import MUTATIONS


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_mutation_gives_exactly_its_rule(name: str) -> None:
    assert set(outcomes(MUTATIONS[name], examples=6)) == {(CAUGHT_BY[name],)}


def test_every_rule_has_a_mutation() -> None:
    assert set(CAUGHT_BY.values()) == set(RULES)


def test_every_mutation_is_expected() -> None:
    assert set(CAUGHT_BY) == set(MUTATIONS)


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_mutation_breaks_a_requirement_of_its_rule(name: str) -> None:
    requirement = MUTATIONS[name].requirement
    assert requirement in requirements()
    assert requirement in RULES[CAUGHT_BY[name]].requires
