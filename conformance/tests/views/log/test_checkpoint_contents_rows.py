"""Rows of `checkpoint_contents`: checkpoint properties, counts, and comparison with replay."""

from typing import Any

import polars as pl
import pytest
from helpers.recording_run import RecordingRun

from deltaspec_generators.checkpoint_writer import Row
from deltaspec_generators.table_files import TableFiles, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.checkpoints import add_statistics_columns, edit_checkpoint_adds, remove_json_statistics

STRUCT, JSON = "delta.checkpoint.writeStatsAsStruct", "delta.checkpoint.writeStatsAsJson"


def contents(files: TableFiles) -> list[dict[str, Any]]:
    """Return the rows of `checkpoint_contents`."""
    return pl.concat(RecordingRun(files).recorded.frames["checkpoint_contents"]).to_dicts()


def build_checkpointed_table(protocol: Row, configuration: dict[str, str], **more: Any) -> TableFiles:
    return log_only.build_checkpointed_table(protocol=protocol, configuration=configuration, **more)


@pytest.mark.parametrize(
    ("configuration", "write_stats_as_json", "write_stats_as_struct"),
    [
        ({}, True, None),
        ({JSON: "false", STRUCT: "true"}, False, True),
        ({JSON: "TRUE", STRUCT: "False"}, True, False),
        ({JSON: "maybe", STRUCT: "maybe"}, None, None),
    ],
)
def test_checkpoint_properties_are_reported(
    configuration: dict[str, str], write_stats_as_json: bool | None, write_stats_as_struct: bool | None
) -> None:
    (row,) = contents(build_checkpointed_table(protocol_action(1, 3), configuration))
    assert (row["write_stats_as_json"], row["write_stats_as_struct"]) == (write_stats_as_json, write_stats_as_struct)


@pytest.mark.parametrize("protocol", [protocol_action(1, 1), protocol_action(1, 2)])
def test_properties_are_null_below_writer_version_3(protocol: Row) -> None:
    (row,) = contents(build_checkpointed_table(protocol, {JSON: "false", STRUCT: "true"}))
    assert (row["write_stats_as_json"], row["write_stats_as_struct"]) == (None, None)


def test_properties_apply_with_table_features() -> None:
    (row,) = contents(build_checkpointed_table(protocol_action(1, 7, None, []), {JSON: "false"}))
    assert row["write_stats_as_json"] is False


def test_replayed_statistics_count_adds_without_checkpoint_statistics() -> None:
    files = build_checkpointed_table(protocol_action(1, 3), {})
    edit_checkpoint_adds(files, remove_json_statistics, slice(1))
    (row,) = contents(files)
    assert (row["adds"], row["adds_with_json"], row["replayed_adds_with_stats"]) == (2, 1, 2)


def test_base_checkpoint_is_not_compared_with_replay() -> None:
    files = build_checkpointed_table(protocol_action(1, 3), {STRUCT: "true"})
    edit_checkpoint_adds(files, add_statistics_columns)
    del files.commits[0], files.commits[1]
    (row,) = contents(files)
    assert (row["replayed_adds_with_stats"], row["min_reader_version"], row["write_stats_as_struct"]) == (
        None,
        None,
        True,
    )


def test_every_sidecar_has_a_row() -> None:
    rows = contents(log_only.build_v2_checkpointed_table("uuid-json"))
    assert [(row["is_parquet"], row["adds"]) for row in rows] == [(False, 0), (True, 2)]
    assert [row["has_reader_features"] for row in rows] == [True, None]


def test_partition_columns_are_those_of_the_metadata() -> None:
    plain = build_checkpointed_table(protocol_action(1, 3), {})
    values = {"partition_columns": ["name"], "partition": {"name": "x"}}
    partitioned = build_checkpointed_table(protocol_action(1, 3), {}, **values)
    assert [contents(files)[0]["is_partitioned"] for files in (plain, partitioned)] == [False, True]
