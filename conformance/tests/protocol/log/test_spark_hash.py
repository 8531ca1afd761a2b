"""Hashes equal those of Spark. Source: Multi-part checkpoint."""

import pytest

from deltaspec.protocol.log.spark_hash import SEED, compute_part, compute_spark_hash, hash_text

OF_SPARK = {
    "": 142593372,
    "a": 1485273170,
    "ab": -97053317,
    "abc": 1322437556,
    "abcd": -396302900,
    "abcde": 814637928,
    "é": 2119106806,
    "€uro": -1829438951,
    "\U0001f600x": -1814635023,
    "part-00000-3935a07c.snappy.parquet": -1836407614,
}
"""Results of `SELECT hash(text)` in Spark 4.2."""
PATH, VECTOR = "part-00000-3935a07c.snappy.parquet", "uab^-aqEH.-t@S}K{vb[*k^@4"
OF_PATH_AND_VECTOR = 1959362522
"""`SELECT hash(path, vector)`."""


def signed(state: int) -> int:
    return state - (1 << 32) if state >= 1 << 31 else state


@pytest.mark.parametrize("text", OF_SPARK)
def test_hash_of_a_string_equals_spark(text: str) -> None:
    assert signed(hash_text(text)) == OF_SPARK[text]
    assert compute_spark_hash([text]) == hash_text(text)


def test_hash_of_a_value_seeds_the_next() -> None:
    assert signed(compute_spark_hash([PATH, VECTOR])) == OF_PATH_AND_VECTOR


def test_null_does_not_change_the_hash() -> None:
    assert compute_spark_hash([PATH, None]) == compute_spark_hash([PATH])
    assert compute_spark_hash([None, None]) == SEED


@pytest.mark.parametrize(("text", "parts", "part"), [("abc", 3, 3), ("abcd", 3, 2), ("abcd", 7, 1), ("", 10, 3)])
def test_part_is_the_hash_modulo_the_number_of_parts(text: str, parts: int, part: int) -> None:
    assert compute_part([text], parts) == part
