"""Notice an engine that writes into the table that it reads."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from deltaspec.comparison.results import Check
from deltaspec.protocol.log.file_names import CommitName
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store


class TableListing(msgspec.Struct, frozen=True):
    """Files of a table with their sizes and times; empty for a table in an object store, which is not listed again."""

    entries: dict[str, tuple[int, int]]
    newest: int
    """Version of the newest commit."""

    @classmethod
    def of(cls, store: Store) -> TableListing:
        """List a table on the disk of this machine."""
        if store.is_remote:
            return cls({}, -1)
        log = store.list_log()
        versions = (name.version for name in (entry.log_name for entry in log) if isinstance(name, CommitName))
        found = [(f"{LOG_DIRECTORY}/{each.name}", each) for each in log]
        found += [(each.name, each) for each in store.list_files() if isinstance(each, Entry)]
        return cls({name: (each.size_bytes, each.modified_ms) for name, each in found}, max(versions, default=-1))

    def compare(self, store: Store) -> Iterator[Check]:
        """Yield a check of whether the files are as they were; none if another writer committed, or in a store."""
        try:
            after = TableListing.of(store)
        except StorageError as fault:
            yield Check(name="table unchanged", outcome="differs", message=f"the table cannot be listed: {fault}")
            return
        if store.is_remote or after.newest > self.newest:
            return
        names = sorted(self.entries.keys() | after.entries.keys())
        changed = [name for name in names if self.entries.get(name) != after.entries.get(name)]
        if not changed:
            yield Check(name="table unchanged", outcome="equal")
            return
        more = f", and {len(changed) - 1:,} more files" if len(changed) > 1 else ""
        yield Check(
            name="table unchanged",
            outcome="differs",
            message=f"the engine changed files of the table: {changed[0]}{more}",
        )
