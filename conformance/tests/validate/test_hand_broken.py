"""Every log broken by hand gives exactly the rule that owns its fault, and nothing else."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from validate import broken_files_and_claims, broken_logs
from validate.broken_logs import Case
from validate.raw_logs import RawLog, codes, judge

from deltaspec.cli import main
from deltaspec.rules import RULES

CASES = [*broken_logs.CASES, *broken_files_and_claims.CASES]


@pytest.mark.parametrize("good", ["plain", "rich"])
def test_good_log_has_no_finding(good: str, tmp_path: Path) -> None:
    report = judge(RawLog(good).write(tmp_path))
    assert (report.verdict, codes(report), report.checked.not_checked) == ("conforms", {}, [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_broken_log_gives_exactly_its_rules(case: Case, tmp_path: Path) -> None:
    report = judge(case.log().write(tmp_path))
    assert set(codes(report, "violation", "warning")) == case.found
    assert set(codes(report, "divergence")) == case.divergences


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict_of_a_broken_log_follows_its_violations(case: Case, tmp_path: Path) -> None:
    report = judge(case.log().write(tmp_path))
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
