"""Tables in a local directory. Only regular files are opened, because FIFOs and devices may block."""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from deltaspec.errors import StorageUnavailable, TableUnreadable
from deltaspec.wire.storage.interface import (
    CHUNK_BYTES,
    LISTED_FOLDERS,
    LOG_DIRECTORY,
    Entry,
    FileGone,
    FileTooLarge,
    NoPermission,
    StorageError,
    check_inside_table,
    describe_irregular_file,
    escape_file_name,
    format_local_path,
    has_log_file_name,
    is_outage,
)
from deltaspec.wire.storage.listing_parts import Listed, ListingPart, list_below, split_by_folders
from deltaspec.wire.storage.other_formats import explain_missing_path, recognize_format
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_MAX_SUGGESTION_ENTRIES = 2000
"""Directory entries to search for a table nearby."""
_MAX_LISTINGS = 16
"""Limit of listings of one directory, because links among a few directories make any number of paths."""
_Inode = tuple[int, int]
"""Device and inode number, which identify a directory under any path."""


class LocalStore:
    """A directory. See `deltaspec.wire.storage.interface.Store`."""

    def __init__(self, path: str, settings: StorageSettings = ENVIRONMENT) -> None:
        self.settings = settings
        self.uri = format_local_path(path)
        self.root: str | None = escape_file_name(os.path.abspath(path))
        self.is_remote = False
        self._path = path
        self._prefix = os.path.join(path, "")

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes with an absolute path, because other processes have other working directories."""
        path = self._path if os.path.isabs(self._path) else os.path.join(os.getcwd(), self._path)
        return {**self.__dict__, "_path": path, "_prefix": os.path.join(path, "")}

    def list_log(self) -> list[Entry]:
        root = Path(self._path)
        try:
            if not root.exists():
                hint = _suggest_table(root) or _format_hint(explain_missing_path(self.uri)) or _suggest_name(root)
                raise TableUnreadable(f"{self.uri}: no such file or directory{hint}")
            if not root.is_dir():
                raise TableUnreadable(f"{self.uri}: is a file; name the directory that holds {LOG_DIRECTORY}")
            if root.name == LOG_DIRECTORY:
                raise TableUnreadable(
                    f"{self.uri}: is the log itself; name the table, {format_local_path(str(root.parent))}"
                )
            if not (root / LOG_DIRECTORY).is_dir():
                hint = _suggest_table(root) or _format_hint(recognize_format(_list_names(root))) or _suggest_name(root)
                raise TableUnreadable(f"{self.uri}: has no {LOG_DIRECTORY} directory{hint}")
            found = list(self._entries(root / LOG_DIRECTORY, ""))
        except PermissionError as fault:
            name = escape_file_name(str(fault.filename))
            raise TableUnreadable(f"{name}: no permission to read; ask its owner for it") from fault
        except OSError as fault:
            error = StorageUnavailable if is_outage(fault) else TableUnreadable
            raise error(f"{self.uri}: {fault.strerror or fault}") from fault
        return sorted(found, key=lambda entry: entry.name)

    def _entries(self, folder: Path, prefix: str) -> Iterator[Entry]:
        folders = []
        with os.scandir(folder) as entries:
            for entry in entries:
                name = prefix + escape_file_name(entry.name)
                try:
                    facts = entry.stat()
                except PermissionError:
                    raise
                except OSError:  # gone since, or a link into nothing or itself
                    if entry.is_symlink() and has_log_file_name(name):
                        yield Entry(name, 0, 0)  # the version exists; reading it fails
                    continue
                if not prefix and entry.name in LISTED_FOLDERS and stat.S_ISDIR(facts.st_mode):
                    folders.append(entry.name)
                elif not stat.S_ISDIR(facts.st_mode):
                    yield Entry(name, facts.st_size, facts.st_mtime_ns // 1_000_000)
                elif has_log_file_name(name):
                    yield Entry(name, 0, facts.st_mtime_ns // 1_000_000)
        for name in folders:  # listed last, because a checkpoint is written after its sidecars
            yield from self._entries(folder / name, f"{name}/")

    def list_files(self) -> Iterator[Entry | StorageError]:
        return self.list_part(ListingPart())

    def split_listing(self, names: Sequence[str], count: int) -> Iterator[Listed]:
        return split_by_folders(partial(self._list_folder, Counter[_Inode]()), count)

    def list_part(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        return list_below(partial(self._list_folder, Counter[_Inode]()), part)

    def _list_folder(self, times: Counter[_Inode], part: ListingPart) -> Iterator[Listed]:
        """List one directory; `times` says how often each was listed before."""
        shown = escape_file_name(part.folder) or "."
        folder = os.path.join(self._path, part.folder)
        try:
            facts = os.stat(folder)
            here = (facts.st_dev, facts.st_ino)
            if here in part.parents:
                return  # a link back to a parent directory
            times[here] += 1
            if times[here] > _MAX_LISTINGS:
                yield StorageError(f"{shown}: not listed, because too many links lead to it")
                return
            names = os.listdir(folder)  # entries of `scandir` would keep their status, ten times the size of a name
        except OSError as fault:
            yield StorageError(f"{shown}: cannot be listed: {fault.strerror or fault}")
            return
        for each in names:
            name = part.folder + each
            try:
                facts = os.stat(os.path.join(folder, each))
            except PermissionError as fault:
                yield StorageError(f"{escape_file_name(name)}: {fault.strerror}")
                continue
            except OSError:
                continue  # gone since, or a link into nothing or itself
            if stat.S_ISREG(facts.st_mode):
                yield Entry(escape_file_name(name), facts.st_size, facts.st_mtime_ns // 1_000_000)
            elif stat.S_ISDIR(facts.st_mode) and name != LOG_DIRECTORY:
                yield ListingPart(f"{name}/", parents=part.parents | {here})

    def read(self, path: str, limit: int) -> bytes:
        handle, size = self.open_with_size(path)
        try:
            if size > limit:
                raise FileTooLarge(f"{path}: {size} bytes, more than the limit of {limit} bytes")
            content = os.read(handle, size + 1)
            if len(content) == size:
                return content
            pieces = [content]
            while pieces[-1]:
                if sum(map(len, pieces)) > limit:
                    raise FileTooLarge(f"{path}: grew beyond {limit} bytes while it was read")
                pieces.append(os.read(handle, max(size + 1, 1 << 16)))
            return b"".join(pieces)
        except OSError as fault:
            raise StorageError(f"{path}: {fault.strerror or fault}") from fault
        finally:
            os.close(handle)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        handle, size = self.open_with_size(path)
        try:
            rest = size - start
            return os.pread(handle, min(length, rest), start) if rest > 0 and length > 0 else b""
        except OSError as fault:
            raise StorageError(f"{path}: {fault.strerror or fault}") from fault
        finally:
            os.close(handle)

    def size(self, path: str) -> int:
        handle, size = self.open_with_size(path)
        os.close(handle)
        return size

    def chunks(self, path: str) -> Iterator[bytes]:
        handle = self._open(path)
        try:
            while piece := os.read(handle, CHUNK_BYTES):
                yield piece
        except OSError as fault:
            raise StorageError(f"{path}: {fault.strerror or fault}") from fault
        finally:
            os.close(handle)

    def open_seekable(self, path: str) -> Any:
        import pyarrow as pa

        os.close(self._open(path))
        try:
            return pa.OSFile(os.fsencode(self._prefix + path))
        except (OSError, ValueError) as fault:
            raise StorageError(f"{path}: {fault}") from fault

    def _open(self, path: str) -> int:
        return self.open_with_size(path)[0]

    def open_with_size(self, path: str) -> tuple[int, int]:
        """Open a regular file, and return its descriptor and its size in bytes."""
        try:
            handle = os.open(self._prefix + check_inside_table(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError as fault:
            is_link = os.path.islink(os.path.join(self._path, path))
            raise FileGone(f"{path}: {'is a broken link' if is_link else 'does not exist'}") from fault
        except PermissionError as fault:
            raise NoPermission(f"{path}: no permission to read") from fault
        except (OSError, ValueError) as fault:
            raise StorageError(f"{path}: {getattr(fault, 'strerror', None) or fault}") from fault
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            os.close(handle)
            raise StorageError(describe_irregular_file(path, is_directory=stat.S_ISDIR(facts.st_mode)))
        return handle, facts.st_size


def _suggest_table(root: Path) -> str:
    """Return a suggestion of a table below or above a path; may be empty."""
    path = Path(os.path.abspath(root))
    try:
        if root.is_dir() and (below := _list_tables(root)):
            return f"; {format_local_path(str(root / below[0]))} is a table"
        for above in path.parents:
            if (above / LOG_DIRECTORY).is_dir():
                return f"; {format_local_path(str(above))} is a table"
    except OSError:
        return ""  # a suggestion must not fail
    return ""


def _suggest_name(root: Path) -> str:
    """Return a suggestion of a table for a path that is wrong by a letter; may be empty."""
    path = Path(os.path.abspath(root))
    try:
        if near := get_close_matches(path.name, _list_tables(path.parent), 1):
            return f"; did you mean {format_local_path(str(root.parent / near[0]))}?"
    except OSError:
        return ""  # a suggestion must not fail
    return ""


def _format_hint(text: str | None) -> str:
    return f"; {text}" if text else ""


def _list_names(root: Path) -> Iterator[str]:
    """Yield names of files of a directory, and of the directories in it."""
    folders = []
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                yield entry.name
    for folder in folders:
        with os.scandir(root / folder) as entries:
            for entry in entries:
                yield f"{folder}/{entry.name}"


def _list_tables(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, _MAX_SUGGESTION_ENTRIES)]
    return sorted(name for name in names if (folder / name / LOG_DIRECTORY).is_dir())
