"""Evaluate rules over the content of single data files. A file with findings is read again before they are reported.

Each file with findings is read once more, and a second time if it is then sound. After `MOST_REREAD_FILES` confirmed
files of a bucket the first reads are trusted: where many files have findings, the storage does not cause them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.base import View
    from deltaspec.views.data.data_files import DataFile

Rows = list[dict[str, Any]]


class FileRows(msgspec.Struct, frozen=True):
    """Rows of a view that one read of a data file gives."""

    data_file: DataFile
    rows: Rows
    """Every row of the view for the file."""
    undecided: frozenset[str] = frozenset()
    """Why this read could not decide everything, for example because a page could not be decoded."""


class _Judged(msgspec.Struct, frozen=True):
    """Rows of a view for one data file."""

    rows: pl.DataFrame
    violated: list[str]
    """Codes of the rules that report one of them."""


class FileReader(msgspec.Struct, frozen=True):
    """A data file whose rows have a finding, and how to read it again."""

    path: str
    """As written in the log; names the file in the ledger."""
    path_key: str
    look: Callable[[], pl.DataFrame | StorageError]
    """Builds the rows of the view again, or returns why that is not possible. It must not record anything."""


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

    def open_file(number: int) -> FileReader:
        read = reads[number]
        return FileReader(read.data_file.path, read.data_file.path_key, lambda: _read_rows(view, read, read_again))

    owners = pl.Series([number for number, each in enumerate(reads) for _ in each.rows], dtype=pl.UInt32)
    frame = view.frame([row for each in reads for row in each.rows])
    unread = evaluate_confirmed_rows(data, view, frame, lambda _: owners, open_file)
    data.findings.mark_files_undecided(unread, views=[view])


def evaluate_confirmed_rows(
    data: DataBucket,
    view: View,
    frame: pl.DataFrame,
    find_owners: Callable[[pl.DataFrame], pl.Series],
    open_file: Callable[[Any], FileReader],
) -> dict[str, str]:
    """Evaluate the rules over rows of a view. A file with findings is read again first.

    Args:
        data: the files.
        view: the view.
        frame: its rows.
        find_owners: returns for each row a value that identifies its file.
        open_file: returns how to read that file again.

    Returns:
        Why the rows of some files are undecided, by path as written.
    """
    unread: dict[str, str] = {}

    def confirm(frame: pl.DataFrame, hits: pl.Series) -> pl.DataFrame:
        changed: dict[Any, pl.DataFrame] = {}
        owners = find_owners(frame)
        for owner in owners.filter(hits).unique(maintain_order=True):
            if not data.row_look.is_needed:
                break
            first, file = frame.filter(owners == owner), open_file(owner)
            found = _confirm_file(data, view, first, file)
            if isinstance(found, StorageError):
                unread[file.path] = str(found)
                changed[owner] = frame.clear()
            elif found is not first:
                changed[owner] = found
        if not changed:
            return frame
        return pl.concat([frame.filter(~owners.is_in(list(changed))), *changed.values()])

    data.findings.evaluate(view, frame, confirm if data.row_look.is_needed else None)
    return unread


def _confirm_file(data: DataBucket, view: View, first: pl.DataFrame, file: FileReader) -> pl.DataFrame | StorageError:
    """Return the confirmed rows of a file with findings, or an error if its content is undecided."""

    def judge(rows: pl.DataFrame) -> _Judged:
        return _Judged(rows, data.findings.find_violated_rules(view, rows))

    def look() -> _Judged | StorageError:
        rows = file.look()
        return rows if isinstance(rows, StorageError) else judge(rows)

    found = data.row_look.confirm(
        file.path_key,
        judge(first),
        look,
        is_sound=lambda seen: not seen.violated,
        describe=lambda seen: ", ".join(seen.violated),
        is_same=lambda one, other: one.rows.equals(other.rows),
    )
    return found if isinstance(found, StorageError) else found.rows


def _read_rows(
    view: View, first: FileRows, read_again: Callable[[DataFile], FileRows | str]
) -> pl.DataFrame | StorageError:
    again = read_again(first.data_file)
    if isinstance(again, FileRows):  # a file whose values cannot be decoded must not look sound
        again = min(again.undecided - first.undecided, default=again)
    if isinstance(again, str):
        return StorageError(f"its rows could be read once, but not again: {again}")
    return view.frame(again.rows)
