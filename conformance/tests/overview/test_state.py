"""What is new and what is gone from night to night."""

from typing import Any

import pytest
from helpers.lake_reports import build_report
from msgspec import convert

from deltaspec.errors import InvalidUsage
from deltaspec.lake.state import NIGHTS, LakeState, StoredReport, TableState, read_state
from deltaspec.report.report_types import Report
from deltaspec.report.tables_summary import TableResult

DAY = 86_400_000
TABLE = "s3://lake/t"


def record(state: LakeState, day: float, report: Report | None) -> TableState:
    if report is None:
        result = TableResult(table=TABLE, verdict="unreadable", exit_code=2, reason="no log")
        return state.record(TABLE, int(day * DAY), result, None)
    result = TableResult.from_report(report, 0, 0.0, ())
    return state.record(TABLE, int(day * DAY), result, convert(report, StoredReport, from_attributes=True))


def summarize(changes: list[Any]) -> list[tuple[str, int, bool]]:
    return [(each.rule, each.number, each.is_rule) for each in changes]


def test_first_report_has_nothing_new() -> None:
    found = record(LakeState(), 1, build_report(TABLE, {"FIL007": 2}))
    assert (found.new, found.gone) == ([], [])


def test_findings_are_compared_with_the_night_before() -> None:
    state = LakeState()
    record(state, 1, build_report(TABLE, {"FIL007": 2, "PQT050": 1}))
    found = record(state, 2, build_report(TABLE, {"FIL007": 3, "CRC007": 1}))
    assert summarize(found.new) == [("FIL007", 1, False), ("CRC007", 1, True)]
    assert summarize(found.gone) == [("PQT050", 1, True)]
    assert (found.verdicts, found.findings) == ("vv", [3, 4])


def test_report_that_is_read_twice_changes_nothing() -> None:
    state = LakeState()
    record(state, 1, build_report(TABLE, {}))
    found = [record(state, 2.5, build_report(TABLE, {"FIL007": 1})) for _ in range(2)][-1]
    assert summarize(found.new) == [("FIL007", 1, True)]
    assert found.verdicts == "cv"


def test_last_report_of_a_night_counts() -> None:
    state = LakeState()
    record(state, 1, build_report(TABLE, {}))
    record(state, 2.1, build_report(TABLE, {"FIL007": 1}))
    found = record(state, 2.2, build_report(TABLE, {}))
    assert (found.verdicts, found.new, found.gone) == ("cc", [], [])


def test_earlier_report_of_the_last_night_is_ignored() -> None:
    state = LakeState()
    record(state, 2.2, build_report(TABLE, {"FIL007": 1}))
    found = record(state, 2.1, build_report(TABLE, {}))
    assert (found.verdicts, found.findings, found.last.verdict) == ("v", [1], "violations")


def test_rule_that_was_not_decided_keeps_its_findings() -> None:
    state = LakeState()
    record(state, 1, build_report(TABLE, {"FIL007": 1}))
    found = record(state, 2, build_report(TABLE, {}, unchecked=("FIL007",)))
    assert (found.new, found.gone) == ([], [])
    assert found.complete_ms == DAY
    found = record(state, 3, build_report(TABLE, {"FIL007": 1}))
    assert (found.new, found.gone) == ([], [])
    found = record(state, 4, build_report(TABLE, {}))
    assert summarize(found.gone) == [("FIL007", 1, True)]
    assert found.complete_ms == 4 * DAY


def test_table_without_a_report_keeps_its_findings() -> None:
    state = LakeState()
    record(state, 1, build_report(TABLE, {"FIL007": 1}))
    found = record(state, 2, None)
    assert (found.verdicts, found.new, found.gone, found.last.reason) == ("vu", [], [], "no log")


def test_findings_beyond_the_samples_are_compared_by_number() -> None:
    state = LakeState()
    for day, total in enumerate((1000, 1002), 1):
        found = build_report(TABLE, {"FIL007": 3})
        found.totals["FIL007"] = total
        known = record(state, day, found)
    assert summarize(known.new) == [("FIL007", 2, False)]


def test_older_report_fills_in_its_night() -> None:
    state = LakeState()
    record(state, 5, build_report(TABLE, {"FIL007": 1}))
    found = record(state, 3, build_report(TABLE, {}))
    assert (state.nights, found.verdicts) == (["1970-01-04", "1970-01-06"], "cv")
    assert found.last.verdict == "violations"


def test_history_is_bounded_and_forgets_tables_without_reports() -> None:
    state = LakeState()
    other = TableResult(table="old", verdict="unreadable", exit_code=2)
    state.record("old", 0, other, None)
    for day in range(1, NIGHTS + 3):
        record(state, day, build_report(TABLE, {}))
    state.finish()
    assert len(state.nights) == len(state.tables[TABLE].verdicts) == len(state.tables[TABLE].findings) == NIGHTS
    assert list(state.tables) == [TABLE]


def test_other_file_is_no_history(tmp_path: Any) -> None:
    path = tmp_path / "history.json"
    for text, message in (("{", "is no history"), ('{"state_version": 99}', "version 99")):
        path.write_text(text)
        with pytest.raises(InvalidUsage, match=message):
            read_state(str(path))
