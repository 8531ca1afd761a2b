"""No rule finds anything in a valid table with data, at the level that reads all of it."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from examples import drawn
from hypothesis import HealthCheck, Phase, given, settings

from deltaspec.report.values import Report
from deltaspec.rules import RULES
from deltaspec.validate import validate_table
from deltaspec_generators.builder import TableFiles, write_table
from deltaspec_generators.data_tables import data_tables


def judged(files: TableFiles, history: str = "latest") -> Report:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        return validate_table(str(Path(directory) / "table"), level="rows", history=history)


def assert_clean(report: Report) -> None:
    assert report.totals == {}
    assert report.checked.not_checked == []
    assert report.verdict == "conforms"


@pytest.mark.parametrize("history", ["latest", "all"])
@drawn(15)
@given(files=data_tables())
def test_no_rule_finds_anything_in_a_valid_table(history: str, files: TableFiles) -> None:
    assert_clean(judged(files, history))


@drawn(10)
@given(files=data_tables(features=("deletionVectors", "rowTracking", "changeDataFeed"), depth=0, max_commits=6))
def test_no_rule_finds_anything_where_rows_move(files: TableFiles) -> None:
    assert_clean(judged(files, "all"))


@drawn(10)
@given(files=data_tables(features=("columnMapping", "typeWidening", "timestampNtz"), max_commits=6))
def test_no_rule_finds_anything_where_columns_change(files: TableFiles) -> None:
    assert_clean(judged(files, "all"))


def test_what_engines_do_beside_the_text_is_a_divergence_at_most() -> None:
    """As NaN in bounds, and timestamps with all their digits."""
    totals: Counter[str] = Counter()

    @settings(
        max_examples=50,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files=data_tables(features=(), names=("double", "timestamp"), depth=0, divergent=True))
    def look(files: TableFiles) -> None:
        totals.update(judged(files).totals)

    look()
    assert all(RULES[code].severity == "divergence" for code in totals), totals
