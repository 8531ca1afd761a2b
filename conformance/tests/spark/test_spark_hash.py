"""The hash that assigns files to checkpoint parts equals Spark's hash."""

import random
from itertools import pairwise
from typing import Any

import pytest

from deltaspec.protocol.log.spark_hash import compute_spark_hash

pytestmark = pytest.mark.spark
ALPHABET = "abcXYZ0189-_=/.%+ é€\U0001f600\x7f"


def draw_strings(number: int) -> list[str]:
    source = random.Random(42)
    return ["".join(source.choices(ALPHABET, k=source.randint(0, 60))) for _ in range(number)]


def test_hash_equals_that_of_spark(spark: Any) -> None:
    strings = draw_strings(400)
    rows = [(path, None if number % 3 == 0 else vector) for number, (path, vector) in enumerate(pairwise(strings))]
    frame = spark.createDataFrame(rows, "path string, vector string")
    expected = [row[0] for row in frame.selectExpr("hash(path, vector)").collect()]
    assert expected == [(compute_spark_hash(row) + (1 << 31)) % (1 << 32) - (1 << 31) for row in rows]
