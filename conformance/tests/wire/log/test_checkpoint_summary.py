"""Checkpoint rows are summarized for any choice of columns by the writer."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.wire.log.checkpoint_summary import (
    CheckpointFileSummary,
    start_parquet_summary,
    summarize_json_checkpoint,
)
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.log.parquet_actions import iter_file_action_tables, open_parquet, read_non_file_actions

TAGS = pa.map_(pa.string(), pa.string())


def summarize(columns: dict[str, tuple[pa.DataType, list[Any]]]) -> CheckpointFileSummary:
    """Return the summary of a Parquet checkpoint with these columns."""
    sink = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(rows, kind) for name, (kind, rows) in columns.items()}), sink)
    source = pa.BufferReader(sink.getvalue())
    parquet = open_parquet(source)
    found = start_parquet_summary("checkpoint", "x.parquet", source)
    assert (
        sum(batch.num_rows for batch, _ in iter_file_action_tables(parquet, read_non_file_actions(parquet), found)) > 0
    )
    return found


def build_add_type(**types: pa.DataType) -> pa.StructType:
    return pa.struct([("path", pa.string()), *types.items()])


def counts(found: CheckpointFileSummary) -> tuple[int, ...]:
    return (
        *(found.adds, found.adds_with_json, found.adds_with_columns),
        *(found.adds_with_json_only, found.adds_with_columns_only),
    )


def test_statistics_are_counted_by_form_and_row() -> None:
    kind = build_add_type(stats=pa.string(), stats_parsed=pa.struct([("numRecords", pa.int64())]))
    both, as_json, as_columns, neither, says_nothing = (
        {"path": "a", "stats": '{"numRecords":1}', "stats_parsed": {"numRecords": 1}},
        {"path": "b", "stats": '{"numRecords":1}', "stats_parsed": None},
        {"path": "c", "stats": None, "stats_parsed": {"numRecords": None}},
        {"path": "d", "stats": None, "stats_parsed": None},
        {"path": "e", "stats": "{}", "stats_parsed": None},
    )
    rows = [None, both, as_json, None, as_columns, neither, says_nothing]
    assert counts(summarize({"add": (kind, rows)})) == (5, 2, 2, 1, 1)


def test_missing_columns_count_nothing() -> None:
    found = summarize({"add": (build_add_type(size=pa.int64()), [{"path": "a", "size": 1}])})
    assert counts(found) == (1, 0, 0, 0, 0)
    assert found.adds_with_parsed_partition_values == 0


@pytest.mark.parametrize(
    "inner",
    [
        pa.struct([("numRecords", pa.int64()), ("minValues", pa.struct([("s", pa.string())]))]),
        pa.struct([("minValues", pa.struct([("list", pa.list_(pa.int64()))]))]),
        pa.struct([("maxValues", pa.struct([("a.b", pa.string())]))]),
    ],
)
def test_statistics_without_values_count_where_their_struct_is_set(inner: pa.StructType) -> None:
    rows = [{"path": "a", "stats_parsed": {}}, {"path": "b", "stats_parsed": None}]
    assert summarize({"add": (build_add_type(stats_parsed=inner), rows)}).adds_with_columns == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_statistics_of_any_string_type_are_counted(kind: pa.DataType) -> None:
    rows = [{"path": "a", "stats": '{"numRecords":1}'}, {"path": "b", "stats": None}]
    assert summarize({"add": (build_add_type(stats=kind), rows)}).adds_with_json == 1


def test_parsed_partition_values_are_counted() -> None:
    kind = build_add_type(partitionValues_parsed=pa.struct([("day", pa.date32())]))
    rows = [{"path": "a", "partitionValues_parsed": {"day": None}}, {"path": "b", "partitionValues_parsed": None}]
    assert summarize({"add": (kind, rows)}).adds_with_parsed_partition_values == 1


def test_columns_of_unexpected_types_are_counted() -> None:
    rows = [{"path": "a", "stats_parsed": "x", "partitionValues_parsed": 1}]
    kind = build_add_type(stats_parsed=pa.string(), partitionValues_parsed=pa.int64())
    assert summarize({"add": (kind, rows)}).adds == 1


def test_fields_of_tombstones_are_counted() -> None:
    kind = build_add_type(stats=pa.string(), tags=TAGS)
    rows = [
        {"path": "a", "stats": '{"numRecords":1}', "tags": None},
        {"path": "b", "stats": None, "tags": [("k", "v")]},
        {"path": "c", "stats": None, "tags": []},
        None,
    ]
    adds = [None, None, None, {"path": "d", "stats": '{"numRecords":1}', "tags": [("k", "v")]}]
    found = summarize({"remove": (kind, rows), "add": (kind, adds)})
    assert (found.removes_with_statistics, found.removes_with_tags, found.adds_with_json) == (1, 1, 1)


def test_schema_of_the_file_is_kept() -> None:
    found = summarize({"add": (build_add_type(size=pa.int64()), [{"path": "a", "size": 1}])})
    assert found.schema is not None
    assert [child.name for child in found.schema.children[0].children] == ["path", "size"]


def test_json_checkpoint_has_no_columns() -> None:
    log = decode_lines(
        b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,'
        b'"stats":"{\\"numRecords\\":1}"}}\n'
        b'{"remove":{"path":"b","dataChange":true,"tags":{"k":"v"}}}\n'
        b'{"remove":{"path":"c","dataChange":true,"tags":{},"stats":"{\\"numRecords\\":1}"}}\n'
    )
    found = summarize_json_checkpoint("x.json", log)
    assert counts(found) == (1, 1, 0, 1, 0)
    assert (found.is_parquet, found.schema) == (False, None)
    assert (found.removes_with_statistics, found.removes_with_tags) == (1, 1)
