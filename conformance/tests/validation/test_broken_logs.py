"""Every log with one fault violates exactly the rules that cover it."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.raw_logs import RawLog, count_findings_by_rule, validate_unchanged
from validation import broken_derived_files, broken_logs
from validation.broken_logs import Case

from deltaspec.cli import main
from deltaspec.rules import RULES

CASES = [*broken_logs.CASES, *broken_derived_files.CASES]


@pytest.mark.parametrize("good", ["plain", "rich"])
def test_valid_log_conforms(good: str, tmp_path: Path) -> None:
    report = validate_unchanged(RawLog(good).write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report), report.checked.not_checked) == ("conforms", {}, [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_broken_log_violates_exactly_the_expected_rules(case: Case, tmp_path: Path) -> None:
    report = validate_unchanged(case.log().write(tmp_path))
    assert set(count_findings_by_rule(report, "violation", "warning")) == case.expected
    assert set(count_findings_by_rule(report, "divergence")) == case.divergences


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict_is_violations_if_a_violation_is_found(case: Case, tmp_path: Path) -> None:
    report = validate_unchanged(case.log().write(tmp_path))
    assert (report.verdict == "violations") is any(RULES[code].severity == "violation" for code in case.expected)


def test_at_least_40_broken_logs_have_unique_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize(
    "name",
    [
        "last_line_of_commit_is_truncated",
        "add_is_missing_partition_value",
        "second_delete_leaves_first_vector_live",
        "checkpoint_is_truncated",
        "checksum_file_count_is_too_high",
    ],
)
def test_command_names_the_rule_and_exits_with_1(name: str, tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.name == name)
    root = case.log().write(tmp_path)
    result = CliRunner().invoke(main, ["validate", str(root), "--level", "log", "--history", "all"])
    assert result.exit_code == 1
    assert all(code in result.stdout for code in case.expected)
    assert result.stderr == ""
