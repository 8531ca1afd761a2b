"""What the matrix counts, and what it says about reports that do not hold everything."""

import json
from pathlib import Path

import msgspec
import pytest
from helpers.matrix_reports import build, build_result, build_suite_report, build_trials_report, write_reports

from deltaspec.errors import InvalidUsage
from deltaspec.faults.trials import TrialResult
from deltaspec.matrix.builder import build_matrix
from deltaspec.matrix.causes import group_failures
from deltaspec.matrix.model import ALL_TABLES, Counts, Matrix, Row
from deltaspec.matrix.wording import describe_run
from deltaspec.suites.outcomes import Cause, Outcome
from deltaspec.suites.results import UNDECLARED_FEATURES

VECTORS, MAPPING = "deletionVectors", "columnMapping"


def get_row(matrix: Matrix, row_id: str) -> Row:
    return next(row for row in matrix.rows if row.id == row_id)


def test_case_counts_once_in_total_and_once_for_each_feature(tmp_path: Path) -> None:
    report = build_suite_report(
        [
            build_result("read.all-rows/drawn.1.0", features=(VECTORS, MAPPING)),
            build_result("read.all-rows/drawn.1.1", Outcome.FAILED, features=(VECTORS,)),
            build_result("read.all-rows/drawn.1.2", Outcome.TIMED_OUT),
            build_result("snapshot.domains/drawn.1.0", Outcome.NOT_ASKED, message="cannot list domains"),
        ],
        declared=(VECTORS, MAPPING),
    )
    matrix = build(tmp_path, report)
    assert {row.id: row.cells["mill 1.0"] for row in matrix.rows} == {
        ALL_TABLES: {"read": Counts(passed=1, failed=1, crashed=1), "snapshot": Counts(not_asked=1)},
        "feature:deletionVectors": {"read": Counts(passed=1, failed=1)},
        "feature:columnMapping": {"read": Counts(passed=1)},
        "feature:none": {"read": Counts(crashed=1), "snapshot": Counts(not_asked=1)},
        "check:read.all-rows": {"read": Counts(passed=1, failed=1, crashed=1)},
        "check:snapshot.domains": {"snapshot": Counts(not_asked=1)},
    }
    assert [(each.check, each.reason, each.count) for each in matrix.not_asked] == [
        ("snapshot.domains", "cannot list domains", 1)
    ]
    assert matrix.suites == ("snapshot", "read")
    assert matrix.gaps == ()


@pytest.mark.parametrize(
    ("outcome", "found", "expected"),
    [
        (Outcome.WEAK, None, "failed"),
        (Outcome.HARNESS_FAULT, None, "crashed"),
        (Outcome.EXPECTED_FAILURE, Outcome.FAILED, "failed"),
        (Outcome.EXPECTED_FAILURE, Outcome.CRASHED, "crashed"),
        (Outcome.DRIFT, Outcome.TIMED_OUT, "crashed"),
    ],
)
def test_listed_failure_counts_as_what_it_is(
    tmp_path: Path, outcome: Outcome, found: Outcome | None, expected: str
) -> None:
    matrix = build(tmp_path, build_suite_report([build_result("read.all-rows/drawn.1.0", outcome, found=found)]))
    assert [each.outcome for each in matrix.failures] == [expected]
    assert getattr(matrix.get_total("mill 1.0"), expected) == matrix.get_total("mill 1.0").asked == 1


def test_case_that_passes_although_it_is_listed_has_passed(tmp_path: Path) -> None:
    matrix = build(tmp_path, build_suite_report([build_result("read.all-rows/drawn.1.0", Outcome.UNEXPECTED_PASS)]))
    assert matrix.get_total("mill 1.0") == Counts(passed=1)
    assert matrix.failures == ()


def test_refusal_of_an_undeclared_feature_is_counted_apart(tmp_path: Path) -> None:
    results = [
        build_result(f"{UNDECLARED_FEATURES}/drawn.1.0", features=(VECTORS, MAPPING)),
        build_result("refuse.broken-table/broken.x", features=(VECTORS,)),
        build_result(f"{UNDECLARED_FEATURES}/golden.log.x", features=(MAPPING,)),
    ]
    matrix = build(tmp_path, build_suite_report(results, declared=(VECTORS,)))
    assert matrix.get_total("mill 1.0") == Counts(passed=1, refused=2)
    assert get_row(matrix, f"feature:{VECTORS}").cells["mill 1.0"]["refuse"] == Counts(passed=1, refused=1)
    assert get_row(matrix, "chapter:log").cells["mill 1.0"]["refuse"] == Counts(refused=1)
    assert get_row(matrix, f"check:{UNDECLARED_FEATURES}").cells["mill 1.0"]["refuse"] == Counts(refused=2)


def test_report_of_an_earlier_release_counts_refusals_only_where_they_are_certain(tmp_path: Path) -> None:
    results = [
        build_result(f"{UNDECLARED_FEATURES}/drawn.1.0", features=(VECTORS, MAPPING)),
        build_result("read.all-rows/drawn.1.1", Outcome.EXPECTED_FAILURE, message="harness: not JSON"),
    ]
    (path,) = write_reports(tmp_path, [build_suite_report(results, declared=(VECTORS,))])
    content = json.loads(path.read_bytes())
    del content["declared_refusals"]
    path.write_text(json.dumps(content))
    matrix = build_matrix([path])
    assert get_row(matrix, f"feature:{MAPPING}").cells["mill 1.0"]["refuse"] == Counts(refused=1)
    assert get_row(matrix, f"feature:{VECTORS}").cells["mill 1.0"]["refuse"] == Counts(passed=1)
    assert get_row(matrix, ALL_TABLES).cells["mill 1.0"]["read"] == Counts(crashed=1)
    assert [gap.what.partition(":")[0] for gap in matrix.gaps] == ["Refusals as declared are not counted apart"]


def test_failures_that_are_only_counted_are_reported_as_a_gap(tmp_path: Path) -> None:
    report = build_suite_report([build_result("read.all-rows/drawn.1.0", Outcome.FAILED)])
    matrix = build(tmp_path, msgspec.structs.replace(report, cases=()))
    assert matrix.get_total("mill 1.0") == Counts(failed=1)
    assert [gap.what for gap in matrix.gaps] == ["1 failure counted in `read`, but 0 described."]


def test_incomplete_run_is_reported_as_a_gap(tmp_path: Path) -> None:
    matrix = build(tmp_path, build_suite_report([build_result("read.all-rows/drawn.1.0")], complete=False))
    assert [gap.what.partition(":")[0] for gap in matrix.gaps] == ["Incomplete"]


def test_reports_of_one_engine_share_a_column(tmp_path: Path) -> None:
    matrix = build(
        tmp_path,
        build_suite_report([build_result("read.all-rows/drawn.1.0")]),
        build_suite_report([build_result("read.all-rows/golden.log.x", Outcome.FAILED)], tables=0, golden=True),
        build_suite_report([build_result("write.rows/history.1.0", Outcome.FAILED)]),
        build_trials_report([TrialResult(trial="kill.3", outcome=Outcome.FAILED, seconds=0, message="rows lost")]),
    )
    assert [(each.id, len(each.runs)) for each in matrix.engines] == [("mill 1.0", 4)]
    assert get_row(matrix, ALL_TABLES).cells["mill 1.0"] == {
        "read": Counts(passed=1, failed=1),
        "write": Counts(failed=1),
    }
    assert get_row(matrix, "fault:kill").cells["mill 1.0"] == {"faults": Counts(failed=1)}
    assert get_row(matrix, "chapter:log").cells["mill 1.0"] == {"read": Counts(failed=1)}
    replays = {each.case: each.replay for each in matrix.failures}
    assert replays["kill.3"] == "deltaspec faults mill --seed 1 --only kill.3 --repeat 10"
    assert replays["read.all-rows/golden.log.x"] == "deltaspec replay read.all-rows/golden.log.x --candidate mill"


def test_same_questions_twice_are_refused(tmp_path: Path) -> None:
    report = build_suite_report([build_result("read.all-rows/drawn.1.0")])
    with pytest.raises(InvalidUsage, match="already answers the same questions"):
        build(tmp_path, report, report)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"trials": []}', '{"format_version": 1}', "{" * 100_000, '{"a":' * 100_000, "\xff"]
)
def test_file_that_is_not_a_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "latin-1")
    with pytest.raises(InvalidUsage, match="not a JSON report"):
        build_matrix([path])


def test_report_of_a_later_release_is_refused(tmp_path: Path) -> None:
    report = msgspec.structs.replace(build_suite_report([]), format_version=2)
    with pytest.raises(InvalidUsage, match="format version 2"):
        build(tmp_path, report)


def test_failures_with_one_reason_are_one_cause(tmp_path: Path) -> None:
    listed = {"known_failure": "ignores vectors", "known_link": "https://example.org/1"}
    results = [
        build_result("read.all-rows/drawn.1.0", Outcome.EXPECTED_FAILURE, message="a", history=("x", "y"), **listed),
        build_result("read.row-count/drawn.1.1", Outcome.EXPECTED_FAILURE, message="b", history=("x",), **listed),
        build_result("read.all-rows/drawn.1.2", Outcome.FAILED, message="expected 3 rows"),
        build_result("read.all-rows/drawn.1.3", Outcome.FAILED, message="expected 4 rows"),
        build_result("read.all-rows/drawn.1.4", Outcome.CRASHED, message="expected 4 rows"),
    ]
    matrix = build(tmp_path, build_suite_report(results))
    causes = group_failures(matrix)
    assert [(each.title, each.is_listed, each.link, len(each.failures)) for each in causes] == [
        ("expected … rows", False, "", 3),
        ("ignores vectors", True, "https://example.org/1", 2),
    ]
    assert matrix.failures[causes[1].failures[0]].case == "read.row-count/drawn.1.1", "the shortest history"


def test_failures_with_one_cause_are_grouped_although_their_messages_differ(tmp_path: Path) -> None:
    vectors = Cause("deleted rows are returned", ("deletion-vectors.honoured",))
    paths = Cause("files with an encoded path are missing", ("add.path-encoding",))
    failed = [
        build_result("read.all-rows/drawn.1.0", Outcome.FAILED, message="wrong rows: 3 extra", causes=(vectors,)),
        build_result("read.row-count/drawn.1.1", Outcome.FAILED, message="wrong count", causes=(paths, vectors)),
        build_result("read.all-rows/drawn.1.2", Outcome.FAILED, message="wrong rows: 1 missing", causes=(paths,)),
        build_result("read.all-rows/drawn.1.3", Outcome.FAILED, message="wrong rows: 2 extra", causes=(vectors,)),
    ]
    causes = group_failures(build(tmp_path, build_suite_report(failed)))
    assert [(each.title, each.breaks, len(each.failures)) for each in causes] == [
        (vectors.title, vectors.breaks, 3),
        (paths.title, paths.breaks, 1),
    ]


def test_operations_of_writers_are_rows(tmp_path: Path) -> None:
    counts = {"merge: done": 5, "merge: refused": 2, "merge: failed": 1, "merge: not supported": 3, "operations": 11}
    matrix = build(tmp_path, build_suite_report([build_result("write.rows/history.1.0", counts=counts)]))
    assert get_row(matrix, "operation:merge").cells == {"mill 1.0": {"write": Counts(passed=7, failed=1, not_asked=3)}}
    assert [row.id for row in matrix.rows if row.kind == "operation"] == ["operation:merge"]
    assert get_row(matrix, "check:write.rows").cells == {"mill 1.0": {"write": Counts(passed=1)}}


def test_revisions_are_rows_of_one_column(tmp_path: Path) -> None:
    failed = build_result("read.all-rows/drawn-r1.1.0", Outcome.FAILED, message="wrong rows")
    matrix = build(
        tmp_path,
        build_suite_report([build_result("read.all-rows/drawn.1.0")]),
        build_suite_report([failed, build_result("read.all-rows/drawn-r1.1.1")], revision="r1"),
    )
    assert get_row(matrix, "revision:r1").cells == {"mill 1.0": {"read": Counts(passed=1, failed=1)}}
    assert [row.id for row in matrix.rows if row.kind == "revision"] == ["revision:r1"]
    assert matrix.failures[0].rows == ("feature:none", "check:read.all-rows", "revision:r1")
    assert [describe_run(each) for each in matrix.engines[0].runs] == [
        "10 drawn tables, seed 1",
        "10 drawn tables of r1, seed 1",
    ]
