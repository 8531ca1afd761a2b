"""Delta Spark reads the rows that a plan declares, after the plan was applied."""

from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run
from repair_plans.applied import apply_by_hand
from repair_plans.cases import CASES, RepairCase, Rows, format_rows

pytestmark = [pytest.mark.spark, pytest.mark.slow("conformance/deltaspec/repair")]


def read_rows(spark: Any, table: Path) -> Rows:
    """Read all rows with Delta Spark."""
    return format_rows([row.asDict(recursive=True) for row in spark.read.format("delta").load(str(table)).collect()])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{'-'.join(case.choose)}")
def test_spark_reads_the_declared_rows(spark: Any, case: RepairCase, tmp_path: Path) -> None:
    sound = case.build(tmp_path / "sound")
    expected = case.rows(sound, read_rows(spark, sound.path))
    table = case.build(tmp_path / "table")
    case.damage(table)
    chosen = [word for each in case.choose for word in ("--choose", each)]
    result = run("repair", table.path, "--output", tmp_path / "plan", *chosen)
    assert result.exit_code == 0, result.stdout
    apply_by_hand(table.path, tmp_path / "plan")
    assert read_rows(spark, table.path) == expected
