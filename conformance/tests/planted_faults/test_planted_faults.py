"""Every rule has a planted fault that this rule finds, and no other rule."""

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.drawn_tables import draw_table
from helpers.selection import ROOT
from planted_faults.caught_by import CAUGHT_BY, EXPLICIT, find_only_rule
from planted_faults.kill_table import (
    NO_FINDINGS,
    compute_outcomes,
    count_outcomes,
    find_permitted_revisions,
    find_revisions,
    list_checked_pairs,
    list_planted_pairs,
)

from deltaspec.cli import main
from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES
from deltaspec_generators.table_files import write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.permissions.all_permissions import PERMISSIONS

EXAMPLES = 4
"""Tables of a planted fault for the current revision; older revisions validate the first of them."""


def list_sources(name: str) -> tuple[str, ...]:
    """Return the files that define a planted fault and its rule, relative to the repository."""
    functions = [PLANTED_FAULTS[name].breaks, *(RULES[code].expression for code in [CAUGHT_BY.get(name)] if code)]
    files = [Path(inspect.getfile(each)).resolve() for each in functions]
    return tuple(str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT))  # unless it is installed


def mark_slow(names: Iterable[str]) -> list[Any]:
    """Return planted faults as parameters, each marked as slow."""
    return [pytest.param(name, marks=pytest.mark.slow(*list_sources(name))) for name in sorted(names)]


def assert_only_rule(name: str, examples: Mapping[str, int]) -> None:
    """Assert that tables of a planted fault violate its rule alone; `examples` has their number by revision."""
    outcomes = count_outcomes(PLANTED_FAULTS[name], examples)
    assert {revision: set(found) for revision, found in outcomes.items()} == {
        revision: {(CAUGHT_BY[name],)} for revision in examples
    }


@pytest.mark.parametrize("name", sorted(PLANTED_FAULTS))
def test_planted_fault_gives_exactly_its_rule(name: str) -> None:
    assert_only_rule(name, {find_revisions(PLANTED_FAULTS[name])[-1]: 1})


@pytest.mark.parametrize(
    "name",
    [
        *("line_cut_short", "partition_value_absent", "live_file_kept_under_another_vector", "checkpoint_is_garbage"),
        *("checksum_file_count", "partition_value_too_many", "property_value_undefined"),
    ],
)
def test_command_names_the_rule_and_has_the_exit_code_of_its_severity(name: str, tmp_path: Path) -> None:
    files, code = draw_table(PLANTED_FAULTS[name]), CAUGHT_BY[name]
    write_table(files, tmp_path / "table")
    result = CliRunner().invoke(main, ["validate", str(tmp_path / "table"), "--level", "log", "--history", "all"])
    assert code in result.stdout
    assert result.stderr == ""
    assert result.exit_code == (1 if RULES[code].severity == "violation" else 0)


@pytest.mark.parametrize("name", mark_slow(PLANTED_FAULTS))
def test_more_tables_in_every_revision_give_exactly_the_rule(name: str) -> None:
    revisions = find_revisions(PLANTED_FAULTS[name])
    assert_only_rule(name, {each: EXAMPLES if each == "current" else 1 for each in revisions})


@pytest.mark.parametrize("name", sorted(PERMISSIONS))
def test_permitted_table_has_no_findings(name: str) -> None:
    revisions = find_permitted_revisions(PERMISSIONS[name])
    assert compute_outcomes(PERMISSIONS[name], revisions) == dict.fromkeys(revisions, NO_FINDINGS)


def test_every_rule_has_a_planted_fault() -> None:
    assert set(CAUGHT_BY.values()) == set(RULES)


def test_every_checked_requirement_is_planted_in_every_revision() -> None:
    assert list_checked_pairs() - list_planted_pairs() == set()


def test_every_planted_fault_has_a_rule() -> None:
    undecided = sorted(PLANTED_FAULTS.keys() - CAUGHT_BY.keys())
    assert undecided == [], "none or several rules check the requirement; name one in EXPLICIT of caught_by.py"
    assert CAUGHT_BY.keys() == PLANTED_FAULTS.keys()


def test_explicit_entries_are_planted_faults_and_not_derivable() -> None:
    assert EXPLICIT.keys() <= PLANTED_FAULTS.keys()
    assert [name for name in EXPLICIT if find_only_rule(PLANTED_FAULTS[name].requirement)] == []


@pytest.mark.parametrize("name", sorted(PLANTED_FAULTS))
def test_planted_fault_breaks_a_requirement_of_its_rule(name: str) -> None:
    requirement = PLANTED_FAULTS[name].requirement
    assert requirement in load_requirements()
    assert requirement in RULES[CAUGHT_BY[name]].requires
    assert find_revisions(PLANTED_FAULTS[name])


def test_permissions_name_optional_or_defining_requirements() -> None:
    for permission in PERMISSIONS.values():
        assert load_requirements()[permission.requirement].strength in ("may", "is")
