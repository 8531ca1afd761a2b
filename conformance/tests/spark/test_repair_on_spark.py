"""Plans whose validations run on Spark equal the plans of one process, and are applied on Spark."""

from pathlib import Path
from typing import Any

import pytest
from lake.bases import BASES
from lake.table import LakeTable, truncate
from msgspec.structs import replace

import deltaspec
from deltaspec.repair.plan_format import RepairPlan
from deltaspec.spark import apply_repair, plan_repair
from deltaspec.validation.spark import table_access

pytestmark = [pytest.mark.spark, pytest.mark.slow("conformance/deltaspec/repair")]


def write_damaged_table(path: Path) -> LakeTable:
    """Write a table of delta-rs whose checkpoint is damaged, and whose last live file is gone."""
    table = LakeTable(path)
    BASES["delta_rs/orders_checkpointed"](table.path)
    truncate(table.find_in_log("*.checkpoint.parquet"))
    table.live_files()[-1].unlink()
    return table


def drop_what_differs(plan: RepairPlan) -> RepairPlan:
    """Return a plan without its times and random ids, and what depends on them."""
    return replace(plan, created_ms=0, commit=None, writes=[])


@pytest.mark.parametrize("way", ["executors read the table", "Spark reads the log"])
def test_plan_equals_the_plan_of_one_process(
    spark: Any, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_damaged_table(tmp_path / "t")
    expected = deltaspec.plan_repair(str(table.path))
    assert {each.kind for each in expected.repairs} >= {"remove-file", "set-aside-derived-file"}
    before = {path: path.read_bytes() for path in table.path.rglob("*") if path.is_file()}
    if way == "Spark reads the log":
        monkeypatch.setattr(table_access, "probe_executors", lambda *_: "disabled by the test")
    plan = plan_repair(spark, str(table.path), output=str(tmp_path / "plan"))
    assert drop_what_differs(plan) == drop_what_differs(expected)
    assert before == {path: path.read_bytes() for path in table.path.rglob("*") if path.is_file()}
    applied = apply_repair(spark, tmp_path / "plan")
    assert (applied.report.engine, applied.summary.verdict) == ("spark", "conforms")
    assert deltaspec.validate(str(table.path), level="rows").verdict == "conforms"
    undone = apply_repair(spark, tmp_path / "plan", undo=True)
    assert {each.rule for each in undone.report.findings if each.severity == "violation"} == {"CKP001"}
