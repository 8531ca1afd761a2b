"""Slices of a Parquet file of actions together have its rows, once each."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.wire.log import row_slices
from deltaspec.wire.log.checkpoint_summary import CheckpointFileSummary
from deltaspec.wire.log.parquet_actions import (
    UnreadableParquet,
    iter_file_action_tables,
    open_parquet,
    read_non_file_actions,
)
from deltaspec.wire.log.row_slices import RowSlice, select_batches

ADD = pa.struct([("path", pa.string()), ("size", pa.int64()), ("stats", pa.string())])
ROWS = 50


def encode(group_rows: int) -> pq.ParquetFile:
    adds = [{"path": f"{n}", "size": n, "stats": '{"numRecords":1}' if n % 2 else None} for n in range(ROWS)]
    sink = io.BytesIO()
    pq.write_table(pa.table({"add": pa.array(adds, ADD)}), sink, row_group_size=group_rows)
    return open_parquet(pa.BufferReader(sink.getvalue()))


def read(parquet: pq.ParquetFile, part: RowSlice, summary: CheckpointFileSummary) -> list[dict[str, Any]]:
    tables = iter_file_action_tables(parquet, read_non_file_actions(parquet), summary, part=part)
    return [row for table, _ in tables for row in table.to_pylist()]


@pytest.mark.parametrize("count", [2, 3, 7, 60])
@pytest.mark.parametrize("group_rows", [1, 9, 1000])
def test_slices_have_every_row_once(monkeypatch: pytest.MonkeyPatch, group_rows: int, count: int) -> None:
    parquet, complete = encode(group_rows), CheckpointFileSummary("checkpoint", "file")
    expected = read(parquet, RowSlice(), complete)
    monkeypatch.setattr(row_slices, "BATCH_ROWS", 4)
    combined, rows = CheckpointFileSummary("checkpoint", "file"), []
    for index in range(count):
        summary = CheckpointFileSummary("checkpoint", "file")
        rows += read(parquet, RowSlice(index, count), summary)
        combined.add_counts(summary)
    assert [row["line"] for row in rows] == list(range(1, ROWS + 1))
    assert (rows, combined) == (expected, complete)
    assert combined.adds_with_json == ROWS // 2


def test_slices_have_as_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_slices, "BATCH_ROWS", 10)
    found = [
        sum(len(each.batches) for each in select_batches([100, 0, 35, 1000], RowSlice(index, 8))) for index in range(8)
    ]
    assert sum(found) == 10 + 4 + 100
    assert max(found) - min(found) <= 1


def test_row_groups_without_the_rows_that_the_footer_states_are_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = encode(9)
    monkeypatch.setattr(row_slices, "count_rows_by_group", lambda _: [9] * 5 + [6])
    monkeypatch.setattr("deltaspec.wire.log.parquet_actions.count_rows_by_group", lambda _: [9] * 5 + [6])
    assert len(read(parquet, RowSlice(0, 2), CheckpointFileSummary("checkpoint", "file"))) == 27
    with pytest.raises(UnreadableParquet, match="expected 6 rows in batch 0 of row group 5"):
        read(parquet, RowSlice(1, 2), CheckpointFileSummary("checkpoint", "file"))
