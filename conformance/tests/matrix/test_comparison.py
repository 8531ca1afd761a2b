"""Two matrices: a case is called new or gone only if both runs had it."""

from pathlib import Path
from typing import Any

import pytest
from helpers.matrix_reports import build, build_result, build_suite_report

from deltaspec.errors import InvalidUsage
from deltaspec.matrix.comparison import compare_matrices
from deltaspec.matrix.matrix_file import encode_matrix, read_matrix
from deltaspec.matrix.model import Comparison, Counts
from deltaspec.suites.outcomes import Outcome

OLD, BOTH = "read.all-rows/drawn.1.0", "read.all-rows/drawn.1.1"


def build_report(messages: dict[str, str], version: str = "1.0", **run: Any) -> Any:
    results = [build_result(case, Outcome.FAILED, message=message) for case, message in messages.items()]
    return build_suite_report([*results, build_result("read.all-rows/drawn.1.9")], version=version, **run)


def compare(directory: Path, before: Any, after: Any) -> Comparison:
    earlier = build(directory, before)
    found = compare_matrices(build(directory, after), earlier, "matrix.json").comparison
    assert found is not None
    return found


def test_failures_are_new_gone_or_different(tmp_path: Path) -> None:
    before = build_report({OLD: "wrong rows: 1", BOTH: "wrong rows: 1"})
    after = build_report({BOTH: "wrong columns", "read.all-rows/drawn.1.2": "wrong rows: 2"}, version="1.1")
    found = compare(tmp_path, before, after)
    assert [(each.change, each.case, each.before, each.after) for each in found.changes] == [
        ("new", "read.all-rows/drawn.1.2", "", "wrong rows: 2"),
        ("other-failure", BOTH, "wrong rows: 1", "wrong columns"),
        ("gone", OLD, "wrong rows: 1", ""),
    ]
    (engine,) = found.engines
    assert (engine.before, engine.after) == ("1.0", "1.1")
    assert (engine.counts_before, engine.counts_after) == (Counts(passed=1, failed=2), Counts(passed=1, failed=2))


def test_same_failure_with_other_numbers_is_no_change(tmp_path: Path) -> None:
    assert compare(tmp_path, build_report({OLD: "got 1 rows"}), build_report({OLD: "got 2 rows"})).changes == ()


@pytest.mark.parametrize(
    "run",
    [{"seed": 2}, {"tables": 0}, {"suites": ("snapshot",)}, {"complete": False}, {"imported": "dat"}, {"golden": True}],
)
def test_case_that_only_one_run_had_is_neither_new_nor_gone(tmp_path: Path, run: dict[str, Any]) -> None:
    whole, part = build_report({OLD: "wrong"}), build_report({}, **run)
    assert [each.change for each in compare(tmp_path, whole, part).changes] == ["not-run"]
    assert [each.change for each in compare(tmp_path, part, whole).changes] == ["first-asked"]


def test_table_beyond_the_earlier_number_was_not_run_before(tmp_path: Path) -> None:
    before, after = build_report({}, tables=3), build_report({"read.all-rows/drawn.1.3": "wrong"}, tables=4)
    assert [each.change for each in compare(tmp_path, before, after).changes] == ["first-asked"]


def test_engine_of_one_matrix_has_no_changes(tmp_path: Path) -> None:
    found = compare(tmp_path, build_report({OLD: "wrong"}, name="mill"), build_report({OLD: "wrong"}, name="loom"))
    assert found.changes == ()
    assert {each.name: (each.before, each.after) for each in found.engines} == {
        "loom": (None, "1.0"),
        "mill": ("1.0", None),
    }


def test_matrix_survives_its_file(tmp_path: Path) -> None:
    matrix = build(tmp_path, build_report({OLD: "wrong"}))
    path = tmp_path / "matrix.json"
    path.write_bytes(encode_matrix(matrix))
    assert read_matrix(path) == matrix


@pytest.mark.parametrize(
    ("text", "message"),
    [("{}", "not a matrix.json"), ("[" * 100_000, "not a matrix.json"), ('{"format_version": 9', "not a matrix.json")],
)
def test_other_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InvalidUsage, match=message):
        read_matrix(path)
