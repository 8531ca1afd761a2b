"""Cases of other projects become questions to a candidate, and wrong answers fail."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from golden.importing.imported_folders import ROWS, copy_table, read_actions, write_dat_case, write_rows, write_workload
from suites.faulty_readers import KeepsRemovedFiles

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.golden.importing.cases import read_cases
from deltaspec.suites.checks import IMPORTED_SUITES
from deltaspec.suites.imported_subjects import ImportedTables
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.runner import SuitePlan, run_suite_plan
from deltaspec.suites.subjects import Corpus


def ask(directory: Path, engine: type[Engine] = Engine) -> dict[str, CaseResult]:
    """Ask all questions of a directory; return the results by case id."""
    plan = SuitePlan(Corpus(imported=ImportedTables(read_cases(directory))), IMPORTED_SUITES)
    return {each.case: each for done in run_suite_plan(lambda: InProcess(engine()), plan) for each in done.results}


def list_outcomes(results: dict[str, CaseResult]) -> dict[str, Outcome]:
    return {name: each.outcome for name, each in results.items()}


def mark_changes(rows: pa.Table, kind: str, version: int) -> pa.Table:
    """Add the columns that Spark adds to changed rows; the timestamp is that of another copy."""
    count = rows.num_rows
    moment = pa.array([0] * count, pa.timestamp("us", "UTC"))
    columns = {"_change_type": [kind] * count, "_commit_version": [version] * count, "_commit_timestamp": moment}
    return pa.table({**{name: rows.column(name) for name in rows.column_names}, **columns})


CASE = "out/reader_tests/generated/basic_append"


def test_dat_case_asks_for_rows_and_metadata_of_every_version(tmp_path: Path) -> None:
    write_dat_case(tmp_path)
    assert list_outcomes(ask(tmp_path)) == {
        f"imported.{check}/{CASE}/{question}": Outcome.PASSED
        for check, question in (
            ("read", "v1"),
            ("snapshot", "v1-snapshot"),
            ("read", "latest"),
            ("snapshot", "latest-snapshot"),
        )
    }


def test_wrong_reader_fails_the_imported_rows(tmp_path: Path) -> None:
    write_dat_case(tmp_path)
    results = ask(tmp_path, KeepsRemovedFiles)
    failed = {name: each.message for name, each in results.items() if each.outcome is Outcome.FAILED}
    assert list(failed) == [f"imported.read/{CASE}/latest"]
    assert "wrong rows: expected 1, got 4" in failed[f"imported.read/{CASE}/latest"]


def test_wrong_expectations_of_a_snapshot_fail(tmp_path: Path) -> None:
    case = write_dat_case(tmp_path)
    metadata = {"version": 2, "properties": {"a": "b"}, "min_reader_version": 1, "min_writer_version": 2}
    (case / "expected/latest/table_version_metadata.json").write_text(json.dumps(metadata))
    result = ask(case)["imported.snapshot/basic_append/latest-snapshot"]
    assert (result.outcome, result.message) == (Outcome.FAILED, "wrong version: expected 2, got 3")


def test_workload_asks_its_specs(tmp_path: Path) -> None:
    actions = read_actions()
    snapshot = {"protocol": actions["protocol"], "metadata": actions["metaData"]}
    wrong = {"protocol": {**actions["protocol"], "minReaderVersion": 2}, "metadata": actions["metaData"]}
    specs: dict[str, dict[str, Any]] = {
        "all": {"type": "read", "expected": {"rowCount": 1, "fileCount": 1, "filesSkipped": 0}},
        "projected": {"type": "read", "version": 1, "columns": ["item"], "expected": {"rowCount": 3}},
        "filtered": {"type": "read", "version": 1, "predicate": "id >= 2 AND item IS NULL", "expected": {}},
        "snapshot": {"type": "snapshot", "expected": snapshot, "extraField": 1},
        "snapshot_v2": {"type": "snapshotConstruction", "version": 2, "expected": snapshot},
        "snapshot_wrong": {"type": "snapshot", "expected": wrong},
        "no_version": {"type": "read", "version": 99, "expectedError": {"errorCode": "DELTA_VERSION_NOT_FOUND"}},
        "no_error": {"type": "snapshot", "error": {"errorCode": "DELTA_STATE_RECOVER_ERROR"}},
        "like": {"type": "read", "predicate": "item LIKE 'a%'", "expected": {}},
        "moment": {"type": "read", "timestamp": "2025-01-15 10:30:00.000", "expected": {}},
        "feed": {"type": "cdf", "startVersion": 2, "endVersion": 3, "expected": {"rowCount": 4}},
        "feed_narrow": {"type": "cdf", "startVersion": 3, "columns": ["id", "_change_type"], "expected": {}},
        "feed_wrong": {"type": "cdf", "startVersion": 3, "expected": {"rowCount": 3}},
        "no_feed": {"type": "cdf", "startVersion": 9, "expectedError": {"errorCode": "DELTA_INVALID_CDC_RANGE"}},
        "txn": {"type": "appTxn", "expected": {"appId": "loader", "txnVersion": 7}},
        "txn_wrong": {"type": "appTxn", "version": 1, "expected": {"appId": "loader", "txnVersion": 7}},
        "domain_gone": {"type": "domain_metadata", "expected": {"domain": "x", "configuration": "", "removed": True}},
        "checksum": {"type": "crc", "version": 1, "expected": {"numFiles": 1}},
        "contradiction": {"type": "read", "expected": {"rowCount": 7}},
    }
    inserts, deletes = ROWS[3], ROWS[1]
    rows = {
        "all": ROWS[3],
        "feed": pa.concat_tables([mark_changes(inserts, "insert", 2), mark_changes(deletes, "delete", 3)]),
        "feed_narrow": mark_changes(deletes, "delete", 3).select(["id", "_change_type"]),
        "feed_wrong": mark_changes(deletes, "insert", 3),
        "projected": ROWS[1].select(["item"]),
        "filtered": ROWS[1].slice(2),
        "like": ROWS[3],
        "contradiction": ROWS[3],
    }
    write_workload(tmp_path, specs, rows)
    results = {name.rpartition("/")[2]: each for name, each in ask(tmp_path).items()}
    outcomes = {name: each.outcome for name, each in results.items()}
    passed = ("all", "projected", "filtered", "snapshot", "snapshot_v2", "no_version")
    passed += ("feed", "feed_narrow", "no_feed", "txn", "domain_gone")
    failed = ("snapshot_wrong", "no_error", "feed_wrong", "txn_wrong")
    assert outcomes == {
        name: Outcome.PASSED if name in passed else Outcome.FAILED if name in failed else Outcome.NOT_ASKED
        for name in specs
    }
    assert results["no_error"].message == "the snapshot of version 3 was loaded"
    assert results["like"].message == (
        "the predicate has other parts than comparisons of columns with literals: item LIKE 'a%'"
    )
    assert results["checksum"].message == "specs of type crc are not imported"
    assert results["contradiction"].message == "the case contradicts itself: 7 rows, but 1 in its files"


def test_answer_that_only_prunes_files_is_filtered_by_the_host(tmp_path: Path) -> None:
    class Prunes(Engine):
        def hello(self) -> dict[str, Any]:
            return {**super().hello(), "predicate": "prunes"}

        def scan(self, table: str, **request: Any) -> dict[str, Any]:
            return super().scan(table, **{**request, "predicate": None, "predicate_tree": None})

    spec = {"type": "read", "version": 1, "columns": ["item"], "predicate": "id > 2", "expected": {"rowCount": 1}}
    write_workload(tmp_path, {"filtered": spec}, {"filtered": ROWS[1].slice(2).select(["item"])})
    assert list_outcomes(ask(tmp_path, Prunes)) == {"imported.read/basic/filtered": Outcome.PASSED}


def test_folders_of_tables_are_read(tmp_path: Path) -> None:
    write_rows(tmp_path / "with-rows/expected", ROWS[3])
    copy_table(tmp_path / "with-rows/delta")
    write_rows(tmp_path / "wrong/expected", ROWS[1])
    copy_table(tmp_path / "wrong/delta")
    assert list_outcomes(ask(tmp_path)) == {
        "imported.read/with-rows/latest": Outcome.PASSED,
        "imported.read/wrong/latest": Outcome.FAILED,
    }


def test_table_without_rows_is_compared_with_the_reference_reader(tmp_path: Path) -> None:
    copy_table(tmp_path / "hive/plain")
    assert list_outcomes(ask(tmp_path, KeepsRemovedFiles)) == {"imported.read/hive/plain/latest": Outcome.FAILED}


def test_table_that_the_reference_cannot_read_is_not_asked(tmp_path: Path) -> None:
    log = copy_table(tmp_path / "broken") / "_delta_log"
    (log / "00000000000000000001.json").unlink()
    (result,) = ask(tmp_path).values()
    assert result.outcome is Outcome.NOT_ASKED
    assert "commit 1 is missing" in result.message


def test_table_with_an_undeclared_feature_must_be_refused(tmp_path: Path) -> None:
    case = write_dat_case(tmp_path)
    log = case / "delta/_delta_log/00000000000000000000.json"
    newer = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["x"],"writerFeatures":["x"]}}'
    lines = [newer if line.startswith('{"protocol"') else line for line in log.read_text("utf-8").splitlines()]
    log.write_text("\n".join(lines))
    results = ask(tmp_path)
    assert {name.partition("/")[0] for name in results} == {"refuse.undeclared-features"}
    assert {each.outcome for each in results.values()} == {Outcome.PASSED}


def test_timestamps_of_spark_are_in_utc(tmp_path: Path) -> None:
    """Spark writes them as INT96, which has no time zone."""
    naive = pa.array([0], pa.timestamp("ns"))
    zoned = pa.table({"at": naive.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))})
    case = tmp_path / "zoned"
    write_rows(case / "expected", pa.table({"at": naive}))
    write_rows(case / "delta", zoned)
    field = {"name": "at", "type": "timestamp", "nullable": True, "metadata": {}}
    (part,) = (case / "delta").glob("*.parquet")
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "m",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": [field]}),
                "partitionColumns": [],
                "configuration": {},
            }
        },
        {
            "add": {
                "path": part.name,
                "partitionValues": {},
                "size": part.stat().st_size,
                "modificationTime": 0,
                "dataChange": True,
            }
        },
    ]
    (case / "delta/_delta_log").mkdir()
    log = "\n".join(json.dumps(each) for each in actions)
    (case / "delta/_delta_log/00000000000000000000.json").write_text(log)
    (result,) = ask(tmp_path).values()
    assert (result.outcome, result.message) == (Outcome.PASSED, "")


@pytest.mark.parametrize("name", ["imported.read", "imported.snapshot"])
def test_checks_of_imported_questions_do_not_run_on_drawn_tables(name: str) -> None:
    plan = SuitePlan(Corpus(tables=1, written=False), ("imported", "read", "snapshot"))
    results = [each for done in run_suite_plan(lambda: InProcess(Engine()), plan) for each in done.results]
    assert results
    assert [each for each in results if each.check == name] == []
