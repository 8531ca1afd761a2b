"""Rows that carry our own values through Spark: a tag, a bucket and bytes; the shuffle is by bucket."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

SCHEMA = "tag string, bucket int, payload binary"
_ARROW = pa.schema([("tag", pa.string()), ("bucket", pa.int32()), ("payload", pa.binary())])
FAILED = "failed"
"""Tag of the traceback of a task that ended by a defect."""
FRAME_ROWS = 50_000
"""Rows of a frame that one payload holds."""
_BATCH_BYTES = 16 << 20
"""Payloads that are handed to Spark at once."""


class Payload(NamedTuple):
    """One row."""

    tag: str
    bucket: int
    payload: bytes


def frame_to_payloads(tag: str, bucket: int, frame: pl.DataFrame) -> Iterator[Payload]:
    """A frame of any length as rows."""
    for part in frame.iter_slices(FRAME_ROWS):
        target = io.BytesIO()
        part.write_ipc(target, compression="zstd")
        yield Payload(tag, bucket, target.getvalue())


def payloads_to_frame(payloads: Iterable[bytes]) -> pl.DataFrame:
    """The frame that was made into rows, or several of them one after the other."""
    return pl.concat([pl.read_ipc(io.BytesIO(each)) for each in payloads])


def value_to_payload(tag: str, bucket: int, value: Any) -> Payload:
    """A value of our own as a row."""
    return Payload(tag, bucket, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def payload_to_value(payload: bytes) -> Any:
    """The value; only of what a task of this run has made."""
    return pickle.loads(payload)


def payloads_to_batches(rows: Iterable[Payload]) -> Iterator[pa.RecordBatch]:
    """Rows as Spark takes them, no more bytes at once than a batch may have."""
    held: list[Payload] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.payload)
        if size > _BATCH_BYTES:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(rows: list[Payload]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _ARROW, strict=True)]
    return pa.record_batch(arrays, schema=_ARROW)


def payloads_to_arrow(rows: list[Payload]) -> pa.Table:
    """Rows as one table, for a frame that Spark makes of values of the driver."""
    return pa.Table.batches_to_payloads([_batch(rows)] if rows else [], schema=_ARROW)


def batches_to_payloads(batches: Iterable[pa.RecordBatch]) -> Iterator[Payload]:
    """The rows of what Spark hands over."""
    for batch in batches:
        for tag, bucket, payload in zip(*(batch.column(name).to_pylist() for name in _ARROW.names), strict=True):
            yield Payload(tag, bucket, payload)
