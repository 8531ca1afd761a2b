"""Tables that Delta Spark writes conform, or deviate exactly as known."""

from pathlib import Path
from typing import Any

import pytest
from deviations import compare
from spark.corpus import TABLES

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", TABLES)
def test_table_written_by_delta_spark_conforms(name: str, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    TABLES[name](spark, path)
    compare(f"spark/{name}", path)
