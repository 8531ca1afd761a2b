"""The number of buckets on Spark follows the number of files and the size of data that the log states."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deltaspec.report.estimate import Amount
from deltaspec.validation.log.replay_stage import CDC_ROWS, DERIVED_ROWS, INTERVAL_ROWS, REPLAY_ROWS
from deltaspec.validation.options import Options
from deltaspec.validation.spark import bucket_counts
from deltaspec.validation.spark.bucket_counts import BucketCounts, compute_bucket_counts

KIB, MIB, GIB, TIB = (1 << 10 * power for power in (1, 2, 3, 4))


def compute(
    monkeypatch: pytest.MonkeyPatch, level: str, parallelism: int, log: int, files: int | None, data: int | None
) -> BucketCounts:
    """Compute the numbers for a log of some bytes that states a number of files and their size."""
    reads = SimpleNamespace(live_files=Amount(files), live_bytes=Amount(data))
    monkeypatch.setattr(bucket_counts, "estimate", lambda store, plan: reads)
    plan: Any = SimpleNamespace(entries={"log": SimpleNamespace(size_bytes=log)})
    store: Any = None
    return compute_bucket_counts(store, plan, Options.create(level=level), parallelism)


@pytest.mark.parametrize(
    ("level", "parallelism", "log", "files", "data", "expected"),
    [
        ("log", 2, KIB, None, None, BucketCounts(2)),
        ("log", 2, 119 * MIB, None, None, BucketCounts(4)),
        ("files", 2, 40 * MIB, 300_000, GIB, BucketCounts(4)),
        ("footers", 2, 40 * MIB, 300_000, GIB, BucketCounts(4, 8)),
        ("rows", 2, 3 * MIB, 20_000, 20 * MIB, BucketCounts(2, 11)),
        ("rows", 2, MIB, 200, GIB, BucketCounts(2, 4)),
        ("rows", 2, MIB, 200, 100 * GIB, BucketCounts(2, 26)),
        ("rows", 800, 200 * MIB, 1_000_000, 100 * TIB, BucketCounts(800, 65)),
        ("rows", 800, 150 * GIB, 1_000_000_000, 100 * TIB, BucketCounts(4096, 16)),
        ("rows", 2, MIB, None, None, BucketCounts(2)),
        # false numbers
        ("rows", 2, 16 * KIB, 1 << 62, 1 << 62, BucketCounts(2, 1024)),
        ("rows", 2, KIB, 0, 1 << 62, BucketCounts(2)),
    ],
)
def test_buckets_follow_files_and_data(
    monkeypatch: pytest.MonkeyPatch,
    level: str,
    parallelism: int,
    log: int,
    files: int | None,
    data: int | None,
    expected: BucketCounts,
) -> None:
    assert compute(monkeypatch, level, parallelism, log, files, data) == expected


def test_rows_that_only_replay_reads_have_few_buckets() -> None:
    counts = BucketCounts(8, splits=4)
    assert [counts.get_count(tag) for tag in (REPLAY_ROWS, f"{DERIVED_ROWS}x.crc")] == [8, 8]
    assert [counts.get_count(tag) for tag in (INTERVAL_ROWS, CDC_ROWS)] == [32, 32]


def test_key_has_both_numbers() -> None:
    counts = BucketCounts(8, splits=4)
    assert BucketCounts.from_key(counts.to_key()) == counts
    with pytest.raises((ValueError, TypeError)):
        BucketCounts.from_key(7)
