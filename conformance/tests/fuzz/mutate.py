"""Seeded mutations of the bytes of a table: what storage, writers and strangers may make of its files.

A mutation is drawn from a seed and a number alone, so that either replays it.
"""

import io
import random
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

TableBytes = dict[str, bytes]
"""The files of a table: bytes by path relative to it."""

_EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0)
_VARINTS = (b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\x0f", b"\x80" * 12, b"\xff" * 20)

UNREAD = "a.parquet"
"""A file that the tables have removed, which nobody opens."""


@dataclass(frozen=True)
class Mutation:
    """One broken table."""

    name: str
    path: str
    """The file that is changed; of two that change places, one."""
    files: TableBytes
    """The files that differ from the sound table."""


def build_mutation(table: TableBytes, seed: int, number: int) -> Mutation:
    """A mutation of a table whose data files end in `.parquet` and whose deletion-vector files end in `.bin`."""
    chance = random.Random(f"{seed}-{number}")
    paths = [path for path in sorted(table) if path.endswith((".parquet", ".bin")) and path != UNREAD]
    path = chance.choice(paths)
    if len(paths) > 1 and chance.random() < 0.03:
        other = chance.choice([each for each in paths if each != path])
        return Mutation("swapped files", path, {path: table[other], other: table[path]})
    name, broken = _broken(path, table, chance)
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        name, broken = _broken(path, {**table, path: broken}, chance)
    if path.endswith(".bin") and chance.random() < 0.5:
        broken = _with_checksums(table[path], broken)
    changed = {path: broken}
    if chance.random() < 0.7:
        changed |= _with_true_size(table, path, broken)
    return Mutation(name, path, changed)


def _broken(path: str, table: TableBytes, chance: random.Random) -> tuple[str, bytes]:
    data = table[path]
    if not data:
        return "bytes from nowhere", chance.randbytes(chance.randrange(1, 64))
    broken = bytearray(data)
    at = _place(path, data, chance)
    match chance.randrange(9):
        case 0:
            broken[at] ^= 1 << chance.randrange(8)
            return "flipped bit", bytes(broken)
        case 1:
            for _ in range(chance.randrange(2, 9)):
                broken[_place(path, data, chance)] = chance.randrange(256)
            return "other bytes", bytes(broken)
        case 2:
            del broken[at : at + chance.randrange(1, 64)]
            return "cut out", bytes(broken)
        case 3:
            return "cut off", data[:at]
        case 4:
            other = table[chance.choice(sorted(table))] or b"\0"
            start, length = chance.randrange(len(other)), chance.randrange(1, 256)
            piece = other[start : start + length]
            end = at if chance.random() < 0.3 else at + len(piece)
            return "spliced", data[:at] + piece + data[end:]
        case 5:
            width = chance.choice((2, 4, 4, 8))
            lie = chance.choice((*_EXTREMES, len(data), len(data) + 1, chance.getrandbits(32))) % (1 << 8 * width)
            order = "little" if chance.random() < 0.7 else "big"
            return "lying length", data[:at] + lie.to_bytes(width, order) + data[at + width :]
        case 6:
            length = min(chance.choice((1, 4, 8, 64, 1024)), len(data) - at)
            return "zeroed", data[:at] + bytes(length) + data[at + length :]
        case 7:
            varint = chance.choice(_VARINTS)
            end = at if chance.random() < 0.5 else at + len(varint)
            return "huge varint", data[:at] + varint + data[end:]
        case _:
            length = min(chance.choice((1, 4, 5, 8)), len(data) - at)
            return "overwritten", data[:at] + chance.choice((b"\xff", b"\x7f", b"\x80")) * length + data[at + length :]


def _place(path: str, data: bytes, chance: random.Random) -> int:
    """Half of the faults go where the form is densest: a Parquet file's footer, the begin of a vector's file."""
    if chance.random() < 0.5:
        if path.endswith(".bin"):
            return chance.randrange(min(32, len(data)))
        footer = int.from_bytes(data[-8:-4], "little") + 8
        return len(data) - 1 - chance.randrange(min(footer, len(data)))
    return chance.randrange(len(data))


def _with_checksums(before: bytes, broken: bytes) -> bytes:
    """A deletion-vector file whose entries have true checksums again, where their sizes still lead to them."""
    mended, at = bytearray(broken), 1
    while at + 8 <= len(before):
        end = at + 4 + int.from_bytes(before[at : at + 4], "big")
        if end + 4 <= len(mended):
            mended[end : end + 4] = zlib.crc32(mended[at + 4 : end]).to_bytes(4, "big")
        at = end + 4
    return bytes(mended)


def _with_true_size(table: TableBytes, path: str, broken: bytes) -> TableBytes:
    """The commits with the new length of a data file, so that its length alone gives nothing away."""
    name = re.escape(path.rpartition("/")[2]).encode()
    line = re.compile(rb'^.*"path":"[^"]*' + name + rb'".*$', re.MULTILINE)
    size = re.compile(rb'"size":%d\b' % len(table[path]))
    changed = {}
    for commit, text in table.items():
        if commit.endswith(".json"):
            mended = line.sub(lambda found: size.sub(b'"size":%d' % len(broken), found[0]), text)
            if mended != text:
                changed[commit] = mended
    return changed


def pack(table: TableBytes) -> bytes:
    """A table as a zip archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(table):
            archive.writestr(path, table[path])
    return sink.getvalue()


def unpack(file: Path) -> TableBytes:
    """The files of a zip archive."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
