"""Advice that once failed or did harm, followed on Delta Spark; and a share of `nox -s fixes`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fixes.proof import Subject, prove
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from spark.session import create, insert, run

import deltaspec
from deltaspec.repair.apply import apply_plan
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES

pytestmark = pytest.mark.spark

Action = dict[str, Any]


def read_commit(table: Path, version: int) -> list[Action]:
    """Return the actions of a commit."""
    file = table / f"_delta_log/{version:020}.json"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def write_commit(table: Path, version: int, actions: list[Action]) -> None:
    """Write a commit as a writer with a fault would, in place of one with this version."""
    log = table / "_delta_log"
    (log / f"{version:020}.json").write_text("".join(f"{json.dumps(each)}\n" for each in actions), "utf-8")
    for stale in log.glob(f"*{version:020}.*crc"):
        stale.unlink()


def find_action(table: Path, version: int, kind: str) -> Action:
    found: Action = next(each[kind] for each in read_commit(table, version) if kind in each)
    return found


def read_ids(spark: Any, table: Path, version: int | None = None) -> list[int]:
    forget_snapshots(spark)
    source = f"delta.`{table}`" + ("" if version is None else f" VERSION AS OF {version}")
    return sorted(row[0] for row in spark.sql(f"SELECT id FROM {source}").collect())


def forget_snapshots(spark: Any) -> None:
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def validate(table: Path, **options: Any) -> Report:
    return deltaspec.validate(str(table), level="rows", **options)


def find_new_violations(table: Path, version: int) -> set[str]:
    """Return the rules with violations in a version or a later one."""
    found = validate(table).findings
    return {
        each.rule
        for each in found
        if each.severity == "violation" and (each.version is None or each.version >= version)
    }


def compact_without_vector(spark: Any, table: Path, *, with_statistics: bool = True) -> None:
    """Write rows 0 to 9, delete 8 and 9 with a vector, and compact the file with a remove that omits the vector."""
    create(spark, str(table), "id LONG", enableDeletionVectors=True)
    run(
        spark, str(table), "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id FROM range(10)", "DELETE FROM {t} WHERE id > 7"
    )
    removed = find_action(table, 2, "remove")["path"]
    run(spark, str(table), "REORG TABLE {t} APPLY (PURGE)")
    copied = find_action(table, 3, "add") | {"dataChange": False}
    if not with_statistics:
        copied.pop("stats")
    info = next(each for each in read_commit(table, 3) if "commitInfo" in each)
    remove = {"path": removed, "deletionTimestamp": 1, "dataChange": False}
    write_commit(table, 3, [info, {"remove": remove}, {"add": copied}])


def test_restore_repairs_a_compaction_without_the_vector(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    compact_without_vector(spark, table)
    assert read_ids(spark, table) == sorted(2 * [*range(8)])
    report = validate(table)
    found = {each.rule: each for each in report.findings}
    assert found.keys() == {"FIL037", "COM020"}
    assert (found["COM020"].cause, found["FIL037"].related) == ("FIL037", ["COM020"])
    assert RULES["FIL037"].fix_class == "restore"
    assert "Do not delete the rows by a condition" in RULES["FIL037"].fix
    assert RULES["COM020"].fix_cases[0].fix_class == "restore"
    assert "no rows are lost" not in RULES["COM020"].fix
    run(spark, str(table), "RESTORE TABLE {t} TO VERSION AS OF 2")
    assert read_ids(spark, table) == [*range(8)]
    assert read_ids(spark, table, 2) == [*range(8)]
    # the faulty remove is the second one of the file; RESTORE writes a checkpoint, where Delta Spark keeps the first
    assert find_new_violations(table, 4) == {"CKP034"}
    assert RULES["CKP034"].fix_class == "repair"
    deltaspec.plan_repair(str(table), output=str(tmp_path / "plan"))
    apply_plan(tmp_path / "plan")
    assert find_new_violations(table, 4) == set()
    assert read_ids(spark, table) == [*range(8)]


def test_deletion_by_a_condition_loses_both_copies(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    compact_without_vector(spark, table)
    forget_snapshots(spark)
    run(spark, str(table), "DELETE FROM {t} WHERE id < 2")
    assert read_ids(spark, table) == sorted(2 * [*range(2, 8)])


def test_same_compaction_without_statistics_gets_com022(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    compact_without_vector(spark, table, with_statistics=False)
    report = validate(table)
    assert "COM022" in report.totals
    assert "COM020" not in report.totals
    assert {each.cause for each in report.findings if each.rule == "COM022"} == {"FIL037"}


def test_checkpoint_keyed_by_path_names_the_compaction_as_its_cause(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    compact_without_vector(spark, table)
    hint = write_checkpoint_by_path(spark, table)
    assert hint.exists()
    report = validate(table)
    missing = [each for each in report.findings if each.rule == "CKP030"]
    assert [each.cause for each in missing] == ["FIL037"]
    assert "CKP030" in next(each.related for each in report.findings if each.rule == "FIL037")
    assert "FIL037" in RULES["CKP030"].fix_cases[0].condition
    assert read_ids(spark, table) == [*range(8)], "readers of the checkpoint have the right rows"
    run(spark, str(table), "RESTORE TABLE {t} TO VERSION AS OF 2")
    assert read_ids(spark, table) == [*range(8)]


def write_checkpoint_by_path(spark: Any, table: Path) -> Path:
    """Write a checkpoint of version 3 as a reader that compares paths only would, without the file with a vector."""
    forget_snapshots(spark)
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(table))
    complete = read_commit(table, 3)
    vector = find_action(table, 2, "add")["deletionVector"]
    write_commit(table, 3, [each | with_vector(each, vector) for each in complete])
    log.checkpoint()
    write_commit(table, 3, complete)
    return table / "_delta_log/_last_checkpoint"


def with_vector(action: Action, vector: Action) -> Action:
    return {"remove": action["remove"] | {"deletionVector": vector}} if "remove" in action else {}


def test_table_that_lost_its_mapping_is_copied_not_restored(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(spark, str(table), "id LONG, name STRING", columnMapping__mode="name")
    insert(spark, str(table), "(1, 'a'), (2, 'b')")
    metadata = find_action(table, 0, "metaData") | {"configuration": {}}
    write_commit(table, 2, [{"commitInfo": {"timestamp": 1, "operation": "SET"}}, {"metaData": metadata}])
    assert "CMP032" in validate(table).totals
    assert RULES["CMP032"].fix_class == "restore"
    assert "Copy the last legal version" in RULES["CMP032"].fix
    forget_snapshots(spark)
    with pytest.raises(PySparkException, match="olumn mapping"):
        run(spark, str(table), "RESTORE TABLE {t} TO VERSION AS OF 1")
    copy = tmp_path / "copy"
    spark.sql(f"CREATE TABLE delta.`{copy}` USING delta AS SELECT * FROM delta.`{table}` VERSION AS OF 1").collect()
    assert [tuple(row) for row in spark.sql(f"SELECT * FROM delta.`{copy}` ORDER BY id").collect()] == [
        (1, "a"),
        (2, "b"),
    ]
    assert find_new_violations(copy, 0) == set()


def test_wide_bounds_lose_no_rows(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(spark, str(table), "id LONG")
    run(spark, str(table), "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id FROM range(3)")
    actions = read_commit(table, 1)
    add = next(each["add"] for each in actions if "add" in each)
    stats = json.loads(add["stats"])
    stats.pop("tightBounds", None)
    stats |= {"minValues": {"id": -100}, "maxValues": {"id": 100}}
    add["stats"] = json.dumps(stats)
    write_commit(table, 1, actions)
    assert "STA004" in validate(table).totals
    assert "lets no filter lose rows" in RULES["STA004"].fix
    assert "data skipping would lose rows" not in RULES["STA004"].fix
    forget_snapshots(spark)
    for number in range(3):
        assert spark.sql(f"SELECT * FROM delta.`{table}` WHERE id = {number}").count() == 1
    run(spark, str(table), "INSERT OVERWRITE {t} SELECT * FROM {t}")
    assert "STA004" not in validate(table, history="latest").totals
    assert read_ids(spark, table) == [0, 1, 2]


def write_map_with_equal_ids(spark: Any, table: Path) -> None:
    """Write a row under Iceberg compatibility, and then a commit that gives the key and value of a map one id."""
    create(spark, str(table), "id LONG, m MAP<STRING, LONG>", columnMapping__mode="name", enableIcebergCompatV2=True)
    insert(spark, str(table), "(1, map('a', 1))")
    metadata = find_action(table, 0, "metaData")
    schema = json.loads(metadata["schemaString"])
    ids = get_nested_ids(schema)
    ids |= dict.fromkeys(ids, min(ids.values()))
    metadata["schemaString"] = json.dumps(schema)
    write_commit(table, 2, [{"commitInfo": {"timestamp": 1, "operation": "SET"}}, {"metaData": metadata}])


def get_nested_ids(schema: dict[str, Any]) -> dict[str, int]:
    ids: dict[str, int] = schema["fields"][1]["metadata"]["delta.columnMapping.nested.ids"]
    return ids


def test_restore_ends_duplicate_nested_ids_that_reorg_keeps(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_map_with_equal_ids(spark, table)
    (finding,) = (each for each in validate(table).findings if each.rule == "ICE010")
    assert finding.fix_case is not None
    case = RULES["ICE010"].fix_cases[finding.fix_case]
    assert (case.fix_class, case.condition) == ("restore", "ids occur twice")
    assert finding.evidence["last_legal_version"] == 1
    forget_snapshots(spark)
    run(spark, str(table), "REORG TABLE {t} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=2))")
    kept = get_nested_ids(json.loads(find_action(table, 3, "metaData")["schemaString"]))
    assert len(set(kept.values())) == 1
    run(spark, str(table), "RESTORE TABLE {t} TO VERSION AS OF 1")
    newest = max(int(each.stem) for each in (table / "_delta_log").glob("*.json"))
    assert len(set(get_nested_ids(json.loads(find_action(table, newest, "metaData")["schemaString"])).values())) == 2
    assert find_new_violations(table, newest) == set()
    assert read_ids(spark, table) == [1]


def enable_timestamps_without_the_feature(table: Path) -> None:
    metadata = find_action(table, 0, "metaData")
    metadata["configuration"] |= {"delta.enableInCommitTimestamps": "true"}
    write_commit(table, 2, [{"commitInfo": {"timestamp": 1, "operation": "SET"}}, {"metaData": metadata}])


def test_backup_of_the_log_repairs_timestamps_without_the_feature(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(spark, str(table), "id LONG", enableDeletionVectors=True)
    insert(spark, str(table), "(1)")
    shutil.copytree(table / "_delta_log", tmp_path / "backup")
    enable_timestamps_without_the_feature(table)
    assert validate(table).totals == {"CFG002": 1}
    refusing = RULES["CFG002"].fix_cases[1]
    assert refusing.fix_class == "restore"
    assert refusing.text.startswith("Restore the log from a backup of the last version without the property")
    forget_snapshots(spark)
    for command in (
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.inCommitTimestamp' = 'supported')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.enableInCommitTimestamps')",
        "RESTORE TABLE {t} TO VERSION AS OF 1",
    ):
        with pytest.raises((PySparkException, Py4JError), match="DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH"):
            run(spark, str(table), command)
    shutil.rmtree(table / "_delta_log")
    shutil.copytree(tmp_path / "backup", table / "_delta_log")
    assert read_ids(spark, table) == [1]
    insert(spark, str(table), "(2)")
    assert read_ids(spark, table) == [1, 2]
    assert find_new_violations(table, 0) == set()


def test_unset_repairs_timestamps_without_the_feature_if_the_table_loads(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(spark, str(table), "id LONG")
    insert(spark, str(table), "(1)")
    enable_timestamps_without_the_feature(table)
    assert "after it has committed" in RULES["CFG002"].fix_cases[0].text
    forget_snapshots(spark)
    with pytest.raises((PySparkException, Py4JError), match="DELTA_MISSING_COMMIT_TIMESTAMP"):
        run(spark, str(table), "ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.enableInCommitTimestamps')")
    assert find_action(table, 3, "metaData")["configuration"] == {}
    forget_snapshots(spark)
    run(spark, str(table), "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    assert "inCommitTimestamp" in find_action(table, 4, "protocol")["writerFeatures"]
    assert find_new_violations(table, 3) == set()
    assert read_ids(spark, table) == [1]


@pytest.mark.parametrize(
    "subject",
    [Subject("CFG050", 0, "page_version_unknown"), Subject("ROW041", 0, "generated_value_of_another_row")],
    ids=lambda subject: subject.rule,
)
def test_commands_of_a_fix_repair_the_table(spark: Any, tmp_path: Path, subject: Subject) -> None:
    outcome = prove(spark, subject, tmp_path)
    assert outcome.failure == ""
    assert outcome.gone
