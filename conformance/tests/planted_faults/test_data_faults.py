"""Injected faults in the files of random valid tables are found."""

import tempfile
from pathlib import Path

import pytest
from helpers.hypothesis_settings import EXAMPLES_FACTOR
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES
from deltaspec_generators.table_files import TableFiles, write_table
from planted_tables.drawn_table_faults import FAULTS, broken_tables


def write_and_validate(files: TableFiles, level: str) -> Report:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        return deltaspec.validate(str(Path(directory) / "table"), level=level)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    fault = FAULTS[name]

    @settings(
        max_examples=4 * EXAMPLES_FACTOR,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        report = write_and_validate(data.draw(broken_tables(fault)), fault.level)
        found = {requirement for code in report.totals for requirement in RULES[code].requires}
        assert fault.requirement in found, (report.totals, report.checked.not_checked)
        assert report.verdict == "violations"

    run()


def test_faults_name_requirements() -> None:
    assert {fault.requirement for fault in FAULTS.values()} <= load_requirements().keys()
