"""Tables that Delta Spark writes conform, except for known deviations, and both engines report the same.

Other tests validate the recorded tables (`spark.recorded`). Writing one takes seconds, and there are over a hundred, so
`.ci/test` writes the tables whose writers differ from the main branch. Another version of Spark needs a new archive,
and a branch with one writes every table.
A run compares both engines on those of `ON_BOTH_ENGINES`, which cover all features and checkpoint kinds.
`nox -s compare_backends` sets `DELTASPEC_COMPARE=all` and compares every table.
"""

import inspect
import os
from pathlib import Path
from typing import Any

import pytest
from helpers.known_deviations import check_against_known_deviations
from helpers.selection import ROOT
from spark.backend_differences import find_backend_differences
from spark.corpus import TABLES
from spark.recorded import ARCHIVE

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
_COMPARED_TABLES = TABLES if os.environ.get("DELTASPEC_COMPARE") == "all" else ON_BOTH_ENGINES


def list_sources(name: str) -> tuple[str, ...]:
    """Return the files that decide what Delta Spark writes, relative to the repository."""
    return tuple(str(Path(each).resolve().relative_to(ROOT)) for each in (inspect.getfile(TABLES[name]), ARCHIVE))


def list_tables() -> list[Any]:
    """Return the corpus as parameters, each marked as slow."""
    return [pytest.param(name, marks=pytest.mark.slow(*list_sources(name))) for name in TABLES]


@pytest.mark.parametrize("name", list_tables())
def test_table_written_by_delta_spark_conforms(name: str, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    TABLES[name](spark, path)
    check_against_known_deviations(f"spark/{name}", path)
    if name in _COMPARED_TABLES:
        assert find_backend_differences(spark, path, 2 + len(name) % 4, level="rows", history="all") == []
