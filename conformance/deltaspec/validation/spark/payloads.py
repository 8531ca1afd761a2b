"""Rows that carry values of the kit through Spark: a tag, a bucket and bytes. Spark shuffles them by bucket."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from deltaspec.validation.stored_rows import ZSTANDARD, LeftOut, leave_out_columns, read_rows, write_rows

SCHEMA = "tag string, bucket int, payload binary"
_ARROW = pa.schema([("tag", pa.string()), ("bucket", pa.int32()), ("payload", pa.binary())])
FAILED = "failed"
"""Tag of a row with the traceback of a task that failed because of a defect in the kit."""
FRAME_ROWS = 50_000
"""Maximum number of frame rows per payload."""
BATCH_BYTES = 16 << 20
"""Bytes of payloads after which a batch is handed to Spark."""


class Payload(NamedTuple):
    """One Spark row with columns as in `SCHEMA`."""

    tag: str
    bucket: int
    payload: bytes


def rows_to_payloads(tag: str, bucket: int, stored: pl.DataFrame, left_out: LeftOut) -> Iterator[Payload]:
    """Split the result of `leave_out_columns`, or some of its rows, into payloads of at most `FRAME_ROWS` rows each."""
    for part in stored.iter_slices(FRAME_ROWS):
        target = io.BytesIO()
        write_rows(target, part, ZSTANDARD)
        yield value_to_payload(tag, bucket, (left_out, target.getvalue()))


def frame_to_payloads(tag: str, bucket: int, frame: pl.DataFrame) -> Iterator[Payload]:
    """Split a frame into payloads of at most `FRAME_ROWS` rows each."""
    return rows_to_payloads(tag, bucket, *leave_out_columns(frame))


def payloads_to_frame(payloads: Iterable[bytes]) -> pl.DataFrame:
    """Combine the rows in some payloads, at least one."""
    return read_rows(map(payload_to_value, payloads))


def value_to_payload(tag: str, bucket: int, value: Any) -> Payload:
    """Pickle a value into one payload."""
    return Payload(tag, bucket, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def payload_to_value(payload: bytes) -> Any:
    """Unpickle a value. Pass only payloads that a task of this run created."""
    return pickle.loads(payload)


def payloads_to_batches(rows: Iterable[Payload]) -> Iterator[pa.RecordBatch]:
    """Group payloads into Arrow batches for Spark; a batch ends once it exceeds `BATCH_BYTES`."""
    pending: list[Payload] = []
    size = 0
    for row in rows:
        pending.append(row)
        size += len(row.payload)
        if size > BATCH_BYTES:
            yield _batch(pending)
            pending, size = [], 0
    if pending:
        yield _batch(pending)


def _batch(rows: list[Payload]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _ARROW, strict=True)]
    return pa.record_batch(arrays, schema=_ARROW)


def payloads_to_arrow(rows: list[Payload]) -> pa.Table:
    """Build one Arrow table, from which Spark creates a DataFrame on the driver."""
    return pa.Table.from_batches([_batch(rows)] if rows else [], schema=_ARROW)


def batches_to_payloads(batches: Iterable[pa.RecordBatch]) -> Iterator[Payload]:
    """Yield the payloads in Arrow batches from Spark."""

    for batch in batches:
        for tag, bucket, payload in zip(*(batch.column(name).to_pylist() for name in _ARROW.names), strict=True):
            yield Payload(tag, bucket, payload)
