"""No rule has findings on valid tables with data, at level `rows`."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import deltaspec
from deltaspec.protocol.files import paths
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec_generators.table_files import TableFiles, write_table
from deltaspec_generators.table_history.files import CHANGE_DATA
from deltaspec_generators.tables.corpus import read_corpus
from deltaspec_generators.tables.strategies import GeneratedTable, data_tables, data_tables_with_states


def write_and_validate(files: TableFiles, history: str = "latest", at: int | None = None) -> Report:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        return deltaspec.validate(str(Path(directory) / "table"), level="rows", history=history, at=at)


DRAWN = {"FIL066"}
"""Drawn tables contain binary partition values that only some engines read."""


def assert_clean(report: Report) -> None:
    assert set(report.totals) <= DRAWN
    assert report.checked.not_checked == []
    assert report.verdict == "conforms"


@pytest.mark.parametrize("history", ["latest", "all"])
@example_settings(15)
@given(files=data_tables())
def test_no_rule_finds_anything_in_a_valid_table(history: str, files: TableFiles) -> None:
    assert_clean(write_and_validate(files, history))


@example_settings(10)
@given(files=data_tables(features=("deletionVectors", "rowTracking", "changeDataFeed"), depth=0, max_commits=6))
def test_no_rule_finds_anything_if_rows_move(files: TableFiles) -> None:
    assert_clean(write_and_validate(files, "all"))


@example_settings(10)
@given(files=data_tables(features=("columnMapping", "typeWidening", "timestampNtz"), max_commits=6))
def test_no_rule_finds_anything_if_columns_change(files: TableFiles) -> None:
    assert_clean(write_and_validate(files, "all"))


@example_settings(10)
@given(table=data_tables_with_states(), data=st.data())
def test_older_versions_have_no_findings(table: GeneratedTable, data: st.DataObject) -> None:
    report = write_and_validate(table.files, "latest", data.draw(st.integers(0, len(table.states) - 1)))
    assert_clean(report)


@pytest.mark.slow("conformance/deltaspec/views", "generators/deltaspec_generators")
def test_no_rule_finds_anything_in_a_corpus(tmp_path: Path) -> None:
    """Multipart checkpoints and timestamps without zone are valid but not recommended; the latter are ambiguous."""
    for index, table in enumerate(read_corpus(1, 60)):
        write_table(table.files, tmp_path / str(index))
        report = deltaspec.validate(str(tmp_path / str(index)), level="rows", history="all", allow_outside=True)
        found = {
            code: count
            for code, count in report.totals.items()
            if RULES[code].severity != "warning" and code not in DRAWN
        }
        unchecked = [each for each in report.checked.not_checked if "ambiguous" not in each.reason]
        assert (found, unchecked) == ({}, []), table.history
        assert not report.checked.not_checked or "partition-text:timestamp-without-zone" in table.dimensions


def vacuumed(table: GeneratedTable) -> TableFiles:
    """Remove the data files that the last version does not need."""
    live = {paths.decode(path) for path in table.states[-1].live}
    table.files.missing |= {path for path in table.files.data if path not in live and not path.startswith(CHANGE_DATA)}
    return table.files


@example_settings(10)
@given(table=data_tables_with_states(features=("deletionVectors", "rowTracking", "changeDataFeed"), depth=0))
def test_vacuumed_files_have_no_finding(table: GeneratedTable) -> None:
    report = write_and_validate(vacuumed(table))
    assert set(report.totals) <= DRAWN
    assert report.verdict != "violations"


@pytest.mark.slow("conformance/deltaspec/views", "generators/deltaspec_generators")
def test_known_engine_deviations_are_at_most_divergences() -> None:
    """Deviations are NaN in bounds, and timestamps with all digits."""
    totals: Counter[str] = Counter()

    @settings(
        max_examples=50,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files=data_tables(features=(), names=("double", "timestamp"), depth=0, non_conforming=True))
    def draw(files: TableFiles) -> None:
        totals.update(write_and_validate(files).totals)

    draw()
    assert all(RULES[code].severity == "divergence" for code in totals), totals
