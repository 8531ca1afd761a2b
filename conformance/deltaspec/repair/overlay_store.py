"""A table as a plan would leave it: files of the log are added, replaced or hidden, and nothing is written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, FileGone, StorageError, Store
from deltaspec.wire.storage.listing_parts import Listed, ListingPart, SplittableStore, split_listing


class OverlayStore:
    """A store with changes of its log directory. See `deltaspec.wire.storage.interface.Store`."""

    def __init__(self, store: Store, writes: Mapping[str, bytes], set_aside: Iterable[str], modified_ms: int) -> None:
        """Put changes in front of a store.

        Args:
            store: the table.
            writes: content of the new files, by name relative to `_delta_log`. They replace files of the same name.
            set_aside: names of the files that are hidden, relative to `_delta_log`.
            modified_ms: time of modification of the new files.
        """
        self.uri, self.root, self.is_remote, self.settings = store.uri, store.root, store.is_remote, store.settings
        self._table = store
        self._new = [Entry(name, len(content), modified_ms) for name, content in writes.items()]
        self._replaced = {*writes, *set_aside}
        files: dict[str, bytes | StorageError] = {
            f"{LOG_DIRECTORY}/{name}": FileGone(f"{LOG_DIRECTORY}/{name}: the plan sets this file aside")
            for name in set_aside
        }
        files |= {f"{LOG_DIRECTORY}/{name}": content for name, content in writes.items()}
        self._store = InMemoryStore(store.uri, files, root=store.root, fallback=store)

    def list_log(self) -> list[Entry]:
        kept = [entry for entry in self._table.list_log() if entry.name not in self._replaced]
        return sorted([*kept, *self._new], key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        yield from self._table.list_files()

    def split_listing(self, names: Sequence[str], count: int) -> Iterator[Listed]:
        return split_listing(self._table, names, count)

    def list_part(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        assert isinstance(self._table, SplittableStore), "only such a store has parts"
        return self._table.list_part(part)

    def is_supplied(self, path: str) -> bool:
        return path.removeprefix(f"{LOG_DIRECTORY}/") in self._replaced

    def read(self, path: str, limit: int) -> bytes:
        return self._store.read(path, limit)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        return self._store.read_range(path, start, length)

    def size(self, path: str) -> int:
        return self._store.size(path)

    def chunks(self, path: str) -> Iterator[bytes]:
        yield from self._store.chunks(path)

    def open_seekable(self, path: str) -> Any:
        return self._store.open_seekable(path)


def digest_listing(entries: Iterable[Entry]) -> str:
    """Return the SHA-256 of the names and sizes of the files of a log, as `RepairPlan.listing` has it."""
    rows = sorted((entry.name, entry.size_bytes) for entry in entries)
    return sha256(repr(rows).encode("utf-8", "backslashreplace")).hexdigest()
