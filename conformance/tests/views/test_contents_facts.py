"""What files of checkpoints hold, as rows: what the properties ask for, and what replay knows."""

from typing import Any

import polars as pl
import pytest
from views.observed import ObservedRun

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles, protocol_action
from deltaspec_generators.checkpoint_files import Row
from deltaspec_generators.mutations_checkpoint_contents import change_adds, with_columns, without_json

STRUCT, JSON = "delta.checkpoint.writeStatsAsStruct", "delta.checkpoint.writeStatsAsJson"


def contents(files: TableFiles) -> list[dict[str, Any]]:
    """Rows of `checkpoint_contents`."""
    return pl.concat(ObservedRun(files).seen.frames["checkpoint_contents"]).to_dicts()


def checkpointed(protocol: Row, configuration: dict[str, str], **more: Any) -> TableFiles:
    return bases.checkpointed(protocol=protocol, configuration=configuration, **more)


@pytest.mark.parametrize(
    ("configuration", "wants_json", "wants_columns"),
    [
        ({}, True, None),
        ({JSON: "false", STRUCT: "true"}, False, True),
        ({JSON: "TRUE", STRUCT: "False"}, True, False),
        ({JSON: "maybe", STRUCT: "maybe"}, None, None),
    ],
)
def test_properties_say_what_is_wanted(
    configuration: dict[str, str], wants_json: bool | None, wants_columns: bool | None
) -> None:
    (row,) = contents(checkpointed(protocol_action(1, 3), configuration))
    assert (row["wants_json"], row["wants_columns"]) == (wants_json, wants_columns)


@pytest.mark.parametrize("protocol", [protocol_action(1, 1), protocol_action(1, 2)])
def test_nothing_is_wanted_of_writers_that_do_not_know_the_properties(protocol: Row) -> None:
    (row,) = contents(checkpointed(protocol, {JSON: "false", STRUCT: "true"}))
    assert (row["wants_json"], row["wants_columns"]) == (None, None)


def test_table_features_enforce_the_properties_too() -> None:
    (row,) = contents(checkpointed(protocol_action(1, 7, None, []), {JSON: "false"}))
    assert row["wants_json"] is False


def test_replay_knows_statistics_that_a_checkpoint_lacks() -> None:
    files = checkpointed(protocol_action(1, 3), {})
    change_adds(files, without_json, slice(1))
    (row,) = contents(files)
    assert (row["adds"], row["adds_with_json"], row["adds_with_statistics"]) == (2, 1, 2)


def test_checkpoint_that_a_history_begins_with_is_compared_with_nothing() -> None:
    files = checkpointed(protocol_action(1, 3), {STRUCT: "true"})
    change_adds(files, with_columns)
    del files.commits[0], files.commits[1]
    (row,) = contents(files)
    assert (row["adds_with_statistics"], row["min_reader_version"], row["wants_columns"]) == (None, None, True)


def test_every_sidecar_has_a_row() -> None:
    rows = contents(bases.checkpointed_v2("uuid-json"))
    assert [(row["is_parquet"], row["adds"]) for row in rows] == [(False, 0), (True, 2)]
    assert [row["has_reader_features"] for row in rows] == [True, None]


def test_partition_columns_are_those_of_the_metadata() -> None:
    plain = checkpointed(protocol_action(1, 3), {})
    values = {"partition_columns": ["name"], "partition": {"name": "x"}}
    partitioned = checkpointed(protocol_action(1, 3), {}, **values)
    assert [contents(files)[0]["is_partitioned"] for files in (plain, partitioned)] == [False, True]
