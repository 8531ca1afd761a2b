"""Portable 64-bit Roaring bitmaps: buckets of 32-bit bitmaps, each made of containers of 16-bit values.

Source: Deletion Vector Format; the public Roaring format specification. All numbers are little endian.
"""

from collections.abc import Iterable
from itertools import pairwise

_NO_RUN_COOKIE = 12346
_RUN_COOKIE = 12347
_NO_OFFSET_THRESHOLD = 4
_ARRAY_LIMIT = 4096


class RoaringError(ValueError):
    """Bytes that are not one portable 64-bit Roaring bitmap."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def read(self, count: int) -> bytes:
        piece = self.data[self.position : self.position + count]
        if len(piece) < count:
            raise RoaringError(f"ends at byte {len(self.data)}, {count} more expected at {self.position}")
        self.position += count
        return piece

    def number(self, count: int) -> int:
        return int.from_bytes(self.read(count), "little")


def decode(data: bytes, *, max_rows: int) -> list[int]:
    """Decode a bitmap to ascending values.

    Args:
        data: The bitmap without trailing bytes.
        max_rows: Upper limit of the number of values, checked before they are expanded.

    Raises:
        RoaringError: The data is truncated, has trailing bytes, keys or values out of order, a value of 2^63 or more,
            or too many values.
    """
    reader = _Reader(data)
    buckets = reader.number(8)
    rows: list[int] = []
    previous = -1
    for _ in range(buckets):
        key = reader.number(4)
        if key <= previous:
            raise RoaringError(f"bucket {key} follows bucket {previous}")
        if key >= 2**31:
            raise RoaringError(f"bucket {key} has values of 2^63 or more")
        previous = key
        _bitmap_32(reader, key << 32, rows, max_rows)
    if reader.position != len(data):
        raise RoaringError(f"{len(data) - reader.position} bytes follow the bitmap")
    return rows


def _bitmap_32(reader: _Reader, base: int, rows: list[int], max_rows: int) -> None:
    start = reader.position
    cookie = reader.number(4)
    if cookie & 0xFFFF == _RUN_COOKIE:
        containers = (cookie >> 16) + 1
        flags = reader.read((containers + 7) // 8)
        is_run = [bool(flags[index // 8] >> index % 8 & 1) for index in range(containers)]
    elif cookie == _NO_RUN_COOKIE:
        containers = reader.number(4)
        if containers > 1 << 16:
            raise RoaringError(f"{containers} containers in one bucket")
        is_run = [False] * containers
    else:
        raise RoaringError(f"cookie {cookie} is invalid")
    heads = [(reader.number(2), reader.number(2) + 1) for _ in range(containers)]
    if any(after[0] <= before[0] for before, after in pairwise(heads)):
        raise RoaringError("containers are not in ascending order")
    offsets: list[int] | None = None
    if cookie == _NO_RUN_COOKIE or containers >= _NO_OFFSET_THRESHOLD:
        offsets = [reader.number(4) for _ in range(containers)]
    for index, (high, cardinality) in enumerate(heads):
        if offsets is not None and offsets[index] != reader.position - start:
            raise RoaringError(f"container {index} is not at its offset {offsets[index]}")
        if len(rows) + cardinality > max_rows:
            raise RoaringError(f"has more than {max_rows} values")
        lows = _run(reader) if is_run[index] else _plain(reader, cardinality)
        if len(lows) != cardinality:
            raise RoaringError(f"container {index} states {cardinality} values but has {len(lows)}")
        rows += [base | high << 16 | low for low in lows]


def _plain(reader: _Reader, cardinality: int) -> list[int]:
    if cardinality <= _ARRAY_LIMIT:
        lows = [reader.number(2) for _ in range(cardinality)]
        if any(after <= before for before, after in pairwise(lows)):
            raise RoaringError("values are not in ascending order")
        return lows
    return [8 * at + bit for at, byte in enumerate(reader.read(8192)) for bit in range(8) if byte >> bit & 1]


def _run(reader: _Reader) -> list[int]:
    lows: list[int] = []
    for _ in range(reader.number(2)):
        first, more = reader.number(2), reader.number(2)
        if first + more > 0xFFFF or (lows and first <= lows[-1]):
            raise RoaringError("runs overlap, are out of order or leave their container")
        lows += range(first, first + more + 1)
    return lows


def encode(rows: Iterable[int], *, runs: bool = False) -> bytes:
    """Encode values in array and bitset containers, or only in run containers.

    Raises:
        RoaringError: A value is below 0, or 2^63 or more.
    """
    values = sorted(set(rows))
    if values and (values[0] < 0 or values[-1] >= 2**63):
        raise RoaringError("values must be between 0 and 2^63 - 1")
    buckets: dict[int, dict[int, list[int]]] = {}
    for value in values:
        buckets.setdefault(value >> 32, {}).setdefault(value >> 16 & 0xFFFF, []).append(value & 0xFFFF)
    data = len(buckets).to_bytes(8, "little")
    for key, containers in buckets.items():
        data += key.to_bytes(4, "little") + _encode_32(containers, runs)
    return data


def _encode_32(containers: dict[int, list[int]], runs: bool) -> bytes:
    count = len(containers)
    if runs:
        head = (_RUN_COOKIE | (count - 1) << 16).to_bytes(4, "little") + ((1 << count) - 1).to_bytes(
            (count + 7) // 8, "little"
        )
    else:
        head = _NO_RUN_COOKIE.to_bytes(4, "little") + count.to_bytes(4, "little")
    for high, lows in containers.items():
        head += high.to_bytes(2, "little") + (len(lows) - 1).to_bytes(2, "little")
    bodies = [_encode_container(lows, runs) for lows in containers.values()]
    if not runs or count >= _NO_OFFSET_THRESHOLD:
        at = len(head) + 4 * count
        for body in bodies:
            head += at.to_bytes(4, "little")
            at += len(body)
    return head + b"".join(bodies)


def _encode_container(lows: list[int], runs: bool) -> bytes:
    if runs:
        intervals: list[list[int]] = []
        for low in lows:
            if intervals and low == intervals[-1][1] + 1:
                intervals[-1][1] = low
            else:
                intervals.append([low, low])
        body = len(intervals).to_bytes(2, "little")
        for first, last in intervals:
            body += first.to_bytes(2, "little") + (last - first).to_bytes(2, "little")
        return body
    if len(lows) <= _ARRAY_LIMIT:
        return b"".join(low.to_bytes(2, "little") for low in lows)
    bits = bytearray(8192)
    for low in lows:
        bits[low // 8] |= 1 << low % 8
    return bytes(bits)
