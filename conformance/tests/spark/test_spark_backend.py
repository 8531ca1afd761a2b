"""The Spark backend's public API, and its three ways to read a table."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.cli import run, single_error_line
from helpers.repair_plans import write_checkpoint
from spark.tables_checkpoints import checkpoint_v2_sidecars

import deltaspec
from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.report.report_types import Report
from deltaspec.spark import validate
from deltaspec.validation.acceptance import RecordedFindings
from deltaspec.validation.baseline import build_table_key, write_baseline
from deltaspec.validation.data import listing_stage
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.spark import jobs, table_access
from deltaspec.validation.spark.bucket_counts import BucketCounts
from deltaspec.validation.spark.driver import SparkLog
from deltaspec.validation.spark.run import run_on_spark
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import commit_info_action, txn_action, write_table

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with sidecars, a missing live file, and a commit with a malformed action."""
    root = tmp_path_factory.mktemp("backend") / "table"
    checkpoint_v2_sidecars(spark, str(root))
    live_file = next(each for each in sorted(root.rglob("*.parquet")) if "_delta_log" not in each.parts)
    live_file.unlink()
    newest = max(root.glob("_delta_log/*.json"), key=lambda each: each.name if each.name[:20].isdigit() else "")
    version = int(newest.name[:20]) + 1
    add = {"path": "x.parquet", "partitionValues": {}, "size": -1, "modificationTime": 0, "dataChange": True}
    (root / "_delta_log" / f"{version:020}.json").write_text(json.dumps({"add": add}) + "\n")
    for crc in root.rglob(".*.crc"):
        crc.unlink()
    return str(root)


def equal_except_backend(one: Report, other: Report) -> bool:
    """Compare reports without what names the backend."""
    first, second = (msgspec.structs.replace(each, engine="", access=None) for each in (one, other))
    return first == second


def test_notebook_gets_the_report_of_the_embedded_backend(spark: Any, table: str, tmp_path: Path, capsys: Any) -> None:
    before = dict(spark.sparkContext.getConf().getAll())
    session = {name: spark.conf.get(name, None) for name in ("spark.sql.session.timeZone", BATCH)}
    findings_directory = tmp_path / "found"
    found = validate(spark, table, level="files", samples=1, findings_out=str(findings_directory))
    expected = deltaspec.validate(table, level="files", samples=1)
    assert expected.verdict == "violations"
    assert equal_except_backend(found.report, expected)
    assert found.report.engine == "spark"
    assert json.loads(found.to_json())["counts"] == expected.counts
    every = found.findings.groupBy("rule").count().collect()
    assert {row["rule"]: row["count"] for row in every} == expected.totals
    found.show()
    assert "VIOLATIONS" in capsys.readouterr().out
    assert dict(spark.sparkContext.getConf().getAll()) == before
    assert {name: spark.conf.get(name, None) for name in session} == session


def test_baseline_of_one_backend_holds_for_the_other(spark: Any, table: str, tmp_path: Path) -> None:
    baseline = str(tmp_path / "b.json")
    recorded = RecordedFindings()
    found = run_on_spark(spark, table, Options.create(level="files"), RunSettings(recorded=recorded))
    key = build_table_key(recorded.table_root, baseline)
    write_baseline(baseline, [msgspec.structs.replace(each, table=key) for each in recorded.findings])
    accept = [{"rule": "DAT001", "path": "*.parquet", "reason": "restored by hand"}]
    reports = [validate(spark, table, accept=accept, baseline=baseline).report]
    reports.append(deltaspec.validate(table, accept=accept, baseline=baseline))
    assert equal_except_backend(*reports)
    assert reports[0].totals == {}
    assert reports[0].accepted_totals == found.totals
    assert reports[0].accept[0].count == found.totals["DAT001"] > 0


def test_accepted_loss_of_a_file_and_a_commit_conforms(spark: Any, tmp_path: Path) -> None:
    place, files = tmp_path / "t", build_table_with_data()
    for version in (3, 4, 5):
        files.commits[version] = [commit_info_action(version), txn_action("stream", version)]
    files.missing = {"b.parquet"}
    write_table(files, place)
    write_checkpoint(place, 4)
    (place / "_delta_log/00000000000000000002.json").unlink()
    options: dict[str, Any] = {"level": "rows", "history": "all"}
    assert validate(spark, str(place), **options).report.verdict == "violations"
    options["accept"] = [{"rule": rule, "reason": "lost in an outage"} for rule in ("DAT001", "LOG010")]
    report = validate(spark, str(place), **options).report
    assert equal_except_backend(report, deltaspec.validate(str(place), **options))
    assert (report.verdict, report.accepted_totals) == ("conforms", {"DAT001": 1, "LOG010": 1})


BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.mark.parametrize("way", ["bytes for executors", "hadoop for the driver", "only bytes"])
def test_report_does_not_depend_on_how_the_table_is_read(
    spark: Any, table: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_storage(uri: str, _: object) -> Any:
        raise TableUnreadable(f"{uri}: storage is disabled by the test")

    def no_java(*_: Any) -> Any:
        raise InvalidUsage("Java is disabled by the test")

    if way == "bytes for executors":
        monkeypatch.setattr(table_access, "probe_executors", lambda *_: "disabled by the test")
    else:
        monkeypatch.setattr(table_access, "open_store", no_storage)
    if way == "only bytes":
        monkeypatch.setattr(table_access, "driver_store", no_java)
    found = validate(spark, table, level="files").report
    expected = deltaspec.validate(table, level="files")
    if way != "only bytes":
        assert equal_except_backend(found, expected)
        return
    log_totals = {rule: number for rule, number in expected.totals.items() if not rule.startswith("DAT")}
    assert found.totals == log_totals
    unchecked = {each.rule for each in found.checked.not_checked}
    assert "DAT001" in unchecked


def test_executors_list_directories_that_the_log_does_not_name(
    spark: Any, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(table, copy)
    for number in range(100):
        (copy / f"unknown{number}" / "deep").mkdir(parents=True)
        (copy / f"unknown{number}" / "deep" / "u.parquet").write_bytes(b"12")
    expected = deltaspec.validate(str(copy), level="files")
    assert expected.inventory is not None
    assert expected.inventory.unreferenced_files >= 100

    def list_on_driver(*_: Any) -> Any:
        raise AssertionError("the driver lists no directory of a part")

    monkeypatch.setattr(listing_stage, "FILES_OF_ONE_TASK", 0)
    monkeypatch.setattr(LocalStore, "list_files", list_on_driver)
    monkeypatch.setattr(LocalStore, "list_part", list_on_driver)
    assert equal_except_backend(validate(spark, str(copy), level="files").report, expected)


def test_catalog_table_is_found(spark: Any, table: str) -> None:
    copy = f"{table}-of-a-catalog"
    shutil.copytree(table, copy)
    spark.sql(f"CREATE TABLE default.engine_table USING delta LOCATION '{copy}'")
    try:
        found = validate(spark, "default.engine_table", level="log").report
    finally:
        spark.sql("DROP TABLE default.engine_table")
    assert found.totals == deltaspec.validate(copy, level="log").totals
    with pytest.raises(TableUnreadable, match="no_such_table"):
        validate(spark, "default.no_such_table")


def test_delta_tables_of_a_schema_are_validated(spark: Any, table: str) -> None:
    spark.sql("CREATE SCHEMA lake")
    for name in ("orders", "old_orders"):
        shutil.copytree(table, f"{table}-{name}")
        spark.sql(f"CREATE TABLE lake.{name} USING delta LOCATION '{table}-{name}'")
    spark.sql("CREATE TABLE lake.orders_csv (id INT) USING csv")
    spark.sql("CREATE VIEW lake.orders_view AS SELECT 1")
    try:
        result = run("validate", "lake.*", "lake.order*", "--backend", "spark", "--level", "log", "--format", "json")
        missing = run("validate", "no_such_schema.*", "--backend", "spark")
    finally:
        spark.sql("DROP SCHEMA lake CASCADE")
    summary = json.loads(result.stdout)
    assert [(each["table"].rpartition("-")[2], each["level"]) for each in summary["tables"]] == [
        *(("old_orders", "log"), ("orders", "log"))
    ]
    assert missing.exit_code == 2
    assert "no_such_schema" in single_error_line(missing)


def test_earlier_report_makes_the_same_files_unnecessary(spark: Any, tmp_path: Path) -> None:
    table, report = str(tmp_path / "table"), str(tmp_path / "first.json")
    for _ in range(2):
        spark.range(10).coalesce(1).write.format("delta").mode("append").save(table)
        if not Path(report).exists():
            run("validate", table, "--level", "rows", "--format", "json", "--output", report)
    expected = deltaspec.validate(table, level="rows", since=report)
    assert expected.since is not None
    assert (expected.verdict, expected.since.skipped_files) == ("conforms", 1)
    assert equal_except_backend(validate(spark, table, level="rows", since=report).report, expected)


def test_missing_table_and_invalid_options_are_reported(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(TableUnreadable, match="no such file"):
        validate(spark, str(tmp_path / "absent"))
    with pytest.raises(InvalidUsage, match="invalid level"):
        validate(spark, str(tmp_path), level="everything")


def test_log_is_read_once(spark: Any, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    finish = SparkLog.finish

    def finish_and_record(log: SparkLog) -> Collection[str]:
        assert log.raw is not None
        kept.append(log.raw.is_cached)
        lost = finish(log)
        kept.append(log.raw.is_cached)
        return lost

    monkeypatch.setattr(SparkLog, "finish", finish_and_record)
    run_on_spark(spark, table, Options.create(level="log"), RunSettings())
    assert kept == [True, False]


def test_all_buckets_are_computed_at_the_same_time(spark: Any, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark computes partitions one at a time if the first action on a frame fetches them so."""
    monkeypatch.setattr(jobs, "MAX_COLLECTED_PARTITIONS", 0)
    context, options = spark.sparkContext, Options.create(level="log")
    context.setJobGroup("seven buckets", "test")
    try:
        report = run_on_spark(spark, table, options, RunSettings(), bucket_counts=BucketCounts(7))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    tracker = context.statusTracker()
    jobs_of_run = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("seven buckets")]
    stages = [tracker.getStageInfo(stage) for job in jobs_of_run for stage in job.stageIds]
    assert 7 in {stage.numTasks for stage in stages if stage is not None}
    assert equal_except_backend(
        report, run_on_spark(spark, table, options, RunSettings(), bucket_counts=BucketCounts(1))
    )
