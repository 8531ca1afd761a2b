"""Cases for writers are exported, imported and performed, and their derived files are checked without deltaspec."""

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden.golden_folders import GOLDEN
from helpers.cli import run
from suites.faulty_writers import FAULTY_WRITERS, WritesWrongBounds, build_engine

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.writer import Writer
from deltaspec.golden.importing.cases import read_cases
from deltaspec.golden.importing.questions import PerformCommits, PerformOperations
from deltaspec.golden.writers.cases import build_writer_case
from deltaspec.golden.writers.output import (
    DrawnHistories,
    build_written_case,
    select_written,
    write_drawn_histories,
    write_written_cases,
)
from deltaspec.suites.checks import IMPORTED_SUITES
from deltaspec.suites.imported_subjects import ImportedTables
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.runner import SuitePlan, run_suite_plan
from deltaspec.suites.subjects import Corpus
from deltaspec.suites.write_history import perform_history
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.histories.written import WRITTEN_HISTORIES

NAMES = ["checkpoints-of-domains-and-transactions", "changes-of-null-partition", "mapped-columns"]


def ask(directory: Path, engine: Callable[[], Engine] = Engine) -> dict[str, CaseResult]:
    """Ask all questions of a directory; return the results by check and question."""
    plan = SuitePlan(Corpus(imported=ImportedTables(read_cases(directory))), IMPORTED_SUITES)
    return {each.case: each for done in run_suite_plan(lambda: InProcess(engine()), plan) for each in done.results}


def write_case(root: Path, commits: list[dict[str, Any]], rows: dict[str, pa.Table], specs: dict[str, Any]) -> Path:
    """Write a case as the generator of the Delta acceptance tests does."""
    case = root / "case"
    for name, table in rows.items():
        (case / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, case / name)
    (case / "specs").mkdir(parents=True)
    for name, document in {"case_write": {"type": "write", "commits": commits}, **specs}.items():
        (case / f"specs/{name}.json").write_text(json.dumps(document))
    return case


INT_TABLE = {
    "operation": "create_table",
    "schema": {"type": "struct", "fields": [{"name": "n", "type": "integer", "nullable": True, "metadata": {}}]},
}
INSERT = {"operation": "insert", "dataFiles": ["data/commit_1/part-00000.parquet"]}
NUMBERS = pa.table({"n": pa.array([1, 2, 3], pa.int32())})


def test_every_written_history_survives_export_and_import(tmp_path: Path) -> None:
    write_written_cases(select_written([]), tmp_path / "cases")
    found = {case.id: case.questions for case in read_cases(tmp_path / "cases")}
    expected = {f"history.{name}": json.loads(json.dumps([step.operation for step in build()], default=list))
                for name, build in WRITTEN_HISTORIES.items()}  # fmt: skip
    read = {name: [json.loads(json.dumps(step.operation, default=list)) for each in questions
                   if isinstance(each, PerformOperations) for step in each.steps]
            for name, questions in found.items()}  # fmt: skip
    assert read == expected
    without = {name for name, questions in found.items() if not any(isinstance(q, PerformCommits) for q in questions)}
    names = ("identity-columns", "explicit-identity-values", "identity-overflow", "converted-table")
    assert without == {f"history.{each}" for each in names}


def test_the_reference_writer_passes(tmp_path: Path) -> None:
    write_written_cases(NAMES, tmp_path)
    results = ask(tmp_path)
    assert {name: each.message for name, each in results.items() if each.outcome is not Outcome.PASSED} == {}
    counts = {name.rpartition("/")[2]: each.counts for name, each in results.items()}
    assert counts["history.checkpoints-of-domains-and-transactions_write"]["checkpoint"] == 2
    assert counts["history.changes-of-null-partition_write"]["changes"] > 0


LOSES_A_ROW = next(iter(FAULTY_WRITERS))


@pytest.mark.parametrize(
    ("writer", "messages"),
    [
        (LOSES_A_ROW, (": wrong rows", "rows: append: wrong rows")),
        (WritesWrongBounds, ("the table violates the protocol: STA", "valid: ")),
    ],
    ids=["rows", "bounds"],
)
def test_a_faulty_writer_fails(writer: type[Writer], messages: tuple[str, str], tmp_path: Path) -> None:
    write_written_cases(["changes-of-null-partition"], tmp_path)
    results = ask(tmp_path, lambda: build_engine(writer)).values()
    wrong = [each.message for each, text in zip(results, messages, strict=True) if text not in each.message]
    assert wrong == []
    assert {each.outcome for each in results} == {Outcome.FAILED}


def test_a_case_of_others_is_performed(tmp_path: Path) -> None:
    low_level = {"operation": "commit", "txn": {"appId": "a", "version": 7},
                 "addFiles": [{"dataFile": "data/commit_4/x.parquet"}],
                 "removeFiles": [{"addedAtCommit": 1}]}  # fmt: skip
    commits = [
        INT_TABLE,
        INSERT,
        {"operation": "update_properties", "set": {"delta.appendOnly": "false"}},
        {"operation": "evolve_schema", "addColumns": {"type": "struct", "fields": [
            {"name": "s", "type": "string", "nullable": True, "metadata": {}}]}},
        low_level,
        {"operation": "update", "predicate": "n = 5 or s is null", "set": {"s": "'it'"}},
        {"operation": "delete", "predicate": "n > 5"},
    ]  # fmt: skip
    late = pa.table({"n": pa.array([5, 6], pa.int32()), "s": [None, "b"]})
    snapshot = {"metadata": {"partitionColumns": []}, "setTransactions": [{"appId": "a", "version": 7}]}
    specs = {
        "case_read": {"type": "read", "expected": {"rowCount": 1}},
        "case_read_v1": {"type": "read", "version": 1, "columns": ["n"], "expected": {"rowCount": 3}},
        "case_snapshot": {"type": "snapshot", "expected": snapshot},
        "case_checkpoint": {"type": "checkpoint", "version": 3},
        "case_crc": {"type": "crc", "version": 4},
    }
    files = {
        "data/commit_1/part-00000.parquet": NUMBERS,
        "data/commit_4/x.parquet": late,
        "expected/case_read/expected_data/part.parquet": pa.table({"n": pa.array([5], pa.int32()), "s": ["it"]}),
        "expected/case_read_v1/expected_data/part.parquet": NUMBERS,
    }
    case = write_case(tmp_path, commits, files, specs)
    (result,) = ask(tmp_path).values()
    assert (result.outcome, result.message) == (Outcome.PASSED, "")
    assert result.counts == {"commits": 7, "checkpoint": 1, "checksum": 1, "rows": 4}
    (case / "specs/case_snapshot.json").write_text(
        json.dumps({"type": "snapshot", "expected": {"setTransactions": [{"appId": "a", "version": 8}]}})
    )
    (result,) = ask(tmp_path).values()
    assert result.message.startswith('case_snapshot: wrong transactions: expected {"a": 8}, got {"a": 7}')


@pytest.mark.parametrize(
    ("commit", "reason"),
    [
        ({"operation": "update", "predicate": "n = 1", "set": {"n": "n + 1"}}, "the new value of n compares"),
        ({"operation": "delete", "predicate": "n + 1 = 2"}, "the predicate has other parts"),
        ({"operation": "commit", "removeFiles": [{"addedAtCommit": 1}]}, "a commit adds no file"),
        ({"operation": "evolve_schema", "dropColumns": ["a", "b"]}, "several columns at once"),
        ({"operation": "compact"}, "a commit of the spec is not known"),
    ],
    ids=lambda value: value["operation"] if isinstance(value, dict) else None,
)
def test_what_cannot_be_performed_is_not_asked(commit: dict[str, Any], reason: str, tmp_path: Path) -> None:
    write_case(tmp_path, [INT_TABLE, INSERT, commit], {"data/commit_1/part-00000.parquet": NUMBERS}, {})
    (result,) = ask(tmp_path).values()
    assert (result.outcome, reason in result.message) == (Outcome.NOT_ASKED, True), result.message


def test_data_files_outside_of_the_case_are_refused(tmp_path: Path) -> None:
    pq.write_table(NUMBERS, tmp_path / "secret.parquet")
    write_case(tmp_path / "in", [INT_TABLE, {"operation": "insert", "dataFiles": ["../../secret.parquet"]}], {}, {})
    result = run("golden", "import", tmp_path / "in")
    assert "the data file ../../secret.parquet is missing" in result.output


def test_drawn_histories_depend_only_on_seed_and_number(tmp_path: Path) -> None:
    drawn = DrawnHistories(3, required=("deletionVectors",), operations=("delete", "checkpoint"))
    write_drawn_histories(drawn, 4, tmp_path / "one", 1)
    assert drawn.build(2).files == drawn.build(2).files
    case = tmp_path / "one" / drawn.build(2).id
    found = {str(path.relative_to(case)): path.read_bytes() for path in case.rglob("*") if path.is_file()}
    assert found == drawn.build(2).files
    (write,) = case.glob("specs/*_write.json")
    created = json.loads(write.read_bytes())["commits"][0]
    assert created["properties"]["delta.enableDeletionVectors"] == "true"


def damage_checksum(log: Path) -> None:
    (path,) = log.glob("*.crc")
    path.write_text(path.read_text().replace('"numFiles":', '"numFiles":1'))


def damage_checkpoint(log: Path) -> None:
    path = min(log.glob("*.checkpoint.parquet"))
    rows = pq.read_table(path)
    pq.write_table(rows.filter(pa.compute.is_null(rows["txn"].combine_chunks().field("appId"))), path)


def damage_compaction(log: Path) -> None:
    (path,) = log.glob("*.compacted.json")
    lines = [line for line in path.read_text().splitlines() if not line.startswith('{"add"')]
    path.write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (None, ""),
        (damage_checksum, "numFiles is 1"),
        (damage_checkpoint, "transactions are {}"),
        (damage_compaction, "misses the added file"),
        (lambda log: min(log.glob("*.checkpoint.parquet")).unlink(), "checkpoint of version 1 is missing"),
    ],
    ids=["sound", "checksum", "checkpoint", "compaction", "missing"],
)
def test_derived_files_are_checked_without_deltaspec(
    damage: Callable[[Path], None] | None, problem: str, tmp_path: Path
) -> None:
    steps = [each for each in WRITTEN_HISTORIES[NAMES[0]]() if each.kind not in ("optimize", "compact-log")]
    steps.append(Step({"kind": "compact-log", "start_step": 1, "end_step": 4}))
    for path, data in build_writer_case("case", "", steps).files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    perform_history(InProcess(Engine()), steps, tmp_path / "done")
    if damage is not None:
        damage(tmp_path / "done/table/_delta_log")
    checker = runpy.run_path(str(GOLDEN / "check_derived.py"))
    found = list(checker["list_problems"](tmp_path, tmp_path / "done/table"))
    assert [bool(found), problem in "\n".join(found)] == [damage is not None, True], found


def test_the_write_spec_has_the_form_of_the_generator() -> None:
    files = build_written_case("checkpoints-of-domains-and-transactions").files
    spec = json.loads(files["specs/history.checkpoints-of-domains-and-transactions_write.json"])
    assert [each["operation"] for each in spec["commits"]] == ["create_table", "commit", "commit", "delete"]
    assert spec["commits"][2] == {
        "operation": "commit",
        "txn": {"appId": "app", "version": 2},
        "addFiles": [{"dataFile": "data/commit_2/part-00000.parquet"}],
        "removeDomainMetadata": ["kit.a"],
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("export", "--format", "writers", "nothing*"), "no written history matches nothing*"),
        (("draw", "--format", "writers", "--types", "long"), "--types restricts tables"),
        (("draw", "--format", "writers", "--operations", "publish"), "no history has the operation publish"),
        (("draw", "--format", "writers", "--features", "vectors"), "no history uses the feature vectors"),
        (("draw", "--operations", "append"), "--operations needs --format writers"),
    ],
    ids=str,
)
def test_wrong_options(arguments: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    command, *rest = arguments
    result = run("golden", command, tmp_path / "out", *rest)
    assert (result.exit_code, expected in result.output) == (2, True), result.output
