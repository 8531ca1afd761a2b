"""The Spark engine as people call it, and as it reaches a table: by storage, by bytes from Spark, by its driver."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from spark.tables_checkpoints import checkpoint_v2_sidecars

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.report.report_types import Report
from deltaspec.spark import validate
from deltaspec.validation import validate_table
from deltaspec.validation.spark import table_access

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with sidecars, of which a live file is gone and a commit has an action of the wrong form."""
    place = tmp_path_factory.mktemp("engine") / "table"
    checkpoint_v2_sidecars(spark, str(place))
    gone = next(each for each in sorted(place.rglob("*.parquet")) if "_delta_log" not in each.parts)
    gone.unlink()
    newest = max(place.glob("_delta_log/*.json"), key=lambda each: each.name if each.name[:20].isdigit() else "")
    version = int(newest.name[:20]) + 1
    add = {"path": "x.parquet", "partitionValues": {}, "size": -1, "modificationTime": 0, "dataChange": True}
    (place / "_delta_log" / f"{version:020}.json").write_text(json.dumps({"add": add}) + "\n")
    for crc in place.rglob(".*.crc"):
        crc.unlink()
    return str(place)


def same(one: Report, other: Report) -> bool:
    return msgspec.structs.replace(one, engine="") == msgspec.structs.replace(other, engine="")


def test_notebook_has_the_report_of_the_embedded_engine(spark: Any, table: str, tmp_path: Path, capsys: Any) -> None:
    before = dict(spark.sparkContext.getConf().getAll())
    session = {name: spark.conf.get(name, None) for name in ("spark.sql.session.timeZone", BATCH)}
    place = tmp_path / "found"
    found = validate(spark, table, level="files", samples=1, findings_out=str(place))
    expected = validate_table(table, level="files", samples=1)
    assert expected.verdict == "violations"
    assert same(found.report, expected)
    assert found.report.engine == "spark"
    assert json.loads(found.to_json())["counts"] == expected.counts
    every = found.findings.groupBy("rule").count().collect()
    assert {row["rule"]: row["count"] for row in every} == expected.totals
    found.show()
    assert "VIOLATIONS" in capsys.readouterr().out
    assert dict(spark.sparkContext.getConf().getAll()) == before
    assert {name: spark.conf.get(name, None) for name in session} == session


BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.mark.parametrize("way", ["bytes for executors", "hadoop for the driver", "bytes alone"])
def test_report_is_the_same_however_the_table_is_reached(
    spark: Any, table: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_storage(uri: str) -> Any:
        raise TableUnreadable(f"{uri}: no storage of the kit, for a test")

    def no_java(*_: Any) -> Any:
        raise InvalidUsage("no Java at hand, for a test")

    if way == "bytes for executors":
        monkeypatch.setattr(table_access, "_ask_executors", lambda *_: "not from there, for a test")
    else:
        monkeypatch.setattr(table_access, "open_store", no_storage)
    if way == "bytes alone":
        monkeypatch.setattr(table_access, "driver_store", no_java)
    found = validate(spark, table, level="files").report
    expected = validate_table(table, level="files")
    if way != "bytes alone":
        assert same(found, expected)
        return
    of_the_log = {rule: number for rule, number in expected.totals.items() if not rule.startswith("DAT")}
    assert found.totals == of_the_log
    open_ = {each.rule for each in found.checked.not_checked}
    assert "DAT001" in open_


def test_table_of_a_catalog_is_found(spark: Any, table: str) -> None:
    copy = f"{table}-of-a-catalog"
    shutil.copytree(table, copy)
    spark.sql(f"CREATE TABLE default.engine_table USING delta LOCATION '{copy}'")
    try:
        found = validate(spark, "default.engine_table", level="log").report
    finally:
        spark.sql("DROP TABLE default.engine_table")
    assert found.totals == validate_table(copy, level="log").totals
    with pytest.raises(TableUnreadable, match="no_such_table"):
        validate(spark, "default.no_such_table")


def test_absent_table_and_wrong_options_are_told(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(TableUnreadable, match="no such file"):
        validate(spark, str(tmp_path / "absent"))
    with pytest.raises(InvalidUsage, match="no level"):
        validate(spark, str(tmp_path), level="everything")
