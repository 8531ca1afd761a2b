"""Delta Spark and the reference writer on the same history; `nox -s differential` performs a thousand drawn ones."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from differential.histories import build_history

from deltaspec.candidates.adapters.delta_spark import Engine as DeltaSpark
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.differential.performing import compare_history

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow("conformance/deltaspec/differential", "conformance/deltaspec/candidates/reference"),
]


def test_spark_and_the_reference_writer_agree(spark: Any, tmp_path: Path) -> None:
    first, second = InProcess(DeltaSpark(spark.newSession())), InProcess(Engine())
    with ThreadPoolExecutor(1) as pool:  # each thread has an active session of its own
        done = pool.submit(compare_history, first, second, build_history(), tmp_path, validates=False).result()
    type(spark)(spark.sparkContext, spark._jsparkSession)  # a new session takes over `RDD.toDF`; this gives it back
    assert done.differences == []
    assert done.counts["operations compared"] == 5
    assert done.counts["refusals compared"] == 1
    assert done.counts["row ids and row commit versions compared"] == 11
    assert done.counts["changes read by both readers"] == 14
    assert done.counts["rows read by both readers"] == 11  # after operations 0 and 3, and at the end
