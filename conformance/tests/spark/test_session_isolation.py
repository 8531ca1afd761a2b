"""A run leaves nothing behind in the session, the executors or their environment, whatever runs next to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers.faulty_s3 import KEY_ID, SECRET, TOKEN, FaultyS3, environment, run_faulty_s3
from spark.session import create, insert, with_settings

import deltaspec
from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.spark import validate

pytestmark = pytest.mark.spark

ZONE = "spark.sql.session.timeZone"
_SECRETS = (KEY_ID, SECRET, TOKEN)


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose constraint only Spark evaluates."""
    path = tmp_path_factory.mktemp("isolation") / "table"
    create(spark, str(path), "id INT, name STRING", constraints__long="length(name) > 1")
    insert(spark, str(path), "(1, 'one'), (2, 'two')")
    for crc in path.rglob(".*.crc"):
        crc.unlink()
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with run_faulty_s3() as s3:
        yield s3


def collect_settings(spark: Any) -> dict[str, str]:
    return {row["key"]: row["value"] for row in spark.sql("SET").collect()}


def test_concurrent_runs_do_not_change_the_session(spark: Any, table: Path) -> None:
    values: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.005):
            values.add(spark.conf.get(ZONE))

    with with_settings(spark, {ZONE: "America/New_York"}):
        before = collect_settings(spark)
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            with ThreadPoolExecutor(2) as pool:
                reports = list(pool.map(lambda level: validate(spark, str(table), level=level).report, ("rows",) * 2))
        finally:
            over.set()
            watcher.join()
        assert [report.verdict for report in reports] == ["conforms", "conforms"]
        assert values == {"America/New_York"}
        assert collect_settings(spark) == before
        assert type(spark).getActiveSession().conf.get(ZONE) == "America/New_York"
        frame = spark.sparkContext.parallelize([(1,)], 1).toDF(["id"])
        assert frame.sparkSession.conf.get(ZONE) == "America/New_York"


def test_storage_options_do_not_reach_the_environment_of_workers(spark: Any, table: Path, server: FaultyS3) -> None:
    uri = server.upload(table, "table")
    report = validate(spark, uri, level="rows", storage_options=environment(server)).report
    assert (report.verdict, report.checked.not_checked) == ("conforms", [])
    assert deltaspec.validate(uri, level="footers", storage_options=environment(server)).verdict == "conforms"

    def print_environment(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"text": [str(dict(os.environ))]})

    frame = spark.range(0, 64, 1, 8).mapInArrow(print_environment, "text string")
    texts = [row["text"] for row in frame.collect()]
    assert len(texts) >= 8
    texts.append(str(dict(os.environ)))
    assert [secret for secret in _SECRETS if any(secret in text for text in texts)] == []


def test_later_run_does_not_use_the_options_of_an_earlier_one(
    spark: Any, table: Path, server: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = server.upload(table, "table")
    assert validate(spark, uri, level="log", storage_options=environment(server)).verdict == "conforms"
    for name in ("AWS_EC2_METADATA_DISABLED", "AWS_SKIP_SIGNATURE"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("DELTASPEC_STORE_RETRIES", "0")
    monkeypatch.setenv("DELTASPEC_STORE_TIMEOUT_SECONDS", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    with pytest.raises(DeltaspecError) as fault:
        validate(spark, uri, level="log")
    assert [secret for secret in _SECRETS if secret in str(fault.value)] == []


def test_unknown_storage_options_are_refused(table: Path) -> None:
    with pytest.raises(InvalidUsage, match="unknown storage option 'region'"):
        deltaspec.validate(str(table), storage_options={"region": "us-east-1"})
    with pytest.raises(InvalidUsage, match="unknown storage option for s3: AWS_REGON") as fault:
        deltaspec.validate("s3://lake/t", storage_options={"AWS_REGON": "us-east-1", "AWS_SECRET_ACCESS_KEY": SECRET})
    assert SECRET not in str(fault.value)
