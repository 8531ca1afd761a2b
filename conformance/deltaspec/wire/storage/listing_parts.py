"""Split the listing of a table's directories into parts, which several tasks list at the same time.

Every file is in exactly one part, or is listed during the split, whether the log names it or not. Stores that list
names in order are split into ranges of names. Others are split into directories, level by level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Protocol, runtime_checkable

import msgspec

from deltaspec.wire.storage.interface import Entry, StorageError, Store


class ListingPart(msgspec.Struct, frozen=True):
    """A directory with all directories below it, or a range of names."""

    folder: str = ""
    """Directory relative to the table, with a slash at its end; empty for the table."""
    after: str = ""
    """Only names after this one."""
    until: str | None = None
    """Only names up to this one; None for no limit."""
    parents: frozenset[tuple[int, int]] = frozenset()
    """Device and inode number of the directories above, if links may lead back to them."""


Listed = Entry | StorageError | ListingPart
"""An item of a directory: a file, a directory, or why it cannot be listed completely."""
ListFolder = Callable[[ListingPart], Iterator[Listed]]
"""Lists one directory without the directories below it."""


@runtime_checkable
class SplittableStore(Store, Protocol):
    """A store whose listing can be split."""

    def split_listing(self, names: Sequence[str], count: int) -> Iterator[Listed]:
        """Yield parts that together list the table as `list_files` does, and what is listed to find them.

        Args:
            names: names of some files of the table, in any order.
            count: number of parts that are wanted. There may be more or fewer.
        """
        ...

    def list_part(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        """Yield the files of a part, as `list_files` does."""
        ...


def split_listing(store: Store, names: Sequence[str], count: int) -> Iterator[Listed]:
    """Yield the parts of a listing; all files instead if one part is wanted or the store cannot be split."""
    if count > 1 and isinstance(store, SplittableStore):
        return store.split_listing(names, count)
    return iter(store.list_files())


def split_by_folders(list_folder: ListFolder, count: int, concurrency: int = 1) -> Iterator[Listed]:
    """List levels of directories until there are enough directories to be parts.

    Args:
        list_folder: lists one directory.
        count: number of parts that are wanted.
        concurrency: number of directories that are listed at the same time.
    """
    level = [ListingPart()]
    with ThreadPoolExecutor(concurrency) as pool:
        while level and len(level) < count:
            found = chain.from_iterable(pool.map(lambda each: list(list_folder(each)), level))
            level = []
            for item in found:
                if isinstance(item, ListingPart):
                    level.append(item)
                else:
                    yield item
    yield from level


def list_below(list_folder: ListFolder, part: ListingPart) -> Iterator[Entry | StorageError]:
    """Yield the files of a directory and of all directories below it."""
    folders = [part]
    while folders:
        for item in list_folder(folders.pop()):
            if isinstance(item, ListingPart):
                folders.append(item)
            else:
                yield item


def split_by_names(names: Iterable[str], count: int) -> Iterator[ListingPart]:
    """Yield ranges that cover all possible names, with about the same number of the given names in each."""
    ordered = sorted(set(names))
    step = max(1, len(ordered) // count)
    borders = ["", *ordered[step::step][: count - 1]]
    for after, until in pairwise([*borders, None]):
        yield ListingPart(after=after or "", until=until)
