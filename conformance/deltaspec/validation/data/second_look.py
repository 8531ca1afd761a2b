"""Check a data file again before it is reported: a listing may be stale, and a file may be replaced while it is read.

- The second look agrees with the first: it is a finding.
- The second and a third look find the file sound: it is not a finding. The report names the file.
- Otherwise the file is unchecked, because it changed during the run, or the storage gives different answers.

Findings about the footer or the rows of one file get a second look too (`row_confirmation`). Findings that compare the
rows of several files do not.

A table in which everything is missing costs a bounded number of requests: after `MOST_LOOKS` files of a bucket that a
second look confirmed, the first look is trusted. Missing files beyond that number are looked up in a second listing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from deltaspec.validation.findings import Findings
from deltaspec.wire.storage.interface import StorageError

MOST_LOOKS = 1000
"""Second looks by requests in a bucket, until the first looks are trusted."""
MOST_REREAD_FILES = 100
"""Files of a bucket whose footer or rows are read again and confirmed, until the first reads are trusted."""
CHANGED = "{}: changed while the table was checked"
"""Why a file is undecided that looks different each time."""
T = TypeVar("T")


class SecondLook(msgspec.Struct):
    """Checks files again, to confirm the result of the first look."""

    findings: Findings
    """Receives the files that were sound twice after all."""
    is_enabled: bool
    is_remote: bool
    """Whether requests may fail for a while."""
    most: int | None = None
    """Number of confirmed first looks after which first looks are trusted; None for `MOST_LOOKS`."""
    confirmed: int = 0
    """Number of first looks that were confirmed."""

    @property
    def is_needed(self) -> bool:
        """Whether first looks are not trusted."""
        return self.is_enabled and self.confirmed < (MOST_LOOKS if self.most is None else self.most)

    def confirm(
        self,
        path: str,
        first: T,
        look: Callable[[], T | StorageError],
        *,
        is_sound: Callable[[T], bool],
        describe: Callable[[T], str] = str,
        is_same: Callable[[T, T], bool] | None = None,
    ) -> T | StorageError:
        """Return the confirmed state of a file that does not look sound.

        Args:
            path: path of the file, for messages.
            first: what was found.
            look: looks again; returns an error of the storage as its result.
            is_sound: whether there would be no finding.
            describe: describes what was found, for the report.
            is_same: whether the second look confirms the first; None if equal descriptions do.

        Returns:
            What was found, if it is confirmed or sound; an error if it is undecided.
        """
        if not self.is_needed:
            return first
        second = look()
        if isinstance(second, StorageError):
            return second if self.is_remote else first  # a disk gives the same error again
        if describe(second) == describe(first) if is_same is None else is_same(first, second):
            self.confirmed += 1
            return first
        if is_sound(second):
            third = look()
            if not isinstance(third, StorageError) and is_sound(third):
                self.findings.note_sound_again(path, describe(first))
                return third
        return StorageError(CHANGED.format(path))
