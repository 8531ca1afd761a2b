"""Tables that Delta Spark writes conform, except for known deviations, and both engines report the same.

Comparing the engines takes seconds per table, and there are over a hundred tables. A normal run compares
`ON_BOTH_ENGINES`, which cover all features and checkpoint kinds of the corpus. `nox -s same_answer` sets
`DELTASPEC_SAME_ANSWER=all` and compares every table.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from helpers.known_deviations import check_against_known_deviations
from spark.corpus import TABLES
from spark.engine_differences import find_engine_differences

pytestmark = pytest.mark.spark

ON_BOTH_ENGINES = (
    "every_feature",
    "rewritten_with_everything",
    "checkpoint_v2_sidecars",
    "checkpoint_multipart",
    "partitioned_by_every_type",
    "change_data_feed_with_vectors",
    "constraints_and_their_features",
    "iceberg_compat_changed",
    "iceberg_compat_v2",
    "iceberg_compat_v3",
    "catalog_managed",
    "preview_features",
    "feature_flags",
)
_COMPARED_TABLES = TABLES if os.environ.get("DELTASPEC_SAME_ANSWER") == "all" else ON_BOTH_ENGINES


@pytest.mark.parametrize("name", TABLES)
def test_table_written_by_delta_spark_conforms(name: str, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    TABLES[name](spark, path)
    check_against_known_deviations(f"spark/{name}", path)
    if name in _COMPARED_TABLES:
        assert find_engine_differences(spark, path, 2 + len(name) % 4, level="rows", history="all") == []
