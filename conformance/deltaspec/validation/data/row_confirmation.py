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
class _FileRows:
    """Rows of a view for one data file."""

    rows: pl.DataFrame
    violated: list[str]
    """Codes of the rules that report one of them."""


def evaluate_file_rows(
    data: DataBucket,
    view: View,
    rows: Sequence[tuple[DataFile, Rows]],
    read_again: Callable[[DataFile], Rows | str],
) -> None:
    """Evaluate the rules over a view with rows of single data files.

    Args:
        data: the files.
        view: the view.
        rows: files, each with every row of the view for it.
        read_again: reads a file and builds its rows of the view, or returns why it cannot be read. It must not record
            anything.
    """
    if not data.findings.has_rules_for(view):
        return
    owners = pl.Series([number for number, (_, each) in enumerate(rows) for _ in each], dtype=pl.UInt32)

    def confirm(frame: pl.DataFrame, hits: pl.Series) -> pl.DataFrame:
        changed: dict[int, pl.DataFrame] = {}
        unread: dict[str, str] = {}
        for number in owners.filter(hits).unique(maintain_order=True):
            if not data.row_look.is_needed:
                break
            data_file, first = rows[number][0], frame.filter(owners == number)
            found = _confirm_file(data, view, data_file, first, read_again)
            if isinstance(found, StorageError):
                unread[data_file.path] = str(found)
                changed[number] = frame.clear()
            elif found is not first:
                changed[number] = found
        data.findings.mark_files_undecided(unread, views=[view])
        if not changed:
            return frame
        return pl.concat([frame.filter(~owners.is_in(list(changed))), *changed.values()])

    frame = view.frame([row for _, each in rows for row in each])
    data.findings.evaluate(view, frame, confirm if data.row_look.is_needed else None)


def _confirm_file(
    data: DataBucket,
    view: View,
    data_file: DataFile,
    first: pl.DataFrame,
    read_again: Callable[[DataFile], Rows | str],
) -> pl.DataFrame | StorageError:
    """Return the rows that hold of a file with findings, or an error if its content is undecided."""

    def build(rows: pl.DataFrame) -> _FileRows:
        return _FileRows(rows, data.findings.find_violated_rules(view, rows))

    def look() -> _FileRows | StorageError:
        again = read_again(data_file)
        if isinstance(again, str):
            return StorageError(f"its rows could be read once, but not again: {again}")
        return build(view.frame(again))

    found = data.row_look.confirm(
        data_file.path_key,
        build(first),
        look,
        is_sound=lambda seen: not seen.violated,
        describe=lambda seen: ", ".join(seen.violated),
        is_same=lambda one, other: one.rows.equals(other.rows),
    )
    return found if isinstance(found, StorageError) else found.rows
