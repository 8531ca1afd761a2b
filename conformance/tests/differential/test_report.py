"""The report groups differences and knows which of them somebody has decided."""

from pathlib import Path

import pytest

from deltaspec.differential.report import (
    FoundDifference,
    HistoryResult,
    KnownDifference,
    Verdict,
    build_report,
    load_known_differences,
    render_page,
)

WRITERS = ("first writer", "second writer")


def build_result(number: int, *messages: str) -> HistoryResult:
    titles = ("0: create", "1: append 2 rows")
    found = tuple(FoundDifference("rows", each, 2) for each in messages)
    return HistoryResult(
        seed=7, number=number, seconds=1.5, titles=titles, differences=found, counts={"rows compared": 3}
    )


@pytest.mark.parametrize(("verdict", "is_decided"), [("finding", True), ("divergence", True), ("corrected", False)])
def test_only_open_differences_fail(verdict: Verdict, is_decided: bool) -> None:
    known = [KnownDifference("rows", "only in the first", verdict, "It is known.")]
    report = build_report(WRITERS, [build_result(0), build_result(1, "rows: 1 only in the first table")], known)
    assert (report.undecided == []) is is_decided
    assert (report.histories, report.histories_without_difference, report.operations) == (2, 1, 4)
    assert report.not_found_again == ()


def test_same_differences_are_one_group_with_the_first_example() -> None:
    results = [build_result(9, "rows: 4 only in the first table"), build_result(3, "rows: 1 only in the first table")]
    known = KnownDifference("row ids", "rows differ", "finding", "Elsewhere.")
    report = build_report(WRITERS, results, [known])
    (group,) = report.differences
    assert (group.histories, group.example, group.verdict) == (2, "7.3", "unknown")
    assert report.counts == {"rows compared": 6}
    assert report.kinds == {"create": 2, "append": 2}
    assert report.not_found_again == (known,)
    page = render_page(report)
    assert "### rows: 2 histories, unknown" in page
    assert "- row ids, finding: Elsewhere." in page


def test_known_differences_have_reasons() -> None:
    known = load_known_differences(Path(__file__).parents[2] / "engines/known_differences.toml")
    assert known
    assert [each for each in known if not (each.reason.strip() and (each.verdict != "finding" or each.link))] == []
