"""Both engines say the same of tables that break a requirement, at every level, in several shares.

Tables that Delta Spark writes are compared where they are written, in `test_spark_tables`.
"""

import os
from pathlib import Path

import pytest
from same_answer import drawn_table
from spark.same_answer import engines_differ
from two_engines import laid_down

from deltaspec.validate import validate_table
from deltaspec_generators.bases import commit_info, featured
from deltaspec_generators.builder import add_action, write_table
from deltaspec_generators.every_mutation import MUTATIONS
from deltaspec_generators.expression_bases import CONSTRAINTS, fields, held_to

pytestmark = pytest.mark.spark

BROKEN = (
    ("path_live_twice", "all", 3),
    ("another_base_row_id_in_the_checkpoint", "latest", 1),
    ("action_of_nobody_in_compaction", "all", 2),
    ("checksum_transactions", "latest", 1000),
    ("live_file_gone", "latest", 2),
    ("vector_entry_elsewhere", "all", 1),
    ("file_is_garbage", "latest", 3),
    ("column_in_another_case", "all", 1),
    ("change_left_out", "all", 2),
    ("first_fresh_id_stored", "latest", 1),
    ("identity_value_before_the_mark", "latest", 3),
    ("value_of_rows_before_their_expression", "all", 1000),
)
"""Mutations, with the history that is judged and how many samples are kept: some of every level."""


@pytest.mark.parametrize(("name", "history", "samples"), BROKEN)
def test_both_engines_say_the_same_of_a_broken_table(name: str, history: str, samples: int, spark: object) -> None:
    files = drawn_table(MUTATIONS[name], 7)
    options = {"level": MUTATIONS[name].level, "history": history, "samples": samples, "clock": files.clock_ms}
    with laid_down(files) as uri:
        assert engines_differ(spark, uri, 2 + len(name) % 4, **options) == []


def test_both_engines_say_the_same_of_conditions_on_files_that_are_not_there(spark: object, tmp_path: Path) -> None:
    files = held_to(CONSTRAINTS, fields(), {"delta.constraints.c": "id > 0", "delta.constraints.d": "uuid() = 'a'"})
    files.commits[2] = [commit_info(2), *(add_action(name) for name in ("gone.parquet", "fifo.parquet"))]
    write_table(files, tmp_path)
    os.mkfifo(tmp_path / "fifo.parquet")
    assert validate_table(str(tmp_path), level="rows").totals == {"DAT001": 2}
    assert engines_differ(spark, str(tmp_path), 2, level="rows") == []


def test_both_engines_refuse_a_table_alike(spark: object) -> None:
    files = featured("v2Checkpoint", configuration={"delta.constraints.c": "reflect('java.lang.Math', 'abs', id) > 0"})
    with laid_down(files) as uri:
        assert validate_table(uri, level="rows", revision="r1").verdict == "refused"
        assert engines_differ(spark, uri, 2, level="rows", revision="r1") == []
