"""Every log broken by hand gives exactly the rule that owns its fault, and nothing else."""

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
def test_good_log_has_no_finding(good: str, tmp_path: Path) -> None:
    report = validate_unchanged(RawLog(good).write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report), report.checked.not_checked) == ("conforms", {}, [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_broken_log_gives_exactly_its_rules(case: Case, tmp_path: Path) -> None:
    report = validate_unchanged(case.log().write(tmp_path))
    assert set(count_findings_by_rule(report, "violation", "warning")) == case.found
    assert set(count_findings_by_rule(report, "divergence")) == case.divergences


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict_of_a_broken_log_follows_its_violations(case: Case, tmp_path: Path) -> None:
    report = validate_unchanged(case.log().write(tmp_path))
    assert (report.verdict == "violations") is any(RULES[code].severity == "violation" for code in case.found)


def test_there_are_at_least_40_broken_logs_of_different_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize(
    "name",
    [
        "commit_is_cut_within_its_last_line",
        "file_has_no_partition_value",
        "second_delete_leaves_the_first_vector_live",
        "checkpoint_is_cut",
        "checksum_counts_a_file_too_many",
    ],
)
def test_command_line_names_the_rule_and_exits_with_1(name: str, tmp_path: Path) -> None:
    (case,) = (each for each in CASES if each.name == name)
    root = case.log().write(tmp_path)
    result = CliRunner().invoke(main, ["validate", str(root), "--level", "log", "--history", "all"])
    assert result.exit_code == 1
    assert all(code in result.stdout for code in case.found)
    assert result.stderr == ""
