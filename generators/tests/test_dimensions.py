"""A corpus reaches every dimension, alone and in pairs."""

from functools import cache
from random import Random

from deltaspec_generators.tables.corpus import read_corpus
from deltaspec_generators.tables.dimensions import DIMENSIONS
from deltaspec_generators.tables.readable import ReadableTable

COUNT = 400
"""Tables of seed 1 that reach every dimension."""


@cache
def read_tables() -> list[ReadableTable]:
    return list(read_corpus(1, COUNT))


def test_every_dimension_is_reached() -> None:
    reached = frozenset().union(*(table.dimensions for table in read_tables()))
    assert sorted(DIMENSIONS - reached) == []


def test_random_pairs_of_dimensions_are_reached() -> None:
    """Pairs of dimensions that each occur in a tenth of the tables occur together."""
    tables = [table.dimensions for table in read_tables()]
    frequent = sorted(each for each in DIMENSIONS if sum(each in found for found in tables) >= COUNT // 10)
    random = Random(0)
    pairs = [random.sample(frequent, 2) for _ in range(300)]
    missing = [pair for pair in pairs if not any(set(pair) <= found for found in tables)]
    assert missing == []


def test_tables_differ() -> None:
    """Most tables of a corpus have a schema of their own, and several rows."""
    tables = read_tables()[:100]
    assert len({repr(table.versions[-1].schema) for table in tables}) >= 90
    rows = sorted(len(table.versions[-1].plain_rows) for table in tables)
    assert rows[50] >= 5
    assert sum(not count for count in rows) < 20
