"""A failure names what it breaks, and failures of one defect are one cause."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from helpers.cli import run
from helpers.matrix_reports import build_result
from suites.eight_causes import EXPECTED_CAUSES, EightCauses

from deltaspec.candidates.host import Died
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Capabilities
from deltaspec.selftest.all_mutants import MUTANTS
from deltaspec.suites.all_checks import CHECKS
from deltaspec.suites.causes import FailureGroup, find_causes, group_by_cause, mask
from deltaspec.suites.checks import SuiteName
from deltaspec.suites.outcomes import CaseResult, Cause, Outcome
from deltaspec.suites.rendering import render_failure, render_text
from deltaspec.suites.results import Run, build_report
from deltaspec.suites.runner import SuitePlan, run_table
from deltaspec.suites.subjects import describe_subject

TABLES = [f"drawn.1.{number}" for number in (3, 6, 12, 18, 19, 20, 33, 35, 36, 40, 47, 69, 73, 83, 85)]
"""Tables that show each fault of `EightCauses` at least once, mostly together with others."""


PARTITIONED = ("drawn.1.0", "drawn.1.36")
"""Tables with timestamps as partition values."""


def ask_about(engine: object, tables: Sequence[str], suites: Sequence[SuiteName]) -> list[CaseResult]:
    found: list[CaseResult] = []
    for each in tables:
        with tempfile.TemporaryDirectory() as directory:
            found += run_table(InProcess(engine), each, SuitePlan(suites=suites), Path(directory)).results
    return found


@cache
def find_groups_of_mutant(name: str, tables: tuple[str, ...]) -> list[FailureGroup]:
    results = ask_about(MUTANTS[name].build(), tables, ("snapshot", "read", "time-travel"))
    return group_by_cause(each for each in results if each.outcome.has_failed)


@pytest.mark.parametrize(
    ("mutant", "tables", "required"),
    [
        ("deletion-vectors.vectors-ignored", ("drawn.1.6", "drawn.1.20"), "deletion-vectors.honoured"),
        ("deletion-vectors.vectors-need-the-property", ("sound.vectors-without-property",),
         "deletion-vectors.honoured-without-property"),
        ("reconciliation.removes-ignored", ("drawn.1.12", "drawn.1.20"), "reconciliation.queries-see-live-files"),
        ("partition-values.empty-text-kept", ("drawn.1.73",), "partition-values.empty-is-null"),
        ("partition-values.microseconds-cut", PARTITIONED, "partition-values.serialization"),
    ],
)  # fmt: skip
def test_failures_of_one_fault_name_first_what_it_breaks(mutant: str, tables: tuple[str, ...], required: str) -> None:
    groups = find_groups_of_mutant(mutant, tables)
    assert groups
    assert groups[0].cause.breaks[0] == required
    assert len(groups) <= 2, [each.cause for each in groups]


def test_type_of_a_wrong_partition_value_is_named() -> None:
    titles = " ".join(
        each.cause.title for each in find_groups_of_mutant("partition-values.microseconds-cut", PARTITIONED)
    )
    assert "(type timestamp" in titles


@pytest.mark.slow("conformance/deltaspec/suites")
def test_eight_faults_are_about_eight_causes() -> None:
    results = ask_about(EightCauses(), TABLES, ("snapshot", "read", "time-travel", "predicates", "changes"))
    groups = group_by_cause(each for each in results if each.outcome.has_failed)
    signs = [(each.cause.breaks or (each.cause.title,))[0] for each in groups]
    missing = [fault for fault, sign in EXPECTED_CAUSES.items() if not any(each.startswith(sign) for each in signs)]
    assert missing == []
    assert 6 <= len(groups) <= 10, [each.cause for each in groups]


def test_names_numbers_and_paths_do_not_split_causes() -> None:
    table = describe_subject("drawn.1.3").table
    column = table.versions[-1].schema.fields[0].name
    texts = {
        mask(
            table, f"column {column} of part-{number:05}.parquet not found after {number} rows in 1f6d3c2a9b8e{number}"
        )
        for number in (3, 41)
    }
    assert texts == {"column … of … not found after … rows in …"}


def test_failure_of_several_causes_belongs_to_the_one_that_explains_most() -> None:
    first, second = Cause("first", ("x.y",)), Cause("second")
    results = [
        build_result(f"read.all-rows/drawn.1.{number}", Outcome.FAILED, message="m", causes=causes)
        for number, causes in enumerate([(first,), (first,), (second, first)])
    ]
    (group,) = group_by_cause(results)
    assert (group.cause, len(group.cases)) == (first, 3)
    assert group.simplest.case == "read.all-rows/drawn.1.0"


@pytest.mark.parametrize(("types", "count"), [(("date", "long"), 2), (("date", "long", "byte", "short"), 1)])
def test_few_types_have_a_cause_each_and_many_types_one(types: tuple[str, ...], count: int) -> None:
    results = [
        build_result(f"read.all-rows/drawn.1.{number}", Outcome.FAILED, causes=(Cause("wrong", ("x.y",), (kind,)),))
        for number, kind in enumerate(types)
    ]
    groups = group_by_cause(results)
    assert len(groups) == count
    assert Counter(each.cause.types for each in groups) == {(() if count > 1 else tuple(sorted(types))): count}


def test_report_shows_each_cause_once_with_what_it_breaks() -> None:
    causes = (Cause("rows are missing", ("x.y",)),)
    results = [
        build_result(f"read.all-rows/drawn.1.{number}", Outcome.FAILED, message=f"wrong rows: {number}", causes=causes,
                     history=("0: create the table", "0: append", "1: append"), requirements=("a.b", "c.d"))
        for number in range(3)
    ]  # fmt: skip
    run = Run(deltaspec="0", candidate="x", seed=1, tables=3, suites=("read",), seconds=1, complete=True)
    text = render_text(build_report(run, Capabilities("x", "1"), results))
    assert text.count("FAILED: rows are missing") == 1
    assert "  breaks: x.y\n  3 cases: read.all-rows (3)" in text
    assert "      0: create the table, append\n      1: append" in text
    assert "a.b" not in text
    assert text.endswith("FAILED: 3 of 3 cases, with 1 cause.")


def test_recommendation_is_a_warning_that_does_not_fail_the_run() -> None:
    engine = MUTANTS["time-travel.in-commit-timestamps-ignored"].build()
    results = ask_about(engine, ("drawn.1.18", "drawn.1.85"), ("time-travel",))
    found = [each for each in results if each.outcome.has_failed]
    assert found
    assert {each.outcome for each in found} == {Outcome.WARNING}
    run = Run(deltaspec="0", candidate="x", seed=1, tables=3, suites=("time-travel",), seconds=1, complete=True)
    report = build_report(run, Capabilities("x", "1"), results)
    assert report.exit_code == 0
    assert report.warnings
    assert "in-commit-timestamp.used-for-time-travel" in render_text(report)


def test_wrong_version_at_a_timestamp_shows_the_commit_times() -> None:
    results = ask_about(MUTANTS["time-travel.next-version-chosen"].build(), ("drawn.1.20",), ("time-travel",))
    failed = next(each for each in results if each.check == "time-travel.timestamps" and each.outcome.has_failed)
    lines = failed.message.splitlines()[1:]
    assert len(lines) == len(describe_subject(failed.table).table.versions)
    assert all("UTC), " in line for line in lines), lines


def test_death_is_explained_by_the_reason_on_stderr() -> None:
    subject = describe_subject("drawn.1.0")
    deaths = [
        Died("crash", f"exited with code 101 during {operation}; only after scan of /tmp/{operation}", 101,
             stderr=f"thread 'main' panicked at src/x.rs:{number}:5:\nno field\n")
        for number, operation in ((12, "scan"), (12, "snapshot"))
    ]  # fmt: skip
    causes = {find_causes(subject, CHECKS["read.all-rows"], each) for each in deaths}
    assert causes == {(Cause("crash: exited with code …: thread … panicked at src/x.rs:…:…:"),)}


def test_single_case_shows_what_it_breaks() -> None:
    result = build_result("read.all-rows/drawn.1.0", Outcome.FAILED, message="m", causes=(Cause("t", ("x.y",)),))
    assert "  breaks: x.y" in render_failure(result, "mill")


@pytest.mark.parametrize(
    ("arguments", "tables", "left_out"),
    [
        (("--tables", "3"), 3, ["the written tables (--written)", "the golden cases (--golden)"]),
        (("--tables", "2", "--written"), None, ["the golden cases (--golden)"]),
    ],
)
def test_only_the_chosen_tables_are_asked_about(
    arguments: tuple[str, ...], tables: int | None, left_out: list[str], tmp_path: Path
) -> None:
    events = tmp_path / "events"
    result = run("test", "reference", "--suite", "snapshot", "--events", str(events), *arguments)
    asked = {line.split('"table":"')[1].split('"')[0] for line in events.read_text().splitlines()}
    kinds = {each.partition(".")[0] for each in asked}
    if tables is not None:
        assert asked == {f"drawn.1.{number}" for number in range(tables)}
    else:
        assert kinds == {"drawn", "sound", "rare"}
    assert [line for line in left_out if line not in result.output] == []
    assert result.exit_code == 0


def test_run_stops_at_the_first_failure() -> None:
    arguments = ("test", "py:suites.faulty_readers:IgnoresVectors", "--suite", "read", "--tables", "20")
    result = run(*arguments, "-x")
    assert result.exit_code == 1
    assert "1 failed" in result.output
    assert "FAILED: stopped at the first failure" in result.output
