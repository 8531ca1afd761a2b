"""A corpus reaches every dimension, alone and in pairs."""

from functools import cache
from itertools import combinations

import pytest

from deltaspec_generators.tables.corpus import read_corpus
from deltaspec_generators.tables.dimensions import DIMENSIONS
from deltaspec_generators.tables.readable import ReadableTable

COUNT = 400
"""Tables of seed 1 that reach every dimension."""


@cache
def read_tables() -> list[ReadableTable]:
    return list(read_corpus(1, COUNT))


@pytest.mark.slow("generators/deltaspec_generators")
def test_every_dimension_is_reached() -> None:
    reached = frozenset().union(*(table.dimensions for table in read_tables()))
    assert sorted(DIMENSIONS - reached) == []


NEED_STATISTICS = (
    "feature:deletionVectors",
    "feature:rowTracking",
    "parquet:row-ids",
    "rows:id-kept",
    "rows:version-kept",
)
"""Files with deletion vectors or row ids must state their number of records."""
EXCLUSIVE = [
    ("checkpoint:multipart", "feature:v2Checkpoint"),
    *combinations(("hint:absent", "hint:present", "hint:stale"), 2),
    *((each, "statistics:absent") for each in NEED_STATISTICS),
]


def test_pairs_of_frequent_dimensions_are_reached() -> None:
    """All pairs of dimensions that each occur in an eighth of the tables occur together."""
    tables = [table.dimensions for table in read_tables()]
    frequent = sorted(each for each in DIMENSIONS if sum(each in found for found in tables) >= COUNT // 8)
    assert len(frequent) > 70
    missing = [pair for pair in combinations(frequent, 2) if not any(found.issuperset(pair) for found in tables)]
    assert set(missing) <= set(EXCLUSIVE)


def test_tables_differ() -> None:
    """Most tables of a corpus have a schema of their own, and several rows."""
    tables = read_tables()[:100]
    assert len({repr(table.versions[-1].schema) for table in tables}) >= 90
    rows = sorted(len(table.versions[-1].plain_rows) for table in tables)
    assert rows[50] >= 5
    assert sum(not count for count in rows) < 20
