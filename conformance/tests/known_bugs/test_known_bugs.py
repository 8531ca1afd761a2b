"""Tables left by known engine bugs cause exactly the expected findings; their sound twins cause none."""

from collections import Counter
from pathlib import Path

import pytest
from known_bugs import list_known_bugs
from known_bugs.all_cases import BUGS_WITHOUT_TABLE, CASES
from known_bugs.bug_ids import IDS
from known_bugs.registry import Case

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.scales import LEVELS
from deltaspec_generators.table_files import TableFiles, write_table

WITH_TWIN = [case for case in CASES if case.no_finding is None]


def write_and_validate(files: TableFiles, case: Case, directory: Path) -> Report:
    """Write a table and validate its complete history."""
    write_table(files, directory)
    return deltaspec.validate(str(directory), level=case.level, history="all")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_broken_table_has_exactly_the_expected_findings(case: Case, tmp_path: Path) -> None:
    assert write_and_validate(case.build_broken(), case, tmp_path).totals == case.expected_findings


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sound_table_has_no_findings(case: Case, tmp_path: Path) -> None:
    """For a bug of readers only, the sound table is the table itself."""
    report = write_and_validate(case.build_sound(), case, tmp_path)
    assert report.totals == {}
    assert {entry.rule for entry in report.checked.not_checked} <= case.unchecked


@pytest.mark.parametrize("case", WITH_TWIN, ids=lambda case: case.name)
def test_case_has_the_level_of_its_rules(case: Case) -> None:
    assert case.expected_findings
    assert case.level == max((RULES[code].level for code in case.expected_findings), key=LEVELS.index)


def test_every_bug_has_a_case_or_a_reason() -> None:
    assert {case.id for case in CASES} | {reason.id for reason in BUGS_WITHOUT_TABLE} == IDS


def test_case_names_are_unique() -> None:
    assert Counter(case.name for case in CASES).most_common(1)[0][1] == 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_has_a_description(case: Case) -> None:
    assert case.description.endswith(".")
    assert case.no_finding is None or case.no_finding[0].islower()


def test_list_contains_every_bug_and_description(capsys: pytest.CaptureFixture[str]) -> None:
    list_known_bugs.main()
    printed = capsys.readouterr().out
    assert {line.split()[0] for line in printed.splitlines() if line[:1].islower()} == IDS
    assert [case for case in CASES if case.description not in printed] == []
    assert [each for each in BUGS_WITHOUT_TABLE if each.reason not in printed] == []
    assert printed.splitlines()[-1].startswith(f"{len(IDS)} bugs: ")
