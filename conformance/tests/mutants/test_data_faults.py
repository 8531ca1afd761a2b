"""Faults in the files of any valid table are found, whatever wrote its files."""

import tempfile
from pathlib import Path

import pytest
from examples import FACTOR
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltaspec.report.values import Report
from deltaspec.requirements import requirements
from deltaspec.rules import RULES
from deltaspec.validate import validate_table
from deltaspec_generators.builder import TableFiles, write_table
from deltaspec_generators.data_faults import FAULTS, broken_tables


def judged(files: TableFiles, level: str) -> Report:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        return validate_table(str(Path(directory) / "table"), level=level)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    fault = FAULTS[name]

    @settings(
        max_examples=6 * FACTOR,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def look(data: st.DataObject) -> None:
        report = judged(data.draw(broken_tables(fault)), fault.level)
        found = {requirement for code in report.totals for requirement in RULES[code].requires}
        assert fault.requirement in found, (report.totals, report.checked.not_checked)
        assert report.verdict == "violations"

    look()


def test_faults_name_requirements() -> None:
    assert {fault.requirement for fault in FAULTS.values()} <= requirements().keys()
