"""Stores that show files of the log which the storage of the table does not have."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class SupplyingStore(Protocol):
    """A store that supplies files of the log itself, such as commits that a catalog ratified."""

    def is_supplied(self, path: str) -> bool:
        """Return whether the file with a path relative to the table does not come from its storage."""
        ...

    def read(self, path: str, limit: int) -> bytes:
        """Read a file. See `deltaspec.wire.storage.interface.Store`."""
        ...
