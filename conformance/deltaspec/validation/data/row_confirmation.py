"""Evaluate rules over the rows of single data files. A file with findings is read again before they are reported.

Each file with findings is read once more, and a second time if it is then sound. After `MOST_REREAD_FILES` confirmed
files of a bucket the first reads are trusted: where many files have findings, the storage does not cause them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.base import View
    from deltaspec.views.data.data_files import DataFile

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class FileRows:
    """What one read of a data file gives for a view."""

    data_file: DataFile
    rows: Rows
    """Every row of the view for the file."""
    undecided: frozenset[str] = frozenset()
    """Why this read could not decide everything, for example because a page could not be decoded."""


@dataclass(frozen=True)
class _Judged:
    """Rows of a view for one data file."""

    rows: pl.DataFrame
    violated: list[str]
    """Codes of the rules that report one of them."""


def evaluate_file_rows(
    data: DataBucket, view: View, reads: Sequence[FileRows], read_again: Callable[[DataFile], FileRows | str]
) -> None:
    """Evaluate the rules over a view with rows of single data files.

    Args:
        data: the files.
        view: the view.
        reads: rows of each file. What they leave undecided is already recorded.
        read_again: reads a file and builds its rows of the view, or returns why it cannot be read. It must not record
            anything.
    """
    if not data.findings.has_rules_for(view):
        return
    owners = pl.Series([number for number, each in enumerate(reads) for _ in each.rows], dtype=pl.UInt32)

    def confirm(frame: pl.DataFrame, hits: pl.Series) -> pl.DataFrame:
        changed: dict[int, pl.DataFrame] = {}
        unread: dict[str, str] = {}
        for number in owners.filter(hits).unique(maintain_order=True):
            if not data.row_look.is_needed:
                break
            first = frame.filter(owners == number)
            found = _confirm_file(data, view, reads[number], first, read_again)
            if isinstance(found, StorageError):
                unread[reads[number].data_file.path] = str(found)
                changed[number] = frame.clear()
            elif found is not first:
                changed[number] = found
        data.findings.mark_files_undecided(unread, views=[view])
        if not changed:
            return frame
        return pl.concat([frame.filter(~owners.is_in(list(changed))), *changed.values()])

    frame = view.frame([row for each in reads for row in each.rows])
    data.findings.evaluate(view, frame, confirm if data.row_look.is_needed else None)


def _confirm_file(
    data: DataBucket,
    view: View,
    read: FileRows,
    first: pl.DataFrame,
    read_again: Callable[[DataFile], FileRows | str],
) -> pl.DataFrame | StorageError:
    """Return the rows that hold of a file with findings, or an error if its content is undecided."""

    def judge(rows: pl.DataFrame) -> _Judged:
        return _Judged(rows, data.findings.find_violated_rules(view, rows))

    def look() -> _Judged | StorageError:
        again = read_again(read.data_file)
        if isinstance(again, FileRows):  # a file whose values cannot be decoded must not look sound
            again = min(again.undecided - read.undecided, default=again)
        if isinstance(again, str):
            return StorageError(f"its rows could be read once, but not again: {again}")
        return judge(view.frame(again.rows))

    found = data.row_look.confirm(
        read.data_file.path_key,
        judge(first),
        look,
        is_sound=lambda seen: not seen.violated,
        describe=lambda seen: ", ".join(seen.violated),
        is_same=lambda one, other: one.rows.equals(other.rows),
    )
    return found if isinstance(found, StorageError) else found.rows
