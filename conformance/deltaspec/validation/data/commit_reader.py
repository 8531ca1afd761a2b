"""Find the file actions of single commits without a search through the complete history.

Histories have thousands of commits and millions of files. Rows are grouped once by position, and data files are built
for one commit at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import msgspec
import polars as pl

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.views.data.data_files import DataFiles
from deltaspec.wire.log.line_decoder import LogFile, decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Store

MAX_COMMIT_BYTES = 64 << 20
"""Largest commit that is read again."""
CACHE_BYTES = 8 << 20
"""Total size of cached commits."""


class RowGroups:
    """Rows of a frame grouped by an integer column, without a copy of the frame."""

    def __init__(self, rows: pl.DataFrame, number: str, chosen: pl.Expr) -> None:
        """Group the rows where `chosen` is true by the integer column `number`."""
        self._rows = rows
        self._places = pl.Series([], dtype=pl.UInt32)
        self._ranges: dict[int, tuple[int, int]] = {}
        if rows.is_empty():
            return
        places = rows.select(number, chosen.alias("_chosen")).with_row_index("_place").filter("_chosen")
        places = places.drop_nulls(number).sort(number, maintain_order=True)
        self._places = places["_place"]
        counts = places.group_by(number, maintain_order=True).len()
        ends = counts["len"].cum_sum().to_list()
        self._ranges = dict(zip(counts[number].to_list(), zip([0, *ends], ends, strict=False), strict=True))

    def __iter__(self) -> Iterator[int]:
        """Iterate over the numbers in ascending order."""
        return iter(self._ranges)

    def of(self, number: int) -> pl.DataFrame:
        """Return the rows with a number, in their order."""
        start, end = self._ranges.get(number, (0, 0))
        return self._rows[self._places[start:end]]


def split_written_and_ended(intervals: pl.DataFrame, versions: Iterable[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the adds and removes of commits, and the earlier adds that they end; both without statistics.

    Args:
        intervals: from `build_intervals`, with the columns of `DATA_REPLAY_COLUMNS`.
        versions: versions of the commits.
    """
    wanted = pl.Series(list(versions), dtype=pl.Int64).implode()
    until = pl.col("until")
    written = intervals.filter((pl.col("source") == "commit") & pl.col("version").is_in(wanted))
    ended = intervals.filter((pl.col("kind") == "add") & (pl.col("version") < until) & until.is_in(wanted))
    # statistics are long, and checks of commits do not need them
    none = pl.lit(None, pl.String).alias("stats")
    return written.with_columns(none), ended.with_columns(none)


class Unchanged(msgspec.Struct, frozen=True):
    """The file actions (adds, removes) of which a commit states that they change no rows: all have dataChange false."""

    adds: bool
    removes: bool


class Commits:
    """Single commits of the validated history."""

    def __init__(self, store: Store, written: pl.DataFrame, ended: pl.DataFrame) -> None:
        """Group the actions of commits.

        Args:
            store: the table.
            written: all adds and removes of these commits, as `split_written_and_ended` gives them.
            ended: adds of earlier versions that they end, as given there.
        """
        self._store = store
        self._written = RowGroups(written, "version", pl.lit(True))
        self._ended = RowGroups(ended, "until", pl.lit(True))
        self.rewriting: list[int] = []
        """Versions of the commits that both add and remove."""
        self.rearranging: dict[int, Unchanged] = {}
        """The commits among them that state of all adds, or of all removes, that they change no rows."""
        self._kept: OrderedDict[int, tuple[int, LogFile]] = OrderedDict()
        if written.is_empty():
            return
        is_add, is_unchanged = pl.col("kind") == "add", ~pl.col("data_change").fill_null(True)
        commits = written.group_by("version").agg(
            kinds=pl.col("kind").n_unique(),
            adds=is_unchanged.filter(is_add).all(),
            removes=is_unchanged.filter(~is_add).all(),
        )
        commits = commits.filter(pl.col("kinds") == 2).sort("version")
        self.rewriting = commits["version"].to_list()
        self.rearranging = {
            version: Unchanged(adds=adds, removes=removes)
            for version, _, adds, removes in commits.iter_rows()
            if adds or removes
        }

    def read(self, version: int) -> LogFile:
        """Read and decode a commit. The most recent ones are cached. Raise `StorageError`."""
        if version in self._kept:
            self._kept.move_to_end(version)
            return self._kept[version][1]
        data = self._store.read(f"{LOG_DIRECTORY}/{commit_name(version)}", MAX_COMMIT_BYTES)
        log = decode_lines(data)
        self._kept[version] = (len(data), log)
        while sum(length for length, _ in self._kept.values()) > CACHE_BYTES:
            self._kept.popitem(last=False)
        return log

    def files(self, version: int) -> DataFiles:
        """Return the files that a commit adds and removes, without statistics."""
        return DataFiles(self._written.of(version))

    def find_ended_files(self, version: int) -> DataFiles:
        """Return the earlier state of files that a commit removes or adds again."""
        return DataFiles(self._ended.of(version))

    def find_readded_files(self, version: int) -> DataFiles:
        """Return the earlier state of files that a commit adds again without removing them."""
        ended = self._ended.of(version)
        if ended.is_empty():
            return DataFiles(ended)
        removed = self._written.of(version).filter(pl.col("kind") == "remove")
        return DataFiles(ended.join(removed, on="path_key", how="anti"))
