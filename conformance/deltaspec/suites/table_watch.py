"""Notice that a candidate changes a table that it is only asked to read."""

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias
from zlib import crc32

import msgspec

SAMPLED_FILES, SAMPLED_BYTES = 16, 32 * 1024
"""Files, and bytes at each end of them, that are compared, too: not every file system has precise times."""
_SHOWN = 3


class FileState(msgspec.Struct, frozen=True):
    """A file or directory at one moment."""

    mode: int
    size: int = 0
    modified_ns: int = 0
    changed_ns: int = 0
    """Time of the last change of content or attributes, which programs cannot set."""
    checksum: int | None = None
    """Checksum of a sample of the content; None if it is not sampled."""


Listing: TypeAlias = dict[str, FileState]
"""Files and directories by path relative to the directory of the table, after its name."""


def list_files(directories: Sequence[Path]) -> Listing:
    """List everything in these directories; a directory that does not exist is empty."""
    found = dict(chain.from_iterable(_walk(each, each.name) for each in directories))
    files = [(name, path) for name, (path, state) in found.items() if stat.S_ISREG(state.mode)]
    files.sort(key=lambda each: crc32(each[0].encode(errors="surrogateescape")))  # the same sample each time
    sums = {name: _sum_sample(path) for name, path in files[:SAMPLED_FILES]}
    return {name: msgspec.structs.replace(state, checksum=sums.get(name)) for name, (_, state) in sorted(found.items())}


def _walk(directory: Path, name: str) -> Iterator[tuple[str, tuple[Path, FileState]]]:
    """Yield a directory and its content. Directories have no size and no times: their content says what changed."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    yield name, (directory, FileState(stat.S_IFDIR))
    for entry in entries:
        path, inner = Path(entry.path), f"{name}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, inner)
        else:
            info = entry.stat(follow_symlinks=False)
            yield inner, (path, FileState(info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns))


def _sum_sample(path: Path) -> int | None:
    try:
        with path.open("rb") as file:
            first = file.read(SAMPLED_BYTES)
            file.seek(-min(SAMPLED_BYTES, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return crc32(file.read(SAMPLED_BYTES), crc32(first))
    except OSError:  # unreadable, which its attributes show
        return None


def _differ(before: FileState, after: FileState) -> bool:
    if None in (before.checksum, after.checksum):  # the sample changes with the list of files
        before, after = (msgspec.structs.replace(each, checksum=None) for each in (before, after))
    return before != after


def describe_changes(before: Listing, after: Listing) -> str:
    """Describe how a table changed; empty if it did not. The first line does not name files."""
    kinds = {
        "added": sorted(after.keys() - before.keys()),
        "deleted": sorted(before.keys() - after.keys()),
        "changed": sorted(name for name in before.keys() & after.keys() if _differ(before[name], after[name])),
    }
    found = {kind: names for kind, names in kinds.items() if names}
    if not found:
        return ""
    lines = [f"changed the table that it was asked to read: files {', '.join(found)}"]
    for kind, names in found.items():
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        lines.append(f"  {kind}: {', '.join(names[:_SHOWN])}{more}")
    return "\n".join(lines)
