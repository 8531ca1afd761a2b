"""A store whose commits are those that a catalog ratified, whether they are published or not."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deltaspec.protocol.features.catalog_managed import find_commits_to_read
from deltaspec.protocol.log.file_names import CommitName, StagedCommit, commit_name
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store
from deltaspec.wire.storage.listing_parts import Listed, ListingPart, SplittableStore, split_listing


class RatifiedStore:
    """A table as readers see it that have asked its catalog. See `deltaspec.wire.storage.interface.Store`.

    Every ratified commit has the name of a published one: reading this name returns what the catalog ratified. Files of
    later versions are not listed. Source: Reading Catalog-managed Tables (current).
    """

    def __init__(self, store: Store, sources: Mapping[int, str | None], contents: Mapping[int, bytes], latest: int):
        """Put the answer of a catalog in front of a store.

        Args:
            store: the table.
            sources: name of the staged commit relative to `_delta_log`, by version; None for an inline commit.
            contents: content of each inline commit, by version.
            latest: latest version of the table.
        """
        self.uri, self.root, self.is_remote, self.settings = store.uri, store.root, store.is_remote, store.settings
        self.table = store
        """The store without the catalog."""
        self._sources, self._latest = dict(sources), latest
        self._contents = {commit_name(version): content for version, content in contents.items()}
        inline = {f"{LOG_DIRECTORY}/{name}": content for name, content in self._contents.items()}
        self._store = InMemoryStore(store.uri, inline, root=store.root, fallback=store)
        self._paths = {
            f"{LOG_DIRECTORY}/{commit_name(version)}": f"{LOG_DIRECTORY}/{name}"
            for version, name in sources.items()
            if name is not None
        }

    def select(self, listed: list[Entry]) -> list[Entry]:
        """Return the files that readers use, of a listing of the log directory."""
        by_name = {entry.name: entry for entry in listed}
        newest = max((entry.modified_ms for entry in listed), default=0)
        found = [each for each in listed if _find_last_version(each) <= self._latest]
        found = [each for each in found if not isinstance(each.log_name, CommitName)]
        for version, name in find_commits_to_read(by_name, self._sources, self._latest).items():
            own = commit_name(version)
            content = self._contents.get(own)
            if content is not None:
                found.append(Entry(own, len(content), newest))
            elif (entry := by_name.get(name or own, by_name.get(own))) is not None:
                # without the staged file, reading the published commit fails: the copy of the catalog takes precedence
                found.append(Entry(own, entry.size_bytes, entry.modified_ms))
        return sorted(found, key=lambda entry: entry.name)

    def is_supplied(self, path: str) -> bool:
        """Return whether the catalog supplies the commit with this path, relative to the table."""
        return path in self._paths or path.removeprefix(f"{LOG_DIRECTORY}/") in self._contents

    def list_log(self) -> list[Entry]:
        return self.select(self.table.list_log())

    def list_files(self) -> Iterator[Entry | StorageError]:
        yield from self.table.list_files()

    def split_listing(self, names: Sequence[str], count: int) -> Iterator[Listed]:
        return split_listing(self.table, names, count)

    def list_part(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        assert isinstance(self.table, SplittableStore), "only such a store has parts"
        return self.table.list_part(part)

    def read(self, path: str, limit: int) -> bytes:
        return self._store.read(self._find(path), limit)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        return self._store.read_range(self._find(path), start, length)

    def size(self, path: str) -> int:
        return self._store.size(self._find(path))

    def chunks(self, path: str) -> Iterator[bytes]:
        yield from self._store.chunks(self._find(path))

    def open_seekable(self, path: str) -> Any:
        return self._store.open_seekable(self._find(path))

    def _find(self, path: str) -> str:
        return self._paths.get(path, path)


def _find_last_version(entry: Entry) -> int:
    """Return the last version that a file of the log has; -1 for a file without a version, and for staged commits."""
    name = entry.log_name
    if isinstance(name, StagedCommit):
        return -1
    version: int = getattr(name, "end", getattr(name, "version", -1))
    return version
