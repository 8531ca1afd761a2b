"""Estimate how long a run would take, from a short measurement of the storage and of this machine.

A few requests for files of the log measure the storage, and decoding lines of a made-up commit measures the machine.
The work per file and per byte is stated in bytes of such lines, so that the same constants fit a faster or busier
machine. They come from tables with 4,000 small files and with 150 MB of rows; expect errors up to a factor of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from msgspec.structs import replace

from deltaspec.report.estimate import Estimate, Reads, Speed
from deltaspec.validation.plan import Plan
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS
from deltaspec.wire.storage.rate_limit import get_rate_limit

_SMALL_READS = 3
_LARGE_READ_BYTES = 8 << 20
_MIN_LARGE_BYTES = 1 << 20
"""Smallest file whose read time shows the transfer rate."""
_SAMPLE_LINES = 2000
_CONCURRENT_READS = {"commits": MAX_CONCURRENT_READS, "footers": MAX_CONCURRENT_READS, "rows": 8}
"""Concurrent requests to a remote storage by kind of read; other kinds are read one after another."""
_BYTES_OF_A_FILE = {"footers": 12_000, "rows": 150_000}
"""Work for each file, in bytes of JSON that could be decoded instead."""
_BYTES_OF_A_PAGE = 340_000
"""Work for each page of a listing, as above."""
_BYTES_OF_A_BYTE = {"checkpoints": 16.0, "sidecars": 16.0, "footers": 0.0, "rows": 2.5}
"""Work for each byte, as above; 4 for JSON, which is also replayed and checked."""
_JSON_BYTES_OF_A_BYTE = 4.0


def add_time(estimate: Estimate, store: Store, plan: Plan, clock: Callable[[], float] = time.perf_counter) -> Estimate:
    """Return an estimate with the likely time of each kind of read.

    Args:
        estimate: files, requests and bytes.
        store: the table; at most four requests for files of its log are made.
        plan: of the run.
        clock: returns seconds.
    """
    speed = _measure_speed(store, plan, clock)
    levels = [
        replace(level, reads=[replace(each, seconds=_compute_seconds(each, speed)) for each in level.reads])
        for level in estimate.levels
    ]
    return replace(estimate, levels=levels, speed=speed)


def _measure_speed(store: Store, plan: Plan, clock: Callable[[], float]) -> Speed:
    sizes = sorted((entry.size_bytes, name) for name, entry in plan.entries.items() if entry.size_bytes)
    limit = get_rate_limit(store.settings)
    waits = [_measure_read(store, name, 1, clock) for _, name in sizes[:_SMALL_READS]]
    known = [each for each in waits if each is not None]
    latency = median(known) if known else None
    per_second = None
    if sizes and sizes[-1][0] >= _MIN_LARGE_BYTES:
        length = min(sizes[-1][0], _LARGE_READ_BYTES)
        seconds = _measure_read(store, sizes[-1][1], length, clock)
        if seconds is not None:
            per_second = length / max(seconds - (latency or 0.0), 1e-6)
    return Speed(
        is_remote=store.is_remote,
        seconds_per_request=latency,
        bytes_per_second=per_second,
        decoded_bytes_per_second=_measure_decoding(clock),
        max_requests_per_second=None if limit is None else limit.per_second,
    )


def _measure_read(store: Store, name: str, length: int, clock: Callable[[], float]) -> float | None:
    """Return the seconds of one request; None if it fails."""
    started = clock()
    try:
        store.read_range(f"{LOG_DIRECTORY}/{name}", 0, length)
    except StorageError:
        return None
    return max(clock() - started, 0.0)


def _measure_decoding(clock: Callable[[], float]) -> float:
    stats = r"{\"numRecords\":1000,\"minValues\":{\"id\":1},\"maxValues\":{\"id\":9},\"nullCount\":{\"id\":0}}"
    line = (
        '{"add":{"path":"day=2026-11-21/part-%08d.c000.snappy.parquet","partitionValues":{"day":"2026-11-21"},'
        '"size":123456,"modificationTime":1700000000000,"dataChange":true,"stats":"' + stats + '"}}'
    )
    data = "\n".join(line % number for number in range(_SAMPLE_LINES)).encode()
    started = clock()
    decode_lines(data)
    return len(data) / max(clock() - started, 1e-6)


def _compute_seconds(reads: Reads, speed: Speed) -> float | None:
    """Return the likely time of one kind of read; None if it is not known."""
    requests, length, files = reads.requests.about, reads.bytes.about, reads.files.about
    if requests == 0:
        return 0.0
    if requests is None or length is None or files is None or speed.seconds_per_request is None:
        return None
    concurrent = _CONCURRENT_READS.get(reads.what, 1) if speed.is_remote else 1
    waiting = requests * speed.seconds_per_request / concurrent
    if speed.bytes_per_second is not None:
        waiting += length / (speed.bytes_per_second * concurrent)
    if speed.max_requests_per_second is not None and speed.is_remote:
        waiting = max(waiting, requests / speed.max_requests_per_second)
    work: float = files * _BYTES_OF_A_FILE.get(reads.what, 0)
    work += length * _BYTES_OF_A_BYTE.get(reads.what, _JSON_BYTES_OF_A_BYTE)
    if reads.what.endswith("listing"):
        work += requests * _BYTES_OF_A_PAGE
    return waiting + work / speed.decoded_bytes_per_second
