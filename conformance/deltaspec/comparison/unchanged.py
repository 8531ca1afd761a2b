"""Notice an engine that writes into the table that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from deltaspec.comparison.judged_table import JudgedTable
from deltaspec.comparison.results import Check
from deltaspec.protocol.log.file_names import CommitName
from deltaspec.suites.table_watch import Listing, describe_changes, list_files


class TableListing(msgspec.Struct, frozen=True):
    """Files of a table on the disk of this machine; empty for a table in an object store, which is not listed again."""

    files: Listing
    newest: int
    """Version of the newest commit."""

    @classmethod
    def of(cls, table: JudgedTable) -> TableListing:
        """List a table."""
        if table.store.is_remote:
            return cls({}, -1)
        names = (entry.log_name for entry in table.store.list_log())
        versions = (name.version for name in names if isinstance(name, CommitName))
        return cls(list_files([Path(table.location)]), max(versions, default=-1))

    def compare(self, table: JudgedTable) -> Iterator[Check]:
        """Yield a check of whether the files are as they were; none if another writer committed, or in a store."""
        after = TableListing.of(table)
        if table.store.is_remote or after.newest > self.newest:
            return
        text = describe_changes(self.files, after.files)
        yield Check(name="table unchanged", outcome="differs" if text else "equal", message=text)
