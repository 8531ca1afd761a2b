"""Known failures: what is listed is expected, and the list must stay true."""

import datetime
import re
from pathlib import Path

import msgspec
import pytest

from deltaspec.candidates.messages import Capabilities
from deltaspec.errors import InvalidUsage
from deltaspec.suites.checks import SUITES
from deltaspec.suites.known_failures import KnownFailures, load_known_failures
from deltaspec.suites.known_updates import update_known_failures
from deltaspec.suites.outcomes import CaseResult, Outcome, build_pattern
from deltaspec.suites.results import Run, SuiteReport, build_report

TODAY = datetime.date(2026, 1, 15)
ENTRY = """
# found while testing
[[failure]]
cases = ["read.*/drawn.1.3"]
outcome = "failed"
match = "wrong rows"
reason = "vectors are ignored"  # upstream
"""


def build_result(outcome: Outcome, message: str = "", case: str = "read.all-rows/drawn.1.3") -> CaseResult:
    check, _, table = case.partition("/")
    return CaseResult(case=case, suite="read", check=check, table=table, outcome=outcome, seconds=0, message=message)


def judge(directory: Path, result: CaseResult, entry: str = ENTRY, version: str = "1.6.0") -> CaseResult:
    path = directory / "known.toml"
    path.write_text(entry)
    return KnownFailures(load_known_failures(path), version, TODAY).judge(result)


def test_listed_failure_is_expected(tmp_path: Path) -> None:
    result = judge(tmp_path, build_result(Outcome.FAILED, "wrong rows: expected 1"))
    assert (result.outcome, result.known_failure) == (Outcome.EXPECTED_FAILURE, "vectors are ignored")


def test_expected_failure_keeps_what_happened_and_where_it_is_described(tmp_path: Path) -> None:
    entry = ENTRY.replace('"failed"', '"crashed"') + 'link = "https://example.org/issues/1"\n'
    result = judge(tmp_path, build_result(Outcome.CRASHED, "crash: wrong rows"), entry)
    assert (result.found, result.known_link) == (Outcome.CRASHED, "https://example.org/issues/1")


@pytest.mark.parametrize(
    ("outcome", "message"), [(Outcome.FAILED, "wrong columns"), (Outcome.CRASHED, "wrong rows"), (Outcome.WEAK, "")]
)
def test_other_failure_is_drift(tmp_path: Path, outcome: Outcome, message: str) -> None:
    assert judge(tmp_path, build_result(outcome, message)).outcome is Outcome.DRIFT


def test_pass_is_unexpected(tmp_path: Path) -> None:
    assert judge(tmp_path, build_result(Outcome.PASSED)).outcome is Outcome.UNEXPECTED_PASS


def test_case_that_is_not_listed_keeps_its_outcome(tmp_path: Path) -> None:
    result = build_result(Outcome.FAILED, "wrong rows", "read.all-rows/drawn.1.4")
    assert judge(tmp_path, result) == result


def test_overlapping_globs_and_entries_match_their_cases(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY.replace('["read.*/drawn.1.3"]', '["read.*/drawn.1.3", "read.all-rows/*"]') + ENTRY)
    known = KnownFailures(load_known_failures(path), "1", TODAY)
    known.judge(build_result(Outcome.FAILED, "wrong rows"))
    assert known.list_unused(SUITES) == []


def test_pattern_of_a_message_matches_it_and_can_be_read() -> None:
    message = "refused as io (E.1): no file 'x[1].parquet' at /tmp/a/b, 3+ times"
    pattern = build_pattern(message)
    assert re.search(pattern, message)
    assert pattern == r"refused as io \(E\..*\): no file .* at .*, .*\+ times"


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ('versions = "<1.7"', True),
        ('versions = "<1.6"', False),
        ("until = 2026-01-15", True),
        ("until = 2026-01-14", False),
    ],
)
def test_entry_counts_for_its_versions_and_days(tmp_path: Path, line: str, counts: bool) -> None:
    result = judge(tmp_path, build_result(Outcome.FAILED, "wrong rows"), f"{ENTRY}\n{line}\n")
    assert (result.outcome is Outcome.EXPECTED_FAILURE) == counts


def test_glob_without_a_case_is_unused(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY)
    known = KnownFailures(load_known_failures(path), "1", TODAY)
    assert known.list_unused(["refuse"]) == []
    assert known.list_unused(["refuse", "read"]) == ["read.*/drawn.1.3 (vectors are ignored)"]
    known.judge(build_result(Outcome.FAILED, "wrong rows"))
    assert known.list_unused(SUITES) == []


def test_run_over_golden_cases_uses_only_globs_of_golden_cases(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY.replace('drawn.1.3"', 'drawn.1.3", "read.*/golden.paths.*"'))
    known = KnownFailures(load_known_failures(path), "1", TODAY)
    assert known.list_unused(SUITES) == ["read.*/drawn.1.3 (vectors are ignored)"]
    assert known.list_unused(SUITES, golden=True) == ["read.*/golden.paths.* (vectors are ignored)"]


def test_run_over_a_revision_needs_no_match_of_other_drawn_tables(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY.replace('drawn.1.3"', 'drawn.1.3", "read.*/drawn-r1.1.3"'))
    known = KnownFailures(load_known_failures(path), "1", TODAY)
    assert known.list_unused(SUITES) == ["read.*/drawn.1.3 (vectors are ignored)"]
    assert known.list_unused(SUITES, written=False, revision="r1") == ["read.*/drawn-r1.1.3 (vectors are ignored)"]
    assert known.list_unused(SUITES, written=False, revision="r2") == []


@pytest.mark.parametrize(
    ("glob", "is_unused"), [("reed.all-rows/*", True), ("re*/drawn.1.3", False), ("*", False), ("r", False)]
)
def test_glob_that_another_suite_may_match_is_not_unused(tmp_path: Path, glob: str, is_unused: bool) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY.replace("read.*/drawn.1.3", glob))
    known = KnownFailures(load_known_failures(path), "1", TODAY)
    assert bool(known.list_unused(["read"])) == is_unused


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "[other]\n",
        "[[failure]]\ncases = []\n",
        ENTRY + 'colour = "red"\n',
        ENTRY.replace('"failed"', '"passed"'),
        ENTRY.replace('"wrong rows"', '"("'),
        ENTRY.replace('"vectors are ignored"', '""'),
        ENTRY + 'versions = "one"\n',
        ENTRY + "until = 7\n",
    ],
)
def test_malformed_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(InvalidUsage, match="known failures"):
        load_known_failures(path)


def build_suite_report(*results: CaseResult, unused: tuple[str, ...] = ()) -> SuiteReport:
    run = Run(deltaspec="0", candidate="x", seed=1, tables=1, suites=("read",), seconds=1, complete=True)
    return build_report(run, Capabilities("x", "1"), results, unused)


def test_update_adds_new_kinds_and_keeps_comments(tmp_path: Path) -> None:
    path, report = tmp_path / "known.toml", tmp_path / "report.json"
    path.write_text(ENTRY)
    new = [build_result(Outcome.FAILED, f"refused: io: no file {index}", f"read.x/drawn.1.{index}") for index in (7, 8)]
    report.write_bytes(msgspec.json.encode(build_suite_report(*new)))
    update_known_failures(path, report)
    text = path.read_text()
    assert "# found while testing" in text
    assert "# upstream" in text
    assert 'cases = ["read.x/drawn.1.7", "read.x/drawn.1.8"]' in text
    with pytest.raises(InvalidUsage, match="fill in the empty reason"):
        load_known_failures(path)  # a person must say why
    path.write_text(text.replace('reason = ""', 'reason = "files are lost"'))
    known = KnownFailures(load_known_failures(path), "1", TODAY)
    assert [known.judge(each).outcome for each in new] == [Outcome.EXPECTED_FAILURE] * 2


def test_update_removes_what_passes_or_matches_nothing(tmp_path: Path) -> None:
    path, report = tmp_path / "known.toml", tmp_path / "report.json"
    path.write_text(ENTRY)
    found = build_suite_report(unused=("read.*/drawn.1.3 (vectors are ignored)",))
    report.write_bytes(msgspec.json.encode(found))
    update_known_failures(path, report)
    assert load_known_failures(path) == []


def test_update_moves_a_drifted_case_to_an_entry_of_its_own(tmp_path: Path) -> None:
    path, report = tmp_path / "known.toml", tmp_path / "report.json"
    drifted = judge(tmp_path, build_result(Outcome.CRASHED, "exit code 3"), ENTRY.replace("read.*", "read.all-rows"))
    report.write_bytes(msgspec.json.encode(build_suite_report(drifted)))
    update_known_failures(path, report)
    text = path.read_text()
    assert "wrong rows" not in text
    path.write_text(text.replace('reason = ""', 'reason = "the engine crashes"'))
    assert load_known_failures(path)[0].match.pattern == "exit code .*"
    known = KnownFailures(load_known_failures(path), "1", TODAY)
    assert known.judge(build_result(Outcome.CRASHED, "exit code 4")).outcome is Outcome.EXPECTED_FAILURE
