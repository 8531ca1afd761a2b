"""The documented exit codes are those of `ExitCode`."""

import pytest
from helpers.documented_commands import CHECKOUT
from project.exit_code_table import README, replace_table

from deltaspec.cli import main
from deltaspec.commands.validate import validate
from deltaspec.exit_codes import ExitCode, summarize_exit_codes


def test_readme_has_the_table_of_exit_codes() -> None:
    page = README.read_text("utf-8")
    assert page == replace_table(page), "run `nox -s exit_codes`"


@pytest.mark.parametrize("place", ["README.md", "help"])
def test_order_of_exit_codes_is_documented(place: str) -> None:
    text = validate.help if place == "help" else (CHECKOUT / place).read_text("utf-8")
    assert text is not None
    stopped = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)
    worst_first = ", ".join(str(each) for each in ExitCode if each not in stopped)
    assert f"in the order {worst_first}" in " ".join(text.split())


def test_help_lists_every_exit_code() -> None:
    assert main.epilog == f"Exit codes: {summarize_exit_codes()}."


def test_exit_code_of_several_tables_is_the_worst() -> None:
    codes = [0, 3, 5, 1, 2, 4, 143, 130]
    worst = [ExitCode.find_worst(codes[: number + 1]).value for number in range(len(codes))]
    assert worst == codes
    assert [ExitCode.find_worst(reversed(codes[: number + 1])) for number in range(len(codes))] == codes
    assert ExitCode.find_worst([]) == 0


@pytest.mark.parametrize(
    ("has_failed", "is_complete", "has_passed", "code"),
    [(True, False, True, 1), (False, False, True, 3), (False, True, True, 0), (False, True, False, 2)],
)
def test_exit_code_of_a_run_of_the_suites(has_failed: bool, is_complete: bool, has_passed: bool, code: int) -> None:
    assert ExitCode.judge_run(has_failed=has_failed, is_complete=is_complete, has_passed=has_passed) == code
