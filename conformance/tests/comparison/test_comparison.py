"""`deltaspec.compare`: sound engines are equal to the judge, and each fault of an engine is named."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from comparison import comparison_engines, tables
from deltalake import write_deltalake

import deltaspec
from deltaspec.candidates import session
from deltaspec.comparison import compare as compare_module
from deltaspec.comparison import row_search
from deltaspec.comparison.results import Check, ComparisonReport
from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.suites.changes import list_change_ranges
from deltaspec.suites.subjects import Corpus

DRAWN = 25
Compare: TypeAlias = Callable[..., ComparisonReport]


def name(engine: type) -> str:
    return f"py:comparison.comparison_engines:{engine.__name__}"


@pytest.fixture(scope="module", autouse=True)
def engines() -> Iterator[compare_module.Engines]:
    """The reference reader, and the engine with a chosen fault: two processes for the module."""
    with compare_module.Engines([name(comparison_engines.Chosen)]) as opened:
        yield opened


@pytest.fixture(scope="module")
def compare(engines: compare_module.Engines) -> Compare:
    """Compare a table with an engine that has a fault."""

    def run(table: Path, engine: type, **options: Any) -> ComparisonReport:
        Path(f"{table}.fault").write_text(engine.__name__, "utf-8")
        return compare_module.compare_table(
            str(table), engines, compare_module.CompareRequest(**options), lambda *_: None
        )

    return run


def get_checks(report: ComparisonReport) -> dict[str, Check]:
    (engine,) = report.engines
    return {each.name: each for each in engine.checks}


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tables.write_days(tmp_path_factory.mktemp("days") / "table")


@pytest.fixture(scope="module")
def ranges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tables.write_ranges(tmp_path_factory.mktemp("ranges") / "table", changes=True)


def test_judge_equals_the_reference_reader_on_drawn_tables(tmp_path: Path) -> None:
    """With and without change data; columns whose values the protocol leaves open are named and not compared."""
    corpus, verdicts, changes = Corpus(1, DRAWN, written=False), Counter[str](), Counter[str]()
    wrong = []
    with compare_module.Engines(["reference"]) as engines:
        for identity in corpus.list_ids():
            subject = corpus.build_subject(identity, tmp_path / identity)
            known = list_change_ranges(subject.table)
            last = known[-1] if known and known[-1][-1] is subject.newest else ()
            request = compare_module.CompareRequest(
                allow_outside=True, changes=(last[0].version, last[-1].version) if last else None
            )
            report = compare_module.compare_table(str(subject.location), engines, request, lambda *_: None)
            verdicts[report.verdict] += 1
            found = get_checks(report)
            changes[found["changes"].outcome if "changes" in found else "none"] += 1
            wrong += [(identity, each) for each in found.values() if each.outcome not in ("equal", "not compared")]
            wrong += [(identity, reason) for reason in report.unread_files.values()]
            assert report.verdict == "equal" or report.columns_not_compared or "changes" in found, identity
    assert wrong == []
    assert verdicts["equal"] >= DRAWN * 3 // 4, verdicts
    assert changes["equal"] >= 3, changes


def test_order_of_rows_and_columns_does_not_matter(compare: Compare, days: Path) -> None:
    report = compare(days, comparison_engines.Sound)
    assert (report.verdict, report.rows, report.partitions, report.files) == ("equal", 20, 4, 4)
    assert {each.outcome for each in get_checks(report).values()} == {"equal"}


def test_lost_row_is_shown_with_its_file(compare: Compare, days: Path) -> None:
    found = get_checks(compare(days, comparison_engines.LosesARow))["rows"]
    assert (found.outcome, found.message) == ("differs", "expected 20 rows, got 19: 1 missing, 0 not expected")
    assert found.difference is not None
    assert (found.difference.partition_count, len(found.difference.files)) == (1, 1)
    assert found.difference.files[0].file.startswith(found.difference.partitions[0].replace("'", ""))
    assert [(row.found, row.file) for row in found.difference.rows] == [(None, found.difference.files[0].file)]


def test_repeated_row_is_shown_without_a_file(compare: Compare, days: Path) -> None:
    found = get_checks(compare(days, comparison_engines.RepeatsARow))["rows"]
    assert found.message == "expected 20 rows, got 21: 0 missing, 1 not expected"
    assert found.difference is not None
    assert [(row.expected, row.file) for row in found.difference.rows] == [(None, None)]


def test_changed_value_is_shown_next_to_the_expected_one(compare: Compare, days: Path) -> None:
    found = get_checks(compare(days, comparison_engines.ChangesAValue))["rows"]
    assert found.message == "expected 20 rows, got 20: 1 missing, 1 not expected"
    assert found.difference is not None
    assert found.difference.columns == ("amount",)
    assert found.difference.kinds == ("other value of type int64",)
    assert found.difference.partitions == ("day='2026-01-04'",)
    (row,) = found.difference.rows
    identity = {"id": "19", "day": "'2026-01-04'", "name": "'secret 19'"}
    assert (row.expected, row.found) == ({**identity, "amount": "190"}, {**identity, "amount": "191"})
    assert row.file is not None


def test_moved_values_are_noticed_although_each_column_is_right(compare: Compare, ranges: Path) -> None:
    found = get_checks(compare(ranges, comparison_engines.MovesValues))["rows"]
    assert found.outcome == "differs"
    assert found.difference is not None
    assert found.difference.columns == ()
    assert found.difference.missing == found.difference.unexpected
    assert found.difference.missing


@pytest.mark.parametrize(
    ("engine", "check", "message"),
    [
        (comparison_engines.LosesAColumn, "rows", "wrong columns or types: columns: missing: amount"),
        (comparison_engines.WrongType, "rows", "wrong columns or types: column amount has type double, expected int64"),
        (comparison_engines.WrongCount, "row count", "expected 20, got 1"),
        (comparison_engines.WrongVersion, "version", "expected version 0, got 17"),
        (comparison_engines.WrongSchema, "schema", "wrong schema: expected "),
        (
            comparison_engines.WritesIntoTheTable,
            "table unchanged",
            "changed the table that it was asked to read: files added",
        ),
    ],
)
def test_fault_is_named(compare: Compare, tmp_path: Path, engine: type, check: str, message: str) -> None:
    found = get_checks(compare(tables.write_days(tmp_path / "table"), engine))
    assert found[check].outcome == "differs"
    assert found[check].message.startswith(message)
    assert [each.name for each in found.values() if each.outcome != "equal"] == [check]


def test_search_with_few_hashes_in_memory_finds_a_differing_row(
    compare: Compare, days: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_search, "MOST_HASHES", 4)
    found = get_checks(compare(days, comparison_engines.ChangesAValue))["rows"]
    assert found.difference is not None
    assert not found.difference.is_complete
    assert found.message.startswith("expected 20 rows, got 20: at least ")
    assert (found.difference.missing or 0) + (found.difference.unexpected or 0) >= 1
    assert found.difference.columns == ("amount",)


def test_changes_are_compared_by_version(compare: Compare, ranges: Path) -> None:
    sound = get_checks(compare(ranges, comparison_engines.Sound, changes=(1, 4)))["changes"]
    assert (sound.outcome, sound.message) == ("equal", "versions 1 to 4")
    found = get_checks(compare(ranges, comparison_engines.LosesChanges, changes=(1, 4)))["changes"]
    assert (found.outcome, found.message) == ("differs", "expected 31 rows, got 30")
    assert found.difference is not None
    assert found.difference.partition_count == 1
    assert found.difference.partitions[0].startswith("version ")


def test_changes_that_the_table_does_not_record_are_not_compared(compare: Compare, days: Path) -> None:
    found = get_checks(compare(days, comparison_engines.Sound, changes=(0, 0)))["changes"]
    assert found.outcome in ("fails", "not compared")  # the reference reader refuses them
    with pytest.raises(InvalidUsage, match="versions 0 to 7 are no range up to version 0"):
        compare(days, comparison_engines.Sound, changes=(0, 7))


def test_sample_of_partitions(compare: Compare, days: Path) -> None:
    report = compare(days, comparison_engines.Sound, sample=0.3)
    assert report.sample is not None
    assert (report.verdict, report.sample.files, report.rows) == ("equal", 2, 10)
    assert report.sample.condition.count('"day"') == 2
    assert "row count" not in get_checks(report)
    assert compare(days, comparison_engines.Sound, sample=1.0).rows == 20


def test_sample_of_a_range(compare: Compare, ranges: Path) -> None:
    report = compare(ranges, comparison_engines.Sound, sample=0.1)
    assert report.sample is not None
    assert report.verdict == "equal"
    assert 0 < report.sample.files < 4
    assert report.rows in (4, 5)  # one of the rows was deleted
    assert get_checks(compare(ranges, comparison_engines.LosesARow, sample=0.1))["rows"].outcome == "differs"


def test_sample_needs_partitions_or_statistics(compare: Compare, tmp_path: Path) -> None:
    table = tmp_path / "table"
    write_deltalake(str(table), pa.table({"x": ["a"]}))
    with pytest.raises(InvalidUsage, match="--sample needs partition columns, or a column of integers or dates"):
        compare(table, comparison_engines.Sound, sample=0.1)


def test_only_named_columns_are_compared(compare: Compare, days: Path) -> None:
    report = compare(days, comparison_engines.ChangesAValue, columns=("name", "id"))
    assert (report.columns, report.partitions) == (("name", "id"), 0)
    assert "columns: missing" not in get_checks(report)["rows"].message
    with pytest.raises(InvalidUsage, match=r"no column 'nam' \(did you mean name\?\)"):
        compare(days, comparison_engines.Sound, columns=("nam",))


def test_refusal_of_an_undeclared_feature_is_not_a_wrong_answer(compare: Compare, tmp_path: Path) -> None:
    corpus = Corpus(1, 60, written=False)
    subjects = (corpus.build_subject(each, tmp_path / each) for each in corpus.list_ids())
    subject = next(each for each in subjects if "deletionVectors" in each.features)
    report = deltaspec.compare(str(subject.location), [name(comparison_engines.Refuses)])
    found = get_checks(report)["rows"]
    assert (report.verdict, found.outcome) == ("incomplete", "refused")
    assert "deletionVectors" in found.message.partition(": ")[0]
    report = compare(subject.location, comparison_engines.RefusesWhatItDeclares)
    assert (report.verdict, get_checks(report)["rows"].outcome) == ("differs", "fails")


def test_engine_that_crashes_fails(compare: Compare, days: Path) -> None:
    report = compare(days, comparison_engines.Crashes)
    assert (report.verdict, get_checks(report)["rows"].outcome) == ("differs", "fails")
    assert "killed by SIGABRT during scan" in get_checks(report)["rows"].message


@pytest.mark.parametrize("engine", [comparison_engines.Hangs, comparison_engines.PrintsWithoutEnd])
def test_engine_that_hangs_is_killed(
    compare: Compare, days: Path, engine: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session.DEADLINE_SECONDS, "scan", 0.5)
    monkeypatch.setattr("deltaspec.candidates.session.GRACE_SECONDS", 0.2)
    report = compare(days, engine)
    found = get_checks(report)
    assert (report.verdict, found["rows"].outcome, "row count" in found) == ("incomplete", "not compared", False)
    assert found["rows"].message.startswith("timeout: sent no answer before the deadline during scan")
    assert found["version"].outcome == "equal"


def test_engine_that_returns_rows_without_end_is_killed(
    compare: Compare, days: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_module, "LEAST_LIMIT_BYTES", 4 << 20)
    found = get_checks(compare(days, comparison_engines.ReturnsWithoutEnd))["rows"]
    assert found.outcome == "not compared"
    assert found.message.startswith("output: wrote more than 4 MiB of rows, which is the limit during scan")


def test_version_that_is_committed_meanwhile_is_not_a_difference(compare: Compare, tmp_path: Path) -> None:
    report = compare(tables.write_days(tmp_path / "table"), comparison_engines.CommitsMeanwhile)
    assert (report.verdict, report.version, report.rows) == ("equal", 0, 20)


def test_earlier_version_is_asked_by_its_number(compare: Compare, ranges: Path) -> None:
    report = compare(ranges, comparison_engines.Sound, at=2)
    assert (report.verdict, report.version, report.rows) == ("equal", 2, 30)


def test_lost_data_file_makes_the_comparison_incomplete(compare: Compare, tmp_path: Path) -> None:
    table = tables.write_days(tmp_path / "table")
    lost = next(table.glob("day=2026-01-02/*.parquet"))
    lost.unlink()
    report = compare(table, comparison_engines.Sound)
    assert (report.rows, list(report.unread_files)) == (None, [f"day=2026-01-02/{lost.name}"])
    assert get_checks(report)["version"].outcome == "equal"


def test_damaged_data_file_makes_the_comparison_incomplete(compare: Compare, tmp_path: Path) -> None:
    table = tables.write_days(tmp_path / "table")
    next(table.glob("day=2026-01-02/*.parquet")).write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    report = compare(table, comparison_engines.WrongCount)
    assert len(report.unread_files) == 1
    assert get_checks(report)["row count"].outcome == "not compared"


def test_log_that_cannot_be_replayed_is_an_error(compare: Compare, tmp_path: Path) -> None:
    table = tables.write_ranges(tmp_path / "table")
    (table / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(TableUnreadable, match="commit 1 is missing; run `deltaspec validate`"):
        compare(table, comparison_engines.Sound)


def test_redaction_leaves_no_value(compare: Compare, days: Path) -> None:
    report = compare(days, comparison_engines.ChangesAValue, redact=True)
    text = repr(report) + repr(compare(days, comparison_engines.RefusesWhatItDeclares, redact=True))
    hidden = ["secret", "190", "191", "2026-01", "part-", str(days)]
    assert [each for each in hidden if each in text] == []
    assert "amount" in text
    found = report.engines[0].checks
    (row,) = next(each.difference.rows for each in found if each.difference is not None)
    assert row.expected != row.found


def test_sign_of_zero_is_compared_and_bits_of_nan_are_not(compare: Compare, tmp_path: Path) -> None:
    table = tmp_path / "table"
    write_deltalake(str(table), pa.table({"amount": pa.array([-0.0, float("nan"), None, 1.5])}))
    assert compare(table, comparison_engines.Sound).verdict == "equal"
    found = get_checks(compare(table, comparison_engines.LosesTheSignOfZero))["rows"]
    assert found.message == "expected 4 rows, got 4: 1 missing, 1 not expected"
    assert found.difference is not None
    shown = [(row.expected, row.found) for row in found.difference.rows]
    assert shown == [({"amount": "-0.0"}, None), (None, {"amount": "0.0"})]
