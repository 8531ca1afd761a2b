"""Drawn tables meet the restrictions that they are drawn with."""

from collections.abc import Callable

import pytest

from deltaspec_generators.choices import RecordedChoices, SeededChoices
from deltaspec_generators.table_files import encode_table
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.restrictions import NoSuchTable, Restrictions, draw_restricted_table


def newest_features(table: ReadableTable) -> frozenset[str]:
    return frozenset(table.versions[-1].state.features)


CASES: dict[str, tuple[Restrictions, Callable[[ReadableTable], bool]]] = {
    "required": (
        Restrictions(required=("deletionVectors", "columnMapping")),
        lambda table: newest_features(table) >= {"deletionVectors", "columnMapping"},
    ),
    "allowed": (
        Restrictions(allowed=("deletionVectors", "changeDataFeed")),
        lambda table: not newest_features(table) & {"columnMapping", "rowTracking", "v2Checkpoint", "clustering"},
    ),
    "forbidden": (
        Restrictions(forbidden=("columnMapping",)),
        lambda table: all("columnMapping" not in each.state.features for each in table.versions),
    ),
    "types": (
        Restrictions(types=("string", "integer")),
        lambda table: table.types <= {"string", "integer", "long"},
    ),
    "partitioned": (Restrictions(partitioned=True), lambda table: bool(table.versions[-1].partition_columns)),
    "not partitioned": (Restrictions(partitioned=False), lambda table: not table.versions[-1].partition_columns),
    "checkpoints": (
        Restrictions(checkpoints=("v2-sidecars", "multipart")),
        lambda table: bool({"checkpoint:v2-sidecars", "checkpoint:multipart"} & table.dimensions),
    ),
    "encodings": (Restrictions(encodings=("int96",)), lambda table: "parquet:int96" in table.dimensions),
    "versions": (Restrictions(versions=(3, 4)), lambda table: 3 <= len(table.versions) <= 4),
    "revision": (
        Restrictions(revision="r1"),
        lambda table: not newest_features(table) & {"rowTracking", "v2Checkpoint", "typeWidening", "inCommitTimestamp"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_tables_meet_their_restrictions(name: str) -> None:
    restrictions, holds = CASES[name]
    for number in range(4):
        assert holds(draw_restricted_table(SeededChoices(3, number), restrictions)), f"number {number}"


def test_restrictions_that_nothing_meets_are_an_error() -> None:
    with pytest.raises(NoSuchTable, match=r"the last is not partitioned|the last does not support clustering"):
        draw_restricted_table(
            SeededChoices(1, 0), Restrictions(required=("clustering",), partitioned=True), attempts=20
        )


def test_recorded_choices_give_the_same_table() -> None:
    choices = SeededChoices(3, 1)
    drawn = draw_restricted_table(choices, CASES["partitioned"][0])
    again = draw_restricted_table(RecordedChoices(choices.sequence), CASES["partitioned"][0])
    assert encode_table(again.files) == encode_table(drawn.files)


@pytest.mark.parametrize(
    ("restrictions", "expected"),
    [
        (Restrictions(required=("vectors",)), "unknown feature 'vectors'"),
        (Restrictions(forbidden=("vectors",)), "unknown feature 'vectors'"),
        (Restrictions(types=("int",)), "unknown type 'int'"),
        (Restrictions(checkpoints=("v3",)), "unknown kind of checkpoint 'v3'"),
        (Restrictions(encodings=("rle",)), "unknown encoding 'rle'"),
        (Restrictions(required=("clustering",), forbidden=("clustering",)), "both required and forbidden"),
        (Restrictions(versions=(4, 3)), "at most the maximum"),
        (Restrictions(required=("v2Checkpoint",), revision="r1"), "no table of revision r1"),
    ],
)
def test_meaningless_restrictions_are_described(restrictions: Restrictions, expected: str) -> None:
    assert expected in restrictions.describe_fault()


def test_only_given_restrictions_name_a_restriction() -> None:
    assert Restrictions().given == {}
    assert Restrictions(depth=2, forbidden=("clustering",)).given == {"depth": 2, "forbidden": ("clustering",)}
