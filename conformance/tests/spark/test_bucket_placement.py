"""Each bucket is a task of its own, and the driver collects the results of many tasks in few jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from spark.session import with_settings

from deltaspec.validation.spark import jobs as jobs_module
from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.payloads import Payload

pytestmark = pytest.mark.spark
HOSTILE_SETTINGS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1g",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.execution.sortBeforeRepartition": "false",
}


@contextmanager
def count_jobs(spark: Any, group: str) -> Iterator[list[int]]:
    """Yield a list that has the number of jobs of the block at its end."""
    context, found = spark.sparkContext, list[int]()
    context.setJobGroup(group, "test")
    try:
        yield found
        found.append(len(context.statusTracker().getJobIdsForGroup(group)))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.parametrize("count", [2, 8, 64, 800, 4096])
def test_bucket_is_the_task_of_its_number(spark: Any, count: int) -> None:
    with with_settings(spark, HOSTILE_SETTINGS), closing(Jobs(spark)) as jobs:
        frame = jobs.frame([Payload("row", bucket, b"") for bucket in range(count)], count)
        placed = frame.selectExpr("spark_partition_id() AS task", "bucket").collect()
    assert sorted(tuple(row) for row in placed) == [(bucket, bucket) for bucket in range(count)]


def test_results_of_many_tasks_are_collected_in_few_jobs(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MAX_COLLECTED_PARTITIONS", 10)
    monkeypatch.setattr(jobs_module, "BATCH_OF_RESULTS", 20_000)
    count, content = 40, bytes(1000)
    rows = [Payload("row", bucket, content + bytes([bucket])) for bucket in range(count)]
    hostile, counting = with_settings(spark, HOSTILE_SETTINGS), count_jobs(spark, "few jobs")
    with hostile, closing(Jobs(spark)) as jobs, counting as number:
        found = list(jobs.collect_results(jobs.frame(rows, count), count))
    assert sorted(found) == sorted(rows)
    assert number[0] < 10, "two make the rows and measure them, two shuffle them, and three fetch a batch each"
