"""Self-mutation: operators, the faults that they plant, and the lists of tests and survivors."""

import tomllib
from pathlib import Path

import pytest
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example
from helpers.selection import ROOT

from self_mutation.code_faults import CodeFault, list_code_faults
from self_mutation.operators import OperatorProvider
from self_mutation.page import Outcome, read_outcomes, read_reasons, write_page
from self_mutation.run import FOLDERS, RESULTS

FOLDER = ROOT / "conformance" / "self_mutation"
PACKAGE = ROOT / "conformance" / "deltaspec"
EXAMPLES = [(name, example) for name in OperatorProvider() for example in OperatorProvider()[name].examples()]
MODULE = '''
def check(self, names: list[str] | None) -> bool:
    """Check names."""
    if names is None:
        self.findings.mark_undecided(names)
        return False
    return bool(names) and names[0] == "a"
'''


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_operator_changes_code_as_its_example_says(name: str, example: Example) -> None:
    operator = OperatorProvider()[name]()
    assert mutate_code(example.pre_mutation_code, operator, example.occurrence) == example.post_mutation_code


def list_faults_of(code: str, folder: Path) -> list[CodeFault]:
    (folder / "module.py").write_text(code, encoding="utf-8")
    return list(list_code_faults(folder, "module.py"))


def test_faults_are_in_statements_of_the_ledger_and_their_guards(tmp_path: Path) -> None:
    found = list_faults_of(MODULE, tmp_path)
    operators = [each.operator.partition("/")[2] for each in found]
    assert sorted(operators) == ["AddNot", "RemoveStatement", "ReplaceComparisonOperator_Is_IsNot"]
    assert {each.function for each in found} == {"check"}


def test_faults_keep_their_identity_if_lines_move(tmp_path: Path) -> None:
    before, after = list_faults_of(MODULE, tmp_path), list_faults_of(f"X = [None]\n\n{MODULE}", tmp_path)
    assert {each.id for each in before} == {each.id for each in after}
    assert len({each.id for each in before}) == len(before)


@pytest.mark.parametrize(("results", "code"), [(["killed", "timeout"], 0), (["killed"] * 99 + ["survived"], 1)])
def test_session_fails_if_a_survivor_has_no_reason(results: list[str], code: int, tmp_path: Path) -> None:
    outcomes = [Outcome(str(number), "views/x.py", "f", each, "a | b", "a & b") for number, each in enumerate(results)]
    faults = [CodeFault("views/x.py", "f", "core/AddNot", number, str(number)) for number in range(200)]
    assert write_page(tmp_path / "page.md", outcomes, faults) == code
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert f"| views/x.py | 200 | {len(results)} | {results.count('killed')} |" in page
    assert ("| views/x.py | f | `a \\| b` → `a & b` |" in page) == bool(code)


def test_every_module_with_faults_has_tests_that_exist() -> None:
    tests = tomllib.loads((FOLDER / "tests.toml").read_text(encoding="utf-8"))["tests"]
    modules = [
        path.relative_to(PACKAGE).as_posix()
        for folder in FOLDERS
        for path in (PACKAGE / folder).rglob("*.py")
        if not path.is_relative_to(PACKAGE / "validation" / "spark")
    ]
    with_faults = [each for each in modules if next(list_code_faults(PACKAGE, each), None)]
    assert [each for each in with_faults if not any(f"{each}/".startswith(f"{entry}/") for entry in tests)] == []
    assert [each for each in tests if not (PACKAGE / each).exists()] == []
    files = {each.partition("::")[0] for paths in tests.values() for each in paths}
    assert [each for each in files if not (PACKAGE.parent / "tests" / each).exists()] == []


def test_published_survivors_have_a_reason() -> None:
    survivors = [each for each in read_outcomes(RESULTS).values() if each.result == "survived"]
    assert [str(each) for each in survivors if not read_reasons().get(each.key)] == []
