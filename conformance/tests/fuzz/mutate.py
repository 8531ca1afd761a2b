"""Seeded mutations of a table's bytes, as faulty storage, faulty writers or attackers may produce.

A seed and a number determine a mutation completely.
"""

import io
import random
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

TableBytes = dict[str, bytes]
"""Contents of a table's files by relative path."""

_EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0)
_VARINTS = (b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\x0f", b"\x80" * 12, b"\xff" * 20)

REMOVED_FILE = "a.parquet"
"""A removed file of all tables, which validation does not open."""


@dataclass(frozen=True)
class Mutation:
    """A mutation of one table."""

    name: str
    path: str
    """The changed file, or one of two swapped files."""
    files: TableBytes
    """All files that differ from the sound table."""


def build_mutation(table: TableBytes, seed: int, number: int) -> Mutation:
    """Mutate a table whose data files end in `.parquet` and whose deletion vector files end in `.bin`."""
    chance = random.Random(f"{seed}-{number}")
    paths = [path for path in sorted(table) if path.endswith((".parquet", ".bin")) and path != REMOVED_FILE]
    path = chance.choice(paths)
    if len(paths) > 1 and chance.random() < 0.03:
        other = chance.choice([each for each in paths if each != path])
        return Mutation("swapped files", path, {path: table[other], other: table[path]})
    name, broken = _break_file(path, table, chance)
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        name, broken = _break_file(path, {**table, path: broken}, chance)
    if path.endswith(".bin") and chance.random() < 0.5:
        broken = _repair_checksums(table[path], broken)
    changed = {path: broken}
    if chance.random() < 0.7:
        changed |= _update_size(table, path, broken)
    return Mutation(name, path, changed)


def _break_file(path: str, table: TableBytes, chance: random.Random) -> tuple[str, bytes]:
    data = table[path]
    if not data:
        return "bytes from nowhere", chance.randbytes(chance.randrange(1, 64))
    broken = bytearray(data)
    at = _choose_position(path, data, chance)
    match chance.randrange(9):
        case 0:
            broken[at] ^= 1 << chance.randrange(8)
            return "flipped bit", bytes(broken)
        case 1:
            for _ in range(chance.randrange(2, 9)):
                broken[_choose_position(path, data, chance)] = chance.randrange(256)
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
            wrong_length = chance.choice((*_EXTREMES, len(data), len(data) + 1, chance.getrandbits(32))) % (
                1 << 8 * width
            )
            order = "little" if chance.random() < 0.7 else "big"
            return "wrong length", data[:at] + wrong_length.to_bytes(width, order) + data[at + width :]
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


def _choose_position(path: str, data: bytes, chance: random.Random) -> int:
    """Choose a position; in half of the cases in the Parquet footer or at the start of a deletion vector file."""
    if chance.random() < 0.5:
        if path.endswith(".bin"):
            return chance.randrange(min(32, len(data)))
        footer = int.from_bytes(data[-8:-4], "little") + 8
        return len(data) - 1 - chance.randrange(min(footer, len(data)))
    return chance.randrange(len(data))


def _repair_checksums(before: bytes, broken: bytes) -> bytes:
    """Recompute the checksums of a mutated deletion vector file at the positions of the sound file's entries."""
    repaired, at = bytearray(broken), 1
    while at + 8 <= len(before):
        end = at + 4 + int.from_bytes(before[at : at + 4], "big")
        if end + 4 <= len(repaired):
            repaired[end : end + 4] = zlib.crc32(repaired[at + 4 : end]).to_bytes(4, "big")
        at = end + 4
    return bytes(repaired)


def _update_size(table: TableBytes, path: str, broken: bytes) -> TableBytes:
    """Return commits with the new size of a mutated file, so that the size does not reveal the mutation."""
    name = re.escape(path.rpartition("/")[2]).encode()
    line = re.compile(rb'^.*"path":"[^"]*' + name + rb'".*$', re.MULTILINE)
    size = re.compile(rb'"size":%d\b' % len(table[path]))
    changed = {}
    for commit, text in table.items():
        if commit.endswith(".json"):
            updated = line.sub(lambda found: size.sub(b'"size":%d' % len(broken), found[0]), text)
            if updated != text:
                changed[commit] = updated
    return changed


def pack(table: TableBytes) -> bytes:
    """Pack a table into a zip archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(table):
            archive.writestr(path, table[path])
    return sink.getvalue()


def unpack(file: Path) -> TableBytes:
    """Read the files of a zip archive."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
