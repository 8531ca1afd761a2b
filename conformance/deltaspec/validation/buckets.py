"""Shares of a table's files in one process: in memory, and beyond a bound in a directory of their own.

A *stage* looks at one bucket after the other: a function of the run, the bucket's frames and a `BucketWriter`, by which it hands
rows on to the shares of a later stage. What it gives is added up. Another engine may run the same stages elsewhere.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import count as count_from
from pathlib import Path
from typing import Protocol, TypeVar

import polars as pl
import pyarrow as pa

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import Run
from deltaspec.validation.bucketing import normalize_path_keys, split_by_bucket

T = TypeVar("T")
RowsByTag = dict[str, pl.DataFrame]
"""The rows of a bucket by tag; a tag without a row is absent."""
ROWS_IN_MEMORY = 2_000_000
"""Rows that one process holds before it spills: about 1 GB of them."""
SPILLED_BUCKETS = 64
_ROWS_AT_ONCE = 500_000
"""Rows of a tag that are gathered before they are dealt to files."""


class BucketWriter(Protocol):
    """Hands rows of a tag on to later stages."""

    def __call__(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None, /) -> None:
        """`places`: by which they are dealt, texts or numbers; by the column `path_key` where None."""


Stage = Callable[[Run, RowsByTag, BucketWriter], Aggregates]


class Buckets(Protocol):
    """Where rows go, and where stages look at them."""

    def put(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None) -> None:
        """BucketWriter rows to the shares, as a `BucketWriter` does."""
        ...

    def run_once(self, work: Callable[[], T]) -> T:
        """Do work that deals rows; or give what it gave, where the rows are kept that it dealt in an earlier run."""
        ...

    def run_stage(
        self, stage: Stage, run: Run, tags: Iterable[str], *, in_one_bucket: bool = False, opens_files: bool = False
    ) -> Aggregates:
        """Run a stage on every bucket, enter what it finds into `run.findings`, and add up what it gives.

        Args:
            stage: what is done.
            run: given to the stage.
            tags: of the rows it looks at; those that end in a space are beginnings of tags.
            together: all rows are one bucket.
            opens_files: the stage reads files beside the log.
        """
        ...

    def drop(self, tags: Iterable[str]) -> None:
        """Forget rows that no later stage looks at."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class LocalBuckets:
    """One bucket in memory; many in files once there are more than `rows_in_memory` rows."""

    def __init__(self, rows_in_memory: int | None = ROWS_IN_MEMORY, count: int = SPILLED_BUCKETS) -> None:
        """`rows_in_memory`: how many rows are held before they are spilled; None: all of them."""
        self._limit = math.inf if rows_in_memory is None else rows_in_memory
        self._count = count
        self._held: dict[str, list[tuple[pl.DataFrame, pl.Series | None]]] = defaultdict(list)
        self._rows: dict[str, int] = defaultdict(int)
        self._folder: Path | None = None
        self._files: dict[tuple[str, int], Path] = {}
        self._numbers = count_from(0)

    @property
    def count(self) -> int:
        """How many shares there are."""
        return 1 if self._folder is None else self._count

    def put(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None) -> None:
        if frame.is_empty():
            return
        if self._folder is not None:
            frame = _by_itself(frame)
        self._held[tag].append((frame, places))
        self._rows[tag] += len(frame)
        if self._folder is None and sum(self._rows.values()) > self._limit:
            self._folder = Path(tempfile.mkdtemp(prefix="deltaspec-"))
            for each in list(self._held):
                self._spill(each)
        elif self._folder is not None and self._rows[tag] > _ROWS_AT_ONCE:
            self._spill(tag)

    def run_once(self, work: Callable[[], T]) -> T:
        return work()

    def run_stage(
        self, stage: Stage, run: Run, tags: Iterable[str], *, in_one_bucket: bool = False, opens_files: bool = False
    ) -> Aggregates:
        wanted = [tag for tag in self._tags() if any(matches_tag(tag, each) for each in tags)]
        if self._folder is not None:
            for tag in wanted:
                self._spill(tag)
        run.bucket_count = self.count
        found = Aggregates()
        if self._folder is None or in_one_bucket or not wanted:
            return stage(run, {tag: frame for tag in wanted if len(frame := self._all(tag))}, self.put)
        for bucket in range(self._count):
            read = {tag: self._read(tag, bucket) for tag in wanted}
            frames = {tag: each for tag, each in read.items() if each is not None}
            if frames:
                found.merge(stage(run, frames, self.put))
                run.progress("shares", bucket + 1, self._count)
        return found

    def rows(self, tag: str) -> pl.DataFrame | None:
        """All rows of a tag; None where there are none."""
        rows = self._all(tag)
        return rows if len(rows) else None

    def drop(self, tags: Iterable[str]) -> None:
        for tag in [tag for tag in self._tags() if any(matches_tag(tag, each) for each in tags)]:
            self._held.pop(tag, None)
            self._rows.pop(tag, None)
            for key in [key for key in self._files if key[0] == tag]:
                self._files.pop(key).unlink()

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._held.clear()
        self._files.clear()
        self._folder = None

    def _tags(self) -> list[str]:
        return sorted({*self._held, *(tag for tag, _ in self._files)})

    def _all(self, tag: str) -> pl.DataFrame:
        if self._folder is None:
            frames = [frame for frame, _ in self._held.get(tag, ())]
        else:
            read = (self._read(tag, bucket) for bucket in range(self._count))
            frames = [each for each in read if each is not None]
        return pl.concat(frames) if frames else pl.DataFrame()

    def _spill(self, tag: str) -> None:
        """Write what is held of a tag to the files of its shares."""
        parts: dict[int, list[pl.DataFrame]] = defaultdict(list)
        for frame, places in self._held.pop(tag, ()):
            by = normalize_path_keys(frame["path_key"]) if places is None else places
            for bucket, part in split_by_bucket(frame, by, self._count):
                parts[bucket].append(part)
        self._rows[tag] = 0
        for bucket, frames in parts.items():
            table = pl.concat(frames).to_arrow()
            with self._file(tag, bucket).open("ab") as file, pa.ipc.new_stream(file, table.schema, options=_ZSTD) as to:
                to.write_table(table)

    def _file(self, tag: str, bucket: int) -> Path:
        assert self._folder is not None
        if (tag, bucket) not in self._files:
            self._files[tag, bucket] = self._folder / f"{next(self._numbers)}.arrows"
        return self._files[tag, bucket]

    def _read(self, tag: str, bucket: int) -> pl.DataFrame | None:
        """A bucket's rows of a tag, out of the streams that follow each other in its file."""
        if (tag, bucket) not in self._files:
            return None
        frames = []
        with pa.memory_map(str(self._files[tag, bucket])) as source:
            while source.tell() < source.size():
                frames.append(pl.DataFrame(pl.from_arrow(pa.ipc.open_stream(source).read_all())))
        return pl.concat(frames)


def _by_itself(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in memory of their own: the texts of a few rows otherwise hold on to those of all they were among."""
    return pl.DataFrame(pl.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest())))


_ZSTD = pa.ipc.IpcWriteOptions(compression="zstd")


def matches_tag(tag: str, wanted: str) -> bool:
    return tag.startswith(wanted) if wanted.endswith(" ") else tag == wanted
