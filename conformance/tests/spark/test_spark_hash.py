"""The hash that deals files to the parts of a checkpoint is the one that Spark gives."""

import random
from itertools import pairwise
from typing import Any

import pytest

from deltaspec.model.log.spark_hash import compute_spark_hash

pytestmark = pytest.mark.spark
ALPHABET = "abcXYZ0189-_=/.%+ é€\U0001f600\x7f"


def drawn_texts(number: int) -> list[str]:
    source = random.Random(42)
    return ["".join(source.choices(ALPHABET, k=source.randint(0, 60))) for _ in range(number)]


def test_hash_is_that_of_spark(spark: Any) -> None:
    texts = drawn_texts(400)
    rows = [(path, None if number % 3 == 0 else vector) for number, (path, vector) in enumerate(pairwise(texts))]
    frame = spark.createDataFrame(rows, "path string, vector string")
    given = [row[0] for row in frame.selectExpr("hash(path, vector)").collect()]
    assert given == [(compute_spark_hash(row) + (1 << 31)) % (1 << 32) - (1 << 31) for row in rows]
