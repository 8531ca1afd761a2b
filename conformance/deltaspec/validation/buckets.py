"""Distribute the rows of a table's files over buckets by hash of their path, in memory or spilled to disk.

A *stage* is a function that is called for every bucket, or for a group of small ones unless it opens files. It receives
the facts, a recorder, the rows of the bucket by tag, and a `StageOutput` for rows that a later stage needs. The
aggregates that it returns are added up. The Spark backend runs the same stages on executors.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count as count_from
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import polars as pl
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.bucketing import normalize_path_keys
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.spilled_rows import SpilledRows
from deltaspec.validation.stored_rows import LeftOut, find_common_constants, leave_out_columns

T = TypeVar("T")
RowsByTag = dict[str, pl.DataFrame]
"""The rows of a bucket, or of a group of buckets, by tag; a tag without rows is absent."""
ROWS_IN_MEMORY = 2_000_000
"""Rows that one process keeps before it spills, which take about 1 GB."""
SPILLED_BUCKETS = 64
ROWS_AT_ONCE = 500_000
"""Rows of a tag that are collected before they are written to the files of their buckets."""
LARGE_PART_ROWS = 4_096
"""Mean number of rows of a part from which on parts are combined without copying them."""
ROWS_OF_A_STAGE = 500_000
"""Rows of a group of small buckets: a stage takes 80 ms even for few rows."""


class PutRows(Protocol):
    """Callable that puts rows of a tag into the buckets."""

    def __call__(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        """`keys`: a string or integer for each row, whose hash gives the bucket; None for the column `path_key`."""


class StageOutput(Protocol):
    """Receives what a stage produces while it runs."""

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        """Put rows into the buckets for later stages, as `PutRows` does."""
        ...

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        """Report progress, unless the stage runs on an executor, where nobody sees it."""
        ...


Stage = Callable[[LogFacts, Findings, RowsByTag, StageOutput], Aggregates]


class Buckets(Protocol):
    """Buckets of rows, which run stages over their rows."""

    @property
    def count(self) -> int:
        """Number of buckets for stages that open no files."""
        ...

    @property
    def readers(self) -> int:
        """Number of buckets for stages that open files; 1 if one process reads all files."""
        ...

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        """Put rows into the buckets, as `PutRows` does."""
        ...

    def run_once(self, work: Callable[[], T]) -> T:
        """Do work that puts rows into the buckets. A resumed run loads its result and rows instead."""
        ...

    def run_stage(
        self,
        stage: Stage,
        facts: LogFacts,
        findings: Findings,
        tags: Iterable[str],
        *,
        opens_files: bool = False,
    ) -> Aggregates:
        """Run a stage on every bucket or group of buckets, and return the sum of its aggregates.

        Args:
            stage: what to run. It runs once without rows if no bucket has any.
            facts: passed to the stage, with the number of buckets.
            findings: receives what the stage finds.
            tags: tags of the rows that the stage needs. One that ends in a space is a prefix of tags.
            opens_files: the stage reads files outside the log.
        """
        ...

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        """Report progress of work on the driver."""
        ...

    def drop(self, tags: Iterable[str]) -> None:
        """Delete rows that no later stage needs."""
        ...

    def close(self) -> None:
        """Delete all temporary data."""
        ...


class _Collected(NamedTuple):
    """Rows that were combined."""

    columns: pl.DataFrame
    """The columns that are not left out."""
    left_out: LeftOut
    keys: pl.Series | None = None
    """As for `PutRows`."""


class LocalBuckets:
    """One bucket in memory, or many in temporary files if there are more than `rows_in_memory` rows."""

    def __init__(
        self,
        rows_in_memory: int | None = ROWS_IN_MEMORY,
        count: int = SPILLED_BUCKETS,
        progress: Progress = ignore_progress,
        rows_of_a_stage: int = ROWS_OF_A_STAGE,
    ) -> None:
        """Begin without rows.

        Args:
            rows_in_memory: number of rows that are kept in memory before all are spilled; None never spills.
            count: number of buckets after spilling.
            progress: called after buckets of a stage.
            rows_of_a_stage: number of rows of a group of small buckets; 0 for no groups.
        """
        self._progress = progress
        self._limit = math.inf if rows_in_memory is None else rows_in_memory
        self._count = count
        self._rows_of_a_stage = rows_of_a_stage
        self._collected: dict[str, list[_Collected]] = defaultdict(list)
        self._rows: dict[str, int] = defaultdict(int)
        self._folder: Path | None = None
        self._spilled: dict[str, list[SpilledRows]] = defaultdict(list)
        self._numbers = count_from(0)

    @property
    def count(self) -> int:
        """Number of buckets."""
        return 1 if self._folder is None else self._count

    @property
    def readers(self) -> int:
        """See `Buckets.readers`."""
        return 1

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        if rows.is_empty():
            return
        columns, left_out = leave_out_columns(rows)
        self._collected[tag].append(_Collected(columns if self._folder is None else _copy(columns), left_out, keys))
        self._rows[tag] += len(rows)
        if self._folder is None and sum(self._rows.values()) > self._limit:
            self._folder = Path(tempfile.mkdtemp(prefix="deltaspec-"))
            for each in list(self._collected):
                self._spill(each)
        elif self._folder is not None and self._rows[tag] > ROWS_AT_ONCE:
            self._spill(tag)

    def run_once(self, work: Callable[[], T]) -> T:
        return work()

    def run_stage(
        self,
        stage: Stage,
        facts: LogFacts,
        findings: Findings,
        tags: Iterable[str],
        *,
        opens_files: bool = False,
    ) -> Aggregates:
        prefixes = list(tags)
        wanted = [tag for tag in self._tags() if any(matches_tag(tag, each) for each in prefixes)]
        if self._folder is not None:
            for tag in wanted:
                self._spill(tag)
        facts = replace(facts, bucket_count=self.count)
        if self._folder is None or not wanted:
            return stage(facts, findings, {tag: rows for tag in wanted if len(rows := self._all(tag))}, self)
        aggregates = Aggregates()
        with closing(self._iter_buckets(wanted) if opens_files else self._iter_groups(wanted)) as groups:
            for done, rows_by_tag in groups:
                if rows_by_tag:
                    aggregates.merge(stage(facts, findings, rows_by_tag, self))
                    self.report_progress("buckets", done, self._count)
        return aggregates

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        self._progress(phase, done, total)

    def rows(self, tag: str) -> pl.DataFrame | None:
        """Return all rows of a tag; None if there are none."""
        if self._folder is not None:
            self._spill(tag)
        rows = self._all(tag)
        return rows if len(rows) else None

    def drop(self, tags: Iterable[str]) -> None:
        prefixes = list(tags)
        for tag in [tag for tag in self._tags() if any(matches_tag(tag, each) for each in prefixes)]:
            self._collected.pop(tag, None)
            self._rows.pop(tag, None)
            for each in self._spilled.pop(tag, ()):
                each.path.unlink()

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._collected.clear()
        self._spilled.clear()
        self._folder = None

    def _tags(self) -> list[str]:
        return sorted({*self._collected, *self._spilled})

    def _all(self, tag: str) -> pl.DataFrame:
        if self._folder is None:
            return self._combine(tag)
        rows = self._read(tag, range(self._count))
        return pl.DataFrame() if rows is None else rows

    def _combine(self, tag: str) -> pl.DataFrame:
        """Combine the rows of a tag in memory, and keep only the result."""
        collected = self._collected.pop(tag, [])
        if not collected:
            return pl.DataFrame()
        combined = collected[0] if len(collected) == 1 else _combine_by_column(collected)
        self._collected[tag] = [combined]
        return combined.left_out.restore(combined.columns)

    def _spill(self, tag: str) -> None:
        """Write the collected rows of a tag to files of about `ROWS_AT_ONCE` rows, and free them file by file."""
        self._rows[tag] = 0
        collected = deque(self._collected.pop(tag, ()))
        while collected:
            parts, keys, size = list[tuple[pl.DataFrame, LeftOut]](), [], 0
            while collected and size < ROWS_AT_ONCE:
                columns, left_out, given = collected.popleft()
                parts.append((columns, left_out))
                if given is None:
                    given = normalize_path_keys(left_out.get_column(columns, "path_key"))
                keys.append(given)
                size += len(columns)
            assert self._folder is not None
            path = self._folder / f"{next(self._numbers)}.arrow"
            try:
                self._spilled[tag].append(SpilledRows.write(path, parts, pl.concat(keys), self._count))
            except OSError as fault:
                reason = f"{self._folder}: cannot be written to: {fault.strerror or fault}"
                raise InvalidUsage(f"{reason}; set TMPDIR to a directory with more space") from fault

    def _iter_buckets(self, tags: list[str]) -> Generator[tuple[int, RowsByTag]]:
        """Yield the number of buckets done, and the rows of the next bucket by tag."""
        for bucket in range(self._count):
            yield bucket + 1, self._read_by_tag(tags, range(bucket, bucket + 1))

    def _iter_groups(self, tags: list[str]) -> Generator[tuple[int, RowsByTag]]:
        """Yield the same for groups of small buckets. A thread reads the next group ahead."""
        rows = sum(each.row_count for tag in tags for each in self._spilled.get(tag, ()))
        step = max(1, self._rows_of_a_stage * self._count // max(rows, 1))
        groups = [range(start, min(start + step, self._count)) for start in range(0, self._count, step)]
        with ThreadPoolExecutor(1) as ahead:
            upcoming = ahead.submit(self._read_by_tag, tags, groups[0])
            for buckets, following in zip_longest(groups, groups[1:]):
                rows_by_tag = upcoming.result()
                if following is not None:
                    upcoming = ahead.submit(self._read_by_tag, tags, following)
                yield buckets.stop, rows_by_tag

    def _read_by_tag(self, tags: list[str], buckets: range) -> RowsByTag:
        read = {tag: self._read(tag, buckets) for tag in tags}
        return {tag: rows for tag, rows in read.items() if rows is not None}

    def _read(self, tag: str, buckets: range) -> pl.DataFrame | None:
        """Read the rows of a tag in some buckets."""
        read = (each.read(buckets) for each in self._spilled.get(tag, ()))
        frames = [each for each in read if each is not None]
        return pl.concat(frames) if frames else None


def _combine_by_column(collected: list[_Collected]) -> _Collected:
    """Combine rows of one schema, and empty the list: only one column exists twice at a time.

    Large parts stay where they are, which saves their copies. Many small ones would make each operation slow.
    """
    are_small = sum(len(each.columns) for each in collected) < len(collected) * LARGE_PART_ROWS
    left_out = find_common_constants([each.left_out for each in collected])
    names = [name for name in left_out.schema if name not in left_out.constants]
    columns = {name: [each.left_out.get_column(each.columns, name) for each in collected] for name in names}
    keys = [each.keys for each in collected if each.keys is not None]
    collected.clear()
    rows = pl.DataFrame({name: pl.concat(columns.pop(name), rechunk=are_small) for name in names})
    return _Collected(rows, left_out, pl.concat(keys) if keys else None)


def _copy(rows: pl.DataFrame) -> pl.DataFrame:
    """Copy rows into new memory, because strings of a few rows keep the buffers of all rows they came from."""
    return pl.DataFrame(pl.from_arrow(rows.to_arrow(compat_level=pl.CompatLevel.oldest())))


def matches_tag(tag: str, wanted: str) -> bool:
    """Return whether a tag equals `wanted`, or begins with it if `wanted` ends in a space."""
    return tag.startswith(wanted) if wanted.endswith(" ") else tag == wanted
