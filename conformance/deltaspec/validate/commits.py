"""What single commits of the judged history did, told without looking through the whole history for each.

Histories have thousands of commits and millions of files: rows are grouped once, by their places, and data files are
made for one commit at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import polars as pl

from deltaspec.model.file_names import commit_name
from deltaspec.views.data_files import DataFiles
from deltaspec.wire.file_rows import FILE_ROWS
from deltaspec.wire.log_lines import LogFile, read_lines
from deltaspec.wire.storage import LOG, Store

LINE, KIND, PATH, DATA_CHANGE = map(FILE_ROWS.names.index, ("line", "kind", "path", "data_change"))
"""Places in the rows of a decoded commit file."""
LOG_BYTES = 64 << 20
"""Longest commit file that is read again."""
KEPT_BYTES = 8 << 20
"""Commit files that are remembered are no longer together."""


class Grouped:
    """Rows of a frame by a number that they have; the frame is not copied."""

    def __init__(self, rows: pl.DataFrame, number: str, chosen: pl.Expr) -> None:
        """`rows`: any; `number`: name of an integer column; `chosen`: which rows are grouped."""
        self._rows = rows
        places = rows.select(number, chosen.alias("_chosen")).with_row_index("_place").filter("_chosen")
        places = places.drop_nulls(number).sort(number, maintain_order=True)
        self._places = places["_place"]
        counts = places.group_by(number, maintain_order=True).len()
        ends = counts["len"].cum_sum().to_list()
        self._spans = dict(zip(counts[number].to_list(), zip([0, *ends], ends, strict=False), strict=True))

    def __iter__(self) -> Iterator[int]:
        """The numbers, ascending."""
        return iter(self._spans)

    def of(self, number: int) -> pl.DataFrame:
        """The rows that have a number, in their order."""
        start, end = self._spans.get(number, (0, 0))
        return self._rows[self._places[start:end]]


def written_and_ended(spanned: pl.DataFrame, versions: Iterable[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Adds and removes that some commits write, and adds of earlier versions that they end; both without statistics.

    Args:
        spanned: as `file_replay.spans` gives them, with the columns of `DATA_CHAIN`.
        versions: of the commits.
    """
    wanted = pl.Series(list(versions), dtype=pl.Int64).implode()
    until = pl.col("until")
    written = spanned.filter((pl.col("source") == "commit") & pl.col("version").is_in(wanted))
    ended = spanned.filter((pl.col("kind") == "add") & (pl.col("version") < until) & until.is_in(wanted))
    # statistics are long, and nothing that is asked of commits needs them
    none = pl.lit(None, pl.String).alias("stats")
    return written.with_columns(none), ended.with_columns(none)


class Commits:
    """Commits of the judged history, one by one."""

    def __init__(self, store: Store, written: pl.DataFrame, ended: pl.DataFrame) -> None:
        """Some commits of a store.

        Args:
            store: the table.
            written: all adds and removes of these commits, as `written_and_ended` gives them.
            ended: adds of earlier versions that they end, as given there.
        """
        self._store = store
        self._written = Grouped(written, "version", pl.lit(True))
        self._ended = Grouped(ended, "until", pl.lit(True))
        kinds = written.group_by("version").agg(kinds=pl.col("kind").n_unique())
        self.rewriting: list[int] = sorted(kinds.filter(pl.col("kinds") == 2)["version"])
        """Versions of the commits that both add and remove."""
        self._kept: OrderedDict[int, tuple[int, LogFile]] = OrderedDict()

    def read(self, version: int) -> LogFile:
        """A commit file, decoded; the last ones are remembered. Raises `StorageError`."""
        if version in self._kept:
            self._kept.move_to_end(version)
            return self._kept[version][1]
        data = self._store.read(f"{LOG}/{commit_name(version)}", LOG_BYTES)
        log = read_lines(data)
        self._kept[version] = (len(data), log)
        while sum(length for length, _ in self._kept.values()) > KEPT_BYTES:
            self._kept.popitem(last=False)
        return log

    def files(self, version: int) -> DataFiles:
        """Files that a commit adds and removes, without their statistics."""
        return DataFiles(self._written.of(version))

    def added_again(self, version: int) -> DataFiles:
        """Files, as they were before, whose paths a commit adds anew and does not remove."""
        ended = self._ended.of(version)
        if ended.is_empty():
            return DataFiles(ended)
        removed = self._written.of(version).filter(pl.col("kind") == "remove")
        return DataFiles(ended.join(removed, on="path_key", how="anti"))
