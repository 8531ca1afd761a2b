"""A run on Spark is killed and resumed with its state: the report equals that of an uninterrupted run.

`DELTASPEC_KILLS` sets how often; `nox -s resume` kills twenty runs.
"""

import json
import os
import random
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.backends import validate_on_spark
from helpers.killed_runs import count_jvm_calls, start_run_server
from helpers.resume_table import OPTIONS, build_full_table

from deltaspec.errors import InvalidUsage
from deltaspec.validation.log.replay_stage import INTERVAL_ROWS
from deltaspec.validation.spark.saved_jobs import SavedJobs
from deltaspec_generators.table_files import write_table

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("DELTASPEC_KILLS", "1"))
SEED = int(os.environ.get("DELTASPEC_SEED", "7"))
BUCKETS = 3


def _replace_one_payload(state: Path) -> None:
    """Replace rows of a job by other rows of the job, so that their number stays the same. Forget all later jobs."""
    for path in sorted(state.glob("run-*/*/rows-*/*.parquet")):
        table = pq.read_table(path)
        payloads = table["payload"].to_pylist()
        numbers = [number for number, tag in enumerate(table["tag"].to_pylist()) if tag == INTERVAL_ROWS]
        if len(numbers) > 1:
            payloads[numbers[0]] = payloads[numbers[1]]
            pq.write_table(table.set_column(2, "payload", pa.array(payloads, pa.binary())), path)
            path.with_name(f".{path.name}.crc").unlink()  # of Hadoop
            job = path.parent.parent
            for later in job.parent.iterdir():
                if later.name > job.name:
                    shutil.rmtree(later)
            return
    raise AssertionError("no file has several payloads of intervals")


@pytest.mark.slow("conformance/deltaspec/validation/spark", "conformance/deltaspec/validation/resume")
def test_resumed_report_equals_that_of_an_uninterrupted_run(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, options = tmp_path / "table", {**OPTIONS, "bucket_count": BUCKETS}
    write_table(build_full_table(), table)
    expected = msgspec.json.encode(validate_on_spark(spark, str(table), **options))
    assert {each["level"] for each in json.loads(expected)["findings"]} == {"log", "files", "footers", "rows"}
    with count_jvm_calls() as calls:
        saved = validate_on_spark(spark, str(table), **options, state=str(tmp_path / "whole"))
    assert msgspec.json.encode(saved) == expected
    drawn, skipped = random.Random(SEED), 0
    ranges = [calls.number * each // KILLS for each in range(KILLS + 1)]
    with start_run_server() as server:
        for first, end in pairwise(ranges):
            state, point, seconds = tmp_path / f"state {first}", drawn.randrange(first, end) + 1, drawn.random() / 2
            killed = {**options, "state": str(state), "on_spark": True, "seconds": seconds}
            steps = server.validate(table, tmp_path / "none", point, **killed)
            assert steps is None or steps < point + 100, f"{point=}"  # the run may finish before the kill
            done = len(list(state.glob("run-*/*/done/*.parquet")))
            resumed = validate_on_spark(spark, str(table), **options, state=str(state), resume=True)
            assert msgspec.json.encode(resumed) == expected, f"killed {seconds:.1f} s after call {point}"
            skipped += done
    assert skipped

    def get_error(state: Path, **others: Any) -> str:
        with pytest.raises(InvalidUsage) as raised:
            validate_on_spark(spark, str(table), **{**options, "state": str(state), "resume": True, **others})
        return str(raised.value).removeprefix(f"{state}: ")

    state = tmp_path / "whole"
    assert get_error(state, resume=False).startswith("contains a state; add --resume")
    assert "the level is rows in the state and log now" in get_error(state, level="log")
    assert "the revision is current in the state and r3 now" in get_error(state, revision="r3")
    (table / "_delta_log" / f"{6:020}.json").write_text("{}\n", "utf-8")
    assert "the log has changed since" in get_error(state)
    (table / "_delta_log" / f"{6:020}.json").unlink()
    monkeypatch.setattr("deltaspec.validation.resume.resume_key.__version__", "0.0.1")
    assert "the release of deltaspec" in get_error(state)
    monkeypatch.undo()
    assert get_error(table / "state").startswith("is in a table")
    assert get_error(tmp_path / "a[b]").startswith("Spark reads this as a pattern")
    damaged = "its state is damaged; name another directory"
    for part in state.glob("run-*/report/rows-*/*.parquet"):
        part.unlink()
    assert get_error(state) == damaged
    _replace_one_payload(state)
    assert get_error(state) == damaged
    shutil.rmtree(state)
    monkeypatch.setattr(SavedJobs, "read_payloads", lambda *_: [])  # as if each executor wrote to its own disk
    assert get_error(state).startswith("executors do not share this directory")
