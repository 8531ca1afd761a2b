"""README.md shows a sound and a faulty table, and what it shows is true."""

import re

from helpers.documented_commands import CHECKOUT, list_examples

from deltaspec.requirement_coverage import coverage
from deltaspec.suites.coverage import NOT_OF_EARLIER


def test_readme_shows_a_sound_and_a_faulty_table() -> None:
    outputs = [output for command, output in list_examples(CHECKOUT / "README.md") if command.startswith("validate ")]
    assert [output.splitlines()[-1].split()[0] for output in outputs] == ["CONFORMS", "VIOLATIONS"]


def test_quick_start_is_two_commands_of_one_line() -> None:
    section = (CHECKOUT / "README.md").read_text("utf-8").partition("## Quick start\n")[2].partition("\n## ")[0]
    install, check = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert [len(each.splitlines()) for each in (install, check)] == [1, 1]
    assert "pip install" in install
    assert "deltaspec validate " in install
    assert check == ".ci/test\n"


def test_readme_counts_the_requirements_that_nothing_tests() -> None:
    (number,) = re.findall(r"(\d+) requirements are\s+tested by nothing", (CHECKOUT / "README.md").read_text("utf-8"))
    uncovered = [each for each in coverage().values() if each.uncovered]
    assert int(number) == sum(each.reason != NOT_OF_EARLIER for each in uncovered)
    (earlier,) = re.findall(r"and (\d+) only in the current revision", (CHECKOUT / "README.md").read_text("utf-8"))
    assert int(earlier) == sum(each.reason == NOT_OF_EARLIER for each in uncovered)
