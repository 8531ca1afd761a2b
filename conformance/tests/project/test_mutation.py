"""The mutation tests of the kit's own code: operators, mutants, and the tables of tests and survivors."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example
from helpers.selection import ROOT

from deltaspec.report.report_types import NotChecked
from deltaspec.validation.report_builder import _compute_verdict
from mutation.mutants import Mutant, list_mutants
from mutation.operators import OperatorProvider
from mutation.page import Outcome, read_reasons, write_page
from mutation.run import FOLDERS
from mutation.warm_tests import find_changed_functions, list_changed_lines, list_function_lines, replace_functions

MUTATION = ROOT / "conformance" / "mutation"
EXAMPLES = [(name, example) for name in OperatorProvider() for example in OperatorProvider()[name].examples()]
PAGE = (ROOT / "conformance" / "deltaspec" / "validation" / "report_builder.py").read_text(encoding="utf-8")
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


def list_mutants_of(code: str, folder: Path) -> list[Mutant]:
    (folder / "module.py").write_text(code, encoding="utf-8")
    return list(list_mutants(folder, "module.py"))


def test_mutants_of_the_ledger_are_its_statements_and_their_guards(tmp_path: Path) -> None:
    found = list_mutants_of(MODULE, tmp_path)
    ledger = [each.operator.partition("/")[2] for each in found if each.is_ledger]
    assert sorted(ledger) == ["AddNot", "RemoveStatement", "ReplaceComparisonOperator_Is_IsNot"]
    assert {each.function for each in found} == {"check"}
    assert not [each for each in found if "BitOr" in each.operator]  # the annotation is not mutated


BEFORE = """
class A:
    @property
    def f(self) -> int:
        return [x for x in (1, 2)][0]

    def g(self) -> int:
        return 2
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("(1, 2)", "(1, 3)", {("A.f", 0)}),
        ("return 2", "pass", {("A.g", 0)}),
        ("-> int", "-> str", None),
        ("class A:", "X = 1\nclass A:", None),
    ],
)
def test_changed_functions_are_found(old: str, new: str, changed: set[tuple[str, int]] | None) -> None:
    found = find_changed_functions(BEFORE, BEFORE.replace(old, new))
    assert (found and found.keys()) == changed


def test_lines_of_a_fault_and_of_its_function_are_found() -> None:
    after = BEFORE.replace("return 2", "return 3")
    changed = find_changed_functions(BEFORE, after)
    assert changed is not None
    assert list_changed_lines(BEFORE, after) == {8}
    assert list_function_lines(BEFORE, changed) == {8}
    assert list_function_lines(BEFORE, [("A.f", 0)]) == {5}


def test_replaced_functions_are_restored() -> None:
    changed = find_changed_functions(PAGE, PAGE.replace("not each.accepted", "each.accepted"))
    assert changed is not None
    counts, entry = dict.fromkeys(("violation",), 0), NotChecked(rule="A", reason="r")
    restore = replace_functions("deltaspec.validation.report_builder", changed)
    assert restore is not None
    assert _compute_verdict(counts, [entry]) == "conforms"
    restore()
    assert _compute_verdict(counts, [entry]) == "incomplete"


INTERRUPTED = """
from deltaspec.report.report_types import NotChecked
from deltaspec.validation.report_builder import _compute_verdict

def test_verdict():
    if _compute_verdict({"violation": 0}, [NotChecked(rule="A", reason="r")]) != "incomplete":
        raise KeyboardInterrupt
"""
RUN = """
import sys
from pathlib import Path
from mutation.mutants import list_mutants
from mutation.warm_tests import run_warm_tests

package, tests = Path(sys.argv[1]), sys.argv[2]
found = list_mutants(package, "validation/report_builder.py")
mutants = [each for each in found if each.function == "_compute_verdict"]
results = []
undecided, _ = run_warm_tests([tests, "-q"], mutants, package, lambda _, result: results.append(result))
assert {"killed", "survived"} <= set(results), results
assert len(results) + len(undecided) == len(mutants)
"""


def test_fault_that_interrupts_a_test_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    package = ROOT / "conformance" / "deltaspec"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "conformance")}
    command = [sys.executable, "-c", RUN, package, tmp_path]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_mutants_keep_their_identity_if_lines_move(tmp_path: Path) -> None:
    before, after = list_mutants_of(MODULE, tmp_path), list_mutants_of(f"X = [None]\n\n{MODULE}", tmp_path)
    assert {each.id for each in before} == {each.id for each in after}
    assert len({each.id for each in before}) == len(before)


@pytest.mark.parametrize(
    ("results", "is_ledger", "code"),
    [
        (["killed"] * 9 + ["survived"], False, 0),
        (["timeout"] * 8 + ["survived"] * 2, False, 1),
        (["killed"] * 99 + ["survived"], True, 1),
    ],
)
def test_session_fails_below_the_limit(results: list[str], is_ledger: bool, code: int, tmp_path: Path) -> None:
    outcomes = [
        Outcome(str(number), "views/x.py", "f", is_ledger, result, "a | b", "a & b")
        for number, result in enumerate(results)
    ]
    assert write_page(tmp_path / "page.md", outcomes, dict.fromkeys((*FOLDERS, "ledger"), 1000), seed=7) == code
    assert "| views/x.py | f | `a \\| b` → `a & b` |" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_tests_of_each_folder_exist() -> None:
    tests = tomllib.loads((MUTATION / "tests.toml").read_text(encoding="utf-8"))["tests"]
    assert set(FOLDERS) <= tests.keys()
    package = ROOT / "conformance" / "deltaspec"
    assert [each for each in tests if not (package / each).exists()] == []
    files = {each.partition("::")[0] for paths in tests.values() for each in paths}
    assert [each for each in files if not (package.parent / "tests" / each).exists()] == []


def test_explained_survivors_have_a_reason() -> None:
    package = ROOT / "conformance" / "deltaspec"
    assert [key for key, reason in read_reasons().items() if not reason or not (package / key[0]).exists()] == []
