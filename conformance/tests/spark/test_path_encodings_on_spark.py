"""What Delta Spark returns for a file that is live under two encodings of its path, as FIL035 says."""

from pathlib import Path
from typing import Any

import pytest
from helpers.path_encodings import add_file_under_another_encoding

pytestmark = [pytest.mark.spark, pytest.mark.slow("conformance/deltaspec/rules/file_actions")]


@pytest.mark.parametrize(("kind", "rows"), [("add", 8), ("remove", 4)])
def test_rows_of_two_encodings_are_returned_twice(spark: Any, tmp_path: Path, kind: str, rows: int) -> None:
    add_file_under_another_encoding(tmp_path / "t", kind)
    assert len(spark.read.format("delta").load(str(tmp_path / "t")).collect()) == rows
