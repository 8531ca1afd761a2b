"""Both backends report the same on faulty tables, at every level and with several buckets.

`test_spark_tables` compares the backends on tables written by Delta Spark.
"""

import os
from pathlib import Path

import pytest
from helpers.backends import table_in_temporary_directory
from helpers.compare_backends import draw_table
from spark.backend_differences import find_backend_differences

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import add_action, commit_info_action, write_table
from planted_tables.bases.expressions import CONSTRAINTS_PROTOCOL, build_constrained_table, build_fields
from planted_tables.bases.log_only import build_table, build_table_with_features
from planted_tables.faults.all_faults import PLANTED_FAULTS

pytestmark = pytest.mark.spark

BROKEN = (
    ("path_live_twice", "all", 3),
    ("another_base_row_id_in_the_checkpoint", "latest", 1),
    ("action_of_nobody_in_compaction", "all", 2),
    ("checksum_transactions", "latest", 1000),
    ("data_file_missing", "latest", 2),
    ("vector_entry_elsewhere", "all", 1),
    ("file_is_garbage", "latest", 3),
    ("column_in_another_case", "all", 1),
    ("change_left_out", "all", 2),
    ("first_fresh_id_stored", "latest", 1),
    ("identity_value_before_the_mark", "latest", 3),
    ("value_of_rows_before_their_expression", "all", 1000),
    ("compaction_of_the_future", "all", 2),
)
"""Planted faults with the history to validate and the number of samples; some for every level."""


@pytest.mark.slow("conformance/deltaspec/validation/spark")
@pytest.mark.parametrize(("name", "history", "samples"), BROKEN)
def test_backends_agree_on_a_faulty_table(name: str, history: str, samples: int, spark: object) -> None:
    files = draw_table(PLANTED_FAULTS[name], 7)
    options = {"level": PLANTED_FAULTS[name].level, "history": history, "samples": samples, "clock": files.clock_ms}
    with table_in_temporary_directory(files) as uri:
        assert find_backend_differences(spark, uri, 2 + len(name) % 4, **options) == []


@pytest.mark.parametrize("history", ["latest", "2", "all"])
def test_backends_agree_on_the_edges_of_a_log(history: str, spark: object, tmp_path: Path) -> None:
    """Two commits before a gap, two between the gap and the base, and another checkpoint of its version."""
    files = build_table()
    for version in range(3, 8):
        files.commits[version] = [commit_info_action(version), add_action(f"{version}.parquet", rows=1)]
    table = [row for row in files.commits[0] if "commitInfo" not in row]
    adds = [row for version in range(1, 7) for row in files.commits[version] if "add" in row]
    files.checkpoints += [
        CheckpointFiles(6, rows=[*table, *adds]),
        CheckpointFiles(6, "multipart", rows=[*table, *adds]),
    ]
    files.checkpoints[1].parts = 2
    files.commits[1].append(add_action("b.parquet", rows=1))
    files.commits[6].append(add_action("of_the_commit.parquet", rows=1))
    files.compactions[5, 7] = files.commits[5][1:]
    files.checksums[5] = {"tableSizeBytes": 1}
    del files.commits[3]
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history=history)
    assert {"CKP030", "LOG010"} <= report.totals.keys()
    assert history != "all" or {"CRC001", "COP001"} <= report.totals.keys()
    assert find_backend_differences(spark, str(tmp_path), 3, level="log", history=history) == []


def test_backends_agree_on_constraints_of_missing_files(spark: object, tmp_path: Path) -> None:
    files = build_constrained_table(
        CONSTRAINTS_PROTOCOL, build_fields(), {"delta.constraints.c": "id > 0", "delta.constraints.d": "uuid() = 'a'"}
    )
    files.commits[2] = [commit_info_action(2), *(add_action(name) for name in ("gone.parquet", "fifo.parquet"))]
    write_table(files, tmp_path)
    os.mkfifo(tmp_path / "fifo.parquet")
    assert deltaspec.validate(str(tmp_path), level="rows").totals == {"DAT001": 2}
    assert find_backend_differences(spark, str(tmp_path), 2, level="rows") == []


def test_backends_refuse_the_same_table(spark: object) -> None:
    files = build_table_with_features(
        "v2Checkpoint", configuration={"delta.constraints.c": "reflect('java.lang.Math', 'abs', id) > 0"}
    )
    with table_in_temporary_directory(files) as uri:
        assert deltaspec.validate(uri, level="rows", revision="r1").verdict == "refused"
        assert find_backend_differences(spark, uri, 2, level="rows", revision="r1") == []
